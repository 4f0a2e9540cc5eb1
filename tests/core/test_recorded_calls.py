"""Recorded calls: what a line may say, and that any bytes are a call or a violation."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.engine import Call
from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import Request
from agentfence.core.recorded_calls import RecordedCall, read_recorded_call


def read(**record):
    return read_recorded_call(json.dumps({"id": "1", **record}).encode())


def test_call_of_a_tool_has_its_arguments_or_none():
    arguments = {"n": 10**30, "nested": {"a": [1]}}

    call = read(tool="t", arguments=arguments, server="s", other=1)

    assert call == RecordedCall("1", Call("t", arguments, "s"), "s", None)
    assert call.request == Request("1", "tools/call", {"name": "t", "arguments": arguments})
    for call in (read(tool="t"), read(tool="t", arguments=None), read(tool="t", method="tools/call")):
        assert call.request.params == {"name": "t", "arguments": {}}


@pytest.mark.parametrize(
    ("record", "method", "params"),
    [
        ({"method": "roots/list"}, "roots/list", {}),
        ({"uri": "a:b"}, "resources/read", {"uri": "a:b"}),
        ({"method": "resources/subscribe", "uri": "a:b"}, "resources/subscribe", {"uri": "a:b"}),
        ({"prompt": "p"}, "prompts/get", {"name": "p"}),
        (
            {"method": "completion/complete", "prompt": "p"},
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "p"}},
        ),
        (
            {"method": "completion/complete", "uri": "a:b"},
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "a:b"}},
        ),
        (
            {"method": "subscriptions/listen", "uri": "a:b"},
            "subscriptions/listen",
            {"notifications": {"resourceSubscriptions": ["a:b"]}},
        ),
    ],
)
def test_other_messages_name_what_they_are_about(record, method, params):
    assert read(**record).request == Request("1", method, params)


@pytest.mark.parametrize(
    ("time", "seconds"),
    [(0, 0.0), (1.5, 1.5), ("1970-01-02", 86400.0), ("1970-01-01T00:00:01Z", 1.0), (None, None)],
)
def test_time_is_seconds_or_a_text(time, seconds):
    assert read(tool="t", time=time).time == seconds


@pytest.mark.parametrize("time", [-1, True, 1e300, 10**400, "", "now", [], {}])
def test_other_times_are_refused(time):
    with pytest.raises(ProtocolViolation):
        read(tool="t", time=time)


@pytest.mark.parametrize(
    "record",
    [
        {"id": 1, "tool": "t"},
        {"id": None, "tool": "t"},
        {"tool": ["t"]},
        {"tool": "t", "server": ""},
        {"tool": "t", "server": "s" * 257},
        {"tool": "t", "method": "resources/read"},
        {"tool": "t", "prompt": "p"},
        {"uri": "a:b", "prompt": "p"},
        {"method": "tools/call"},
        {},
    ],
)
def test_record_that_is_not_one_thing_is_refused(record):
    with pytest.raises(ProtocolViolation):
        read(**record)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60) | st.binary(max_size=40).map(lambda rest: b'{"id": "1", "tool": "t", ' + rest))
def test_any_bytes_are_a_call_or_a_violation(line):
    with suppress(ProtocolViolation):
        assert read_recorded_call(line).id
