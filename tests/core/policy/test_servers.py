"""`servers:` and `tunnel:`: order, ties and hosts."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text

from agentfence.core.errors import PolicyError


def servers(**urls):
    lines = "".join(f'  {name}: {{url: "{url}"}}\n' for name, url in urls.items())
    return load_text(f'version: "1"\nservers:\n{lines}').servers


def problems(text):
    with pytest.raises(PolicyError) as caught:
        load_text(f'version: "1"\n{text}')
    return [f"{one.place.line}:{one.place.column} {one.code}" for one in caught.value.problems]


def test_longer_beginning_comes_first():
    found = servers(
        company="https://*.example.com/**", all="https://a.example.com/**", one="https://a.example.com/mcp"
    )

    assert [server.name for server in found] == ["one", "all", "company"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/mcp", "https://a.example/mcp"),
        ("https://a.example/mcp", "https://a.example:443/mcp"),
        ("https://a.example/mcp", "https://A.example/MCP"),
        ("https://a.example", "https://a.example/"),
        ("https://*.example/mcp", "https://*.a.example/mcp"),
        ("https://*.example/**", "https://*.example/mcp"),
        ("https://a.example:*/mcp", "https://a.example:*/mcp"),
    ],
)
def test_servers_that_may_both_be_meant_are_refused(one, other):
    text = f'servers:\n  a: {{url: "{one}"}}\n  b: {{url: "{other}"}}'

    assert problems(text) == ["4:12 server_tie"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://a.example/mcp", "https://b.example/mcp"),
        ("https://a.example/mcp", "https://a.example/mcp2"),
        ("https://a.example/mcp", "http://a.example/mcp"),
        ("https://a.example:8443/mcp", "https://a.example/mcp"),
        ("https://*.example.com/mcp", "https://*.example.org/mcp"),
        ("https://*.example/a/**", "https://*.example/b/**"),
        ("https://*.example/**", "https://a.example/**"),
    ],
)
def test_servers_that_differ_are_fine(one, other):
    assert len(servers(a=one, b=other)) == 2


@pytest.mark.parametrize(
    "url",
    [
        "a.example/mcp",
        "ftp://a.example/",
        "https://user@a.example/",
        "https://a.example/mcp?x=1",
        "https://",
        "x",
        "https://a.example/a/../b",
        "https://a b/",
    ],
)
def test_url_that_is_no_endpoint_is_refused(url):
    assert problems(f'servers:\n  a: {{url: "{url}"}}') == ["3:12 wrong_pattern"]


def test_commands_keep_their_words():
    policy = load_text('version: "1"\nservers: {files: {command: [npx, "**", "@x/server-*"]}}')

    assert policy.servers[0].command == ("npx", "**", "@x/server-*")
    assert problems('servers: {files: {command: ["["]}}') == ["2:29 wrong_pattern"]


def test_tunnelled_hosts_are_names_of_hosts():
    policy = load_text('version: "1"\ntunnel: [Pinned.Example, grpc.example.]')

    assert policy.tunnel == ("pinned.example", "grpc.example")
    bad = '["*.example", "https://a.example", "a.example:443", "a b", "-a.example"]'
    assert [problem.split()[1] for problem in problems(f"tunnel: {bad}")] == 5 * ["wrong_host"]


@pytest.mark.parametrize("host", ["a.example", "A.example."])
def test_host_of_a_listed_server_is_never_tunnelled(host):
    for url in ("https://a.example/mcp", "https://*.example/**", "https://**"):
        if url.startswith("https://*.") and host.count(".") < 1:
            continue
        assert problems(f'servers: {{a: {{url: "{url}"}}}}\ntunnel: [{host}]') == ["3:10 tunnelled_server"]
