"""Redirects in reverse mode lead through the fence again, or nowhere."""

from __future__ import annotations

import pytest

from agentfence.core.http.hosts import Origin
from agentfence.core.http.redirects import is_for_an_agent, redirects_to, target_of_redirect

ORIGINS = [Origin("http", "127.0.0.1", 9000), Origin("https", "mcp.example.com", 443)]


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("http://127.0.0.1:9000/mcp/", "/mcp/"),
        ("https://mcp.example.com/mcp/?a=b", "/mcp/?a=b"),
        ("HTTPS://MCP.example.com:443/mcp/", "/mcp/"),
        ("//127.0.0.1:9000/mcp/", "/mcp/"),
        ("/mcp/", "/mcp/"),
        ("mcp/", "/v1/mcp/"),
        ("?x=1", "/v1/mcp?x=1"),
        ("http:///evil.example", "/evil.example"),
        ("http://127.0.0.1:9001/mcp/", None),
        ("http://evil.example/mcp/", None),
        ("https:evil.example", "/v1/evil.example"),
        ("//evil.example/mcp/", None),
        ("http://127.0.0.1:9000//evil.example/", None),
        ("/\\evil.example/", None),
        ("\\\\evil.example/", None),
        ("http://127.0.0.1:9000@evil.example/", None),
        ("http://127.0.0.1:9000\\@evil.example/", None),
        ("/\t/evil.example", None),
        (" //evil.example", None),
        ("/a b", None),
        ("javascript:alert(1)", None),
        ("http://[", None),
    ],
)
def test_redirect_leads_to_a_path_of_the_server_or_nowhere(location: str, target: str | None) -> None:
    assert target_of_redirect(location, ORIGINS, "/v1/mcp") == target


@pytest.mark.parametrize(
    ("status", "locations", "expected"),
    [
        (307, ["/a"], "/a"),
        (301, ["/a", "/b"], "/a /b"),
        (304, ["/a"], None),
        (308, [], None),
        (200, ["/a"], None),
        (201, ["/a"], None),
        (401, ["/a"], None),
    ],
)
def test_only_a_redirect_with_a_place_sends_its_client_somewhere(
    status: int, locations: list[str], expected: str | None
) -> None:
    assert redirects_to(status, tuple(("Location", text) for text in locations)) == expected


@pytest.mark.parametrize(
    ("method", "accept", "is_agent"),
    [
        ("POST", "*/*", True),
        ("DELETE", "*/*", True),
        ("GET", "text/event-stream", True),
        ("GET", "application/json, Text/Event-Stream;q=0.5", True),
        ("GET", "text/html,*/*", False),
    ],
)
def test_a_browser_that_opens_a_page_is_no_agent(method: str, accept: str, is_agent: bool) -> None:
    assert is_for_an_agent(method, (("Host", "h"), ("ACCEPT", accept))) is is_agent
    assert is_for_an_agent("GET", ()) is False
