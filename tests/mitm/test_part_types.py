"""The quick look at the types of a message's parts, before mitmproxy's own."""

from __future__ import annotations

from dataclasses import fields

import pytest
from mitmproxy import http, version

from agentfence.mitm import part_types

PLAIN = {
    "http_version": b"HTTP/1.1",
    "headers": http.Headers(),
    "content": b"",
    "trailers": None,
    "timestamp_start": 1.0,
    "timestamp_end": None,
}
REQUEST = PLAIN | {
    "host": "h",
    "port": 1,
    "method": b"GET",
    "scheme": b"http",
    "authority": b"",
    "path": b"/",
}
RESPONSE = PLAIN | {"status_code": 200, "reason": b"OK"}
KINDS = [(http.RequestData, REQUEST), (http.ResponseData, RESPONSE)]
VALUES = [b"x", "x", 1, 1.0, None, True, http.Headers(), bytearray(b"x"), ["x"], {}]


@pytest.fixture
def looked(monkeypatch):
    """What the host's own check was asked about."""
    seen = []
    check = http.MessageData.__post_init__

    def host_check(message):
        seen.append(message)
        check(message)

    monkeypatch.setattr(http.MessageData, "__post_init__", host_check)
    part_types.spare_checks()
    return seen


def refuses(kind, members):
    try:
        kind(**members)
    except TypeError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("kind", "members"), KINDS)
def test_what_is_read_from_a_connection_passes_by_the_quick_look(kind, members, looked):
    kind(**members)
    kind(**members | {"content": None, "timestamp_end": 2.0})

    assert not looked


@pytest.mark.parametrize(("kind", "members"), KINDS)
def test_the_quick_look_passes_nothing_that_the_host_refuses(kind, members, monkeypatch):
    """Every part with a value of every type, with and without it."""
    every = [members | {field.name: value} for field in fields(kind) for value in VALUES]
    before = [refuses(kind, each) for each in every]
    monkeypatch.setattr(http.MessageData, "__post_init__", http.MessageData.__post_init__)
    part_types.spare_checks()

    assert [refuses(kind, each) for each in every] == before
    assert any(before)


def test_it_is_put_in_once_and_only_where_the_host_is_known(monkeypatch):
    original = http.MessageData.__post_init__
    monkeypatch.setattr(http.MessageData, "__post_init__", original)
    monkeypatch.setattr(version, "VERSION", "13.0.0")
    part_types.spare_checks()
    assert http.MessageData.__post_init__ is original

    monkeypatch.undo()
    monkeypatch.setattr(http.MessageData, "__post_init__", original)
    part_types.spare_checks()
    quick = http.MessageData.__post_init__
    part_types.spare_checks()
    assert http.MessageData.__post_init__ is quick
