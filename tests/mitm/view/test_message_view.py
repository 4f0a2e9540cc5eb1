"""The MCP view shows messages without secrets, whatever it is given, and leaves the rest to mitmproxy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy.contentviews import Metadata
from mitmproxy.test import tflow, tutils

from agentfence.core.redaction import build_redactor
from agentfence.mitm.view.message_view import MAX_READ, MAX_SHOWN, McpContentview
from agentfence.mitm.view.notes import METADATA

REDACTOR = build_redactor(builtin=True, patterns=())
VIEW = McpContentview(lambda: REDACTOR)
SECRET = "ghp_" + "a1B2" * 9
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}).encode()
JSON, STREAM = "application/json", "text/event-stream"


def metadata(content_type: str = JSON, noted: Any = None, *, ended: bool = True) -> Metadata:
    flow = tflow.tflow(resp=tutils.tresp(timestamp_end=1.0 if ended else None))
    if noted is not None:
        flow.metadata[METADATA] = noted
    return Metadata(flow=flow, content_type=content_type, http_message=flow.response)


def event(value: Any) -> bytes:
    return b"event: message\ndata: %s\n\n" % json.dumps(value).encode()


@pytest.mark.parametrize(
    ("data", "about", "is_ours"),
    [
        (CALL, metadata(), True),
        (b"[" + CALL + b"]", metadata(), True),
        (b'{"a":1}', metadata(), False),
        (b'{"a":1}', metadata(noted="decision: deny"), True),
        (event({"jsonrpc": "2.0"}), metadata(STREAM), True),
        (b"data: 1\n\n", metadata(STREAM), False),
        (b"<p>not found", metadata("text/html", "decision: allow"), False),
        (b"", metadata(noted="decision: allow"), False),
        (CALL, Metadata(content_type=JSON), False),
    ],
)
def test_view_is_chosen_for_messages_alone(data: bytes, about: Metadata, is_ours: bool) -> None:
    assert (VIEW.render_priority(data, about) > 1) == is_ours


def test_message_is_shown_below_its_decision() -> None:
    assert VIEW.prettify(CALL, metadata(noted="decision: deny\ntool: x")).splitlines() == [
        "# decision: deny",
        "# tool: x",
        "",
        "{",
        '  "jsonrpc": "2.0",',
        '  "id": 1,',
        '  "method": "tools/call",',
        '  "params": {',
        '    "name": "x"',
        "  }",
        "}",
    ]


@pytest.mark.parametrize("content_type", [JSON, STREAM])
def test_secrets_are_left_out_and_named(content_type: str) -> None:
    message = {"jsonrpc": "2.0", "method": "m", "params": {"text": f"it is {SECRET}"}}
    data = event(message) if content_type == STREAM else json.dumps(message).encode()
    text = VIEW.prettify(data, metadata(content_type))

    assert SECRET not in text
    assert text.startswith("# redacted here: github-token (1)\n")


@pytest.mark.parametrize(
    "data",
    [
        b'{"jsonrpc": ' + SECRET.encode(),
        b'{"a": 1, "a": "' + SECRET.encode() + b'"}',
        b"[" * 200 + SECRET.encode(),
        b'{"jsonrpc": "2.0", "x": "' + b"y" * MAX_READ + b'", "t": "' + SECRET.encode() + b'"}',
        b'{"jsonrpc": "' + SECRET.encode() + b'", "x": "' + b"y" * MAX_READ + b'"}',
        b'"' + b"y" * (MAX_READ // 2 - 20) + b" " + SECRET.encode() + b" " + b"y" * MAX_READ,
    ],
)
def test_secrets_are_left_out_of_what_is_no_message(data: bytes) -> None:
    text = VIEW.prettify(data, metadata())

    assert SECRET[:12] not in text
    assert text.startswith("# ")


def test_events_are_listed() -> None:
    data = b": keep-alive\n\n" + event({"n": 1}) + b"event: endpoint\ndata: /messages\n\n"

    assert VIEW.prettify(data, metadata(STREAM, ended=False)).splitlines() == [
        "# 2 events, and the stream is open",
        "# : keep-alive",
        "",
        "# event 1: message",
        "{",
        '  "n": 1',
        "}",
        "",
        "# event 2: endpoint",
        "# this is no message: the text is not strict JSON: expected value at line 1 column 1",
        "/messages",
    ]


def test_deep_and_wide_messages_are_bounded() -> None:
    deep = b"[" * 100 + b"1," * 20_000 + b"1" + b"]" * 100
    text = VIEW.prettify(deep, metadata())

    assert len(text) <= MAX_SHOWN + 100
    assert text.endswith("# the rest is not shown")


def test_flow_from_a_file_may_carry_anything() -> None:
    assert VIEW.prettify(b"{}", metadata(noted=["x"])) == "{}"
    assert VIEW.prettify(b"{}", metadata(noted="a\x1b\u202e")).startswith("# a\\u{1b}\\u{202e}\n")


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from([JSON, STREAM]))
def test_any_bytes_are_shown_in_visible_characters(data: bytes, content_type: str) -> None:
    text = VIEW.prettify(data, metadata(content_type))

    assert all(line.isprintable() for line in text.split("\n"))
