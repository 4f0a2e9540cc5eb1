from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.http.hosts import Origin
from agentfence.core.http.sse_endpoints import (
    EndpointPaths,
    NamesEndpoint,
    announced_target,
    plain_target,
)

ORIGIN = Origin("https", "mcp.example.com", 443)


@pytest.mark.parametrize(
    ("announced", "target"),
    [
        (b"/messages/?session_id=a1", "/messages/?session_id=a1"),
        (b"messages?sessionId=a", "/deep/messages?sessionId=a"),
        (b"?sessionId=a", "/deep/sse?sessionId=a"),
        (b"../m", "/m"),
        (b"https://mcp.example.com/m", "/m"),
        (b"https://MCP.example.com:443", "/"),
        (b"//mcp.example.com/m", "/m"),
        (b"http://mcp.example.com/m", None),
        (b"https://mcp.example.com:8443/m", None),
        (b"https://evil.example/m", None),
        (b"//evil.example/m", None),
        (b"https://mcp.example.com@evil.example/m", None),
        (b"https://[broken/m", None),
        (b"https://mcp.example.com:99999/m", None),
        (b"javascript:alert(1)", None),
        (b"/" + b"x" * 16_384, None),
    ],
)
def test_endpoint_is_learned_on_the_streams_own_origin(announced: bytes, target: str | None) -> None:
    assert announced_target(ORIGIN, "/deep/sse", announced) == target


def test_endpoint_of_an_address_is_learned() -> None:
    assert announced_target(Origin("http", "::1", 8080), "/sse", b"/m") == "/m"
    assert announced_target(Origin("http", "127.0.0.1", 80), "/sse", b"http://127.0.0.1/m") == "/m"


@given(st.binary(max_size=60))
def test_any_announcement_is_a_target_or_nothing(announced: bytes) -> None:
    target = announced_target(ORIGIN, "/sse", announced)

    assert target is None or (target.startswith("/") and plain_target(target).startswith("/"))


@pytest.mark.parametrize(
    ("one", "other"),
    [("/m?a=b%2Fc", "/m?a=b/c"), ("/%6d", "/m"), ("/m/", "/m"), ("//m", "/m"), ("/a/../m?x", "/m?x")],
)
def test_spellings_of_one_target_are_one(one: str, other: str) -> None:
    assert plain_target(one) == plain_target(other)


def test_query_tells_endpoints_apart() -> None:
    assert plain_target("/m?s=1") != plain_target("/m?s=2")


def test_host_that_announces_many_paths_pushes_out_only_its_own() -> None:
    paths = EndpointPaths()
    paths.learn("a.example", 443, "/m?s=1")
    for number in range(300):
        paths.learn("evil.example", 443, f"/{number}")

    assert paths.has("a.example", 443, frozenset({"/x", "/m"}))
    assert not paths.has("a.example", 80, frozenset({"/m"}))
    assert not paths.has("evil.example", 443, frozenset({"/0"}))
    assert paths.has("evil.example", 443, frozenset({"/299"}))


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        (b"event: endpoint\ndata: /x\n\n", True),
        (b"\xef\xbb\xbfevent:endpoint\r", True),
        (b"data: x\r\nEvent : Endpoint \r\n", True),
        (b": " + b"x" * 200 + b"\n  event: endpoint\n", True),
        (b"event: endpoint", False),
        (b"event: endpoints\nmyevent: endpoint\nevent: other\ndata: endpoint\n", False),
    ],
)
def test_a_text_that_names_an_announcement_is_found(text, is_found, size):
    names = NamesEndpoint()
    for at in range(0, len(text), size):
        names.read(text[at : at + size])

    assert names.is_found is is_found
