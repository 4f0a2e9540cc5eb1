"""Hosts: one spelling for each."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core.http.hosts import (
    LOOPBACK,
    HostPattern,
    Origin,
    canonical_host,
    canonical_origin,
    parse_authority,
    parse_host_pattern,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MCP.Example.com.", "mcp.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("ｅxample.com", "example.com"),
        ("a_b.example", "a_b.example"),
        ("192.0.2.1", "192.0.2.1"),
        ("0xc0.2.1", "192.2.0.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("localhost", LOOPBACK),
        ("LOCALHOST.", LOOPBACK),
        ("app.localhost", LOOPBACK),
        ("127.0.0.1", LOOPBACK),
        ("127.1", LOOPBACK),
        ("0x7f.1", LOOPBACK),
        ("2130706433", LOOPBACK),
        ("::1", LOOPBACK),
        ("[::ffff:127.0.0.1]", LOOPBACK),
        ("0.0.0.0", LOOPBACK),
        ("::", LOOPBACK),
        ("notlocalhost", "notlocalhost"),
    ],
)
def test_a_host_has_one_spelling(text, expected):
    assert canonical_host(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        ".a",
        "a b",
        "a/b",
        "a@b",
        "a:80",
        "a?b",
        "a#b",
        "a\\b",
        "[::1",
        "::1]",
        "[a]",
        "a..b",
        "%6dcp",
        "fe80::1%eth0",
        "xn--a",
        "a\0b",
    ],
)
def test_what_is_no_host_is_none(text):
    assert canonical_host(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h", ("h", None)),
        ("H:80", ("h", 80)),
        ("[2001:db8::1]:443", ("2001:db8::1", 443)),
        ("localhost:0", (LOOPBACK, 0)),
        ("h:", None),
        ("h:x", None),
        ("h:65536", None),
        ("h:123456", None),
        ("h:80:80", None),
        ("", None),
        (":80", None),
        ("u@h", None),
    ],
)
def test_an_authority_is_a_host_and_maybe_a_port(text, expected):
    assert parse_authority(text) == expected


@pytest.mark.parametrize(
    ("pattern", "host", "expected"),
    [
        ("h.example", "h.example", True),
        ("h.example", "a.h.example", False),
        ("*.h.example", "a.b.h.example", True),
        ("*.h.example", "h.example", False),
        ("*.h.example", "ah.example", False),
        ("*", "any.example", True),
        ("**", "any.example", True),
        ("**", None, False),
        ("*.h.example", None, False),
        ("h.example", None, False),
        ("127.0.0.1", LOOPBACK, True),
    ],
)
def test_a_host_pattern_covers(pattern, host, expected):
    compiled = parse_host_pattern(pattern)

    assert compiled is not None
    assert compiled.matches(host) is expected


@pytest.mark.parametrize("text", ["", "*.", "a.*.b", "*.*.b", "a b", "***"])
def test_what_is_no_host_pattern_is_none(text):
    assert parse_host_pattern(text) is None


def test_an_origin_takes_the_one_spelling_where_there_is_one():
    assert canonical_origin(Origin("http", "127.0.0.1", 80)) == Origin("http", LOOPBACK, 80)
    assert canonical_origin(Origin("http", "a b", 80)) == Origin("http", "a b", 80)


@settings(max_examples=200)
@given(st.text(max_size=20))
@example("..")
@example("\ud800")
def test_any_text_is_a_host_or_none_and_canonical_hosts_stay_as_they_are(text):
    host = canonical_host(text)

    assert host is None or canonical_host(host) == host
    parse_authority(text)
    assert isinstance(parse_host_pattern(text), HostPattern | None)
