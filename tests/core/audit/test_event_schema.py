"""The schema of events is in the package, describes every field, and every event fits it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from event_schema import IN_A_LOG, fits_the_whole_schema
from talking import ALLOW, Talk, answer_events, call, error, events, request, result

import agentfence.core.audit
from agentfence.core.answers import server_gone, unread_answer
from agentfence.core.audit.event_schema import KINDS, event_schema, schema_text
from agentfence.core.session import Transport

FILE = Path(agentfence.core.audit.__file__).parent / "event.schema.json"


def test_file_is_what_the_module_says() -> None:
    """Run this module to write it."""
    assert FILE.read_text(encoding="utf-8") == schema_text()


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_and_no_other_may_be_there(kind: str) -> None:
    schema = event_schema()["$defs"][kind]

    assert schema["additionalProperties"] is False
    assert [name for name, field in schema["properties"].items() if not field.get("description")] == []


def judged() -> dict[str, Any]:
    (event,) = events(Talk().agent(call("read", path="a")))
    return {**IN_A_LOG, **event}


def test_event_fits() -> None:
    assert fits_the_whole_schema(judged())


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"verdict": "maybe"},
        {"kind": "other"},
        {"seq": 0},
        {"policy_digest": "abc"},
        {"approval": {"outcome": "approved"}},
        {"hash": "x"},
    ],
)
def test_other_event_does_not_fit(change: dict[str, Any]) -> None:
    assert not fits_the_whole_schema({**judged(), **change})


def test_event_without_a_field_does_not_fit() -> None:
    event = judged()
    del event["decision"]

    assert not fits_the_whole_schema(event)


def test_action_digest_binds_the_exact_bytes() -> None:
    first = Talk().agent(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}')
    spaced = Talk().agent(b'{"jsonrpc":"2.0", "id":1,"method":"tools/call","params":{"name":"read"}}')
    again = Talk().agent(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}')
    digests = [events(effects)[0]["action_digest"] for effects in (first, spaced, again)]

    assert digests[0] == digests[2] != digests[1]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (result(7, {"content": []}), "result", None),
        (result(7, {"isError": True}), "tool_error", None),
        (error(7, -32603), "error", -32603),
    ],
)
def test_answer_is_an_event_tied_to_its_call(answer: dict[str, Any], status: str, code: int | None) -> None:
    talk = Talk()
    (judged_event,) = events(talk.agent(call("read", 7)))
    talk.time += 0.25
    (event,) = answer_events(talk.server(answer))

    assert event["call_id"] == judged_event["call_id"]
    assert (event["status"], event.get("error_code"), event["latency_ms"]) == (status, code, 250)
    assert event["bytes"] == len(json.dumps(answer))
    assert (event["request_id"], event["method"], event["direction"]) == (7, "tools/call", "to_client")


def test_call_that_nobody_answers_has_an_event() -> None:
    talk = Talk()
    (sent,) = events(talk.agent(call("read", "a")))
    talk.agent(call("send", "asked"))
    talk.time += 0.5
    gone = server_gone(talk.gate, talk.conversation, talk.circumstances, "the server ended with status 1")
    (event,) = answer_events(gone)

    assert (event["call_id"], event["request_id"], event["latency_ms"]) == (sent["call_id"], "a", 500)
    assert (event["status"], event["reason"]) == ("unanswered", "the server ended with status 1")


@pytest.mark.parametrize("size", [None, 12])
def test_answer_that_is_no_message_has_an_event(size: int | None) -> None:
    talk = Talk(transport=Transport.HTTP)
    (sent,) = events(talk.agent(call("read", 3)))
    passed = unread_answer(talk.gate, talk.conversation, talk.circumstances, 401, size)
    (event,) = answer_events(passed)

    assert (event["call_id"], event["status"], event["http_status"]) == (sent["call_id"], "unread", 401)
    assert event.get("bytes") == size
    assert unread_answer(talk.gate, talk.conversation, talk.circumstances, 401, size) == ()


def test_agents_answer_is_an_event_tied_to_the_servers_request() -> None:
    talk = Talk(ALLOW)
    (asked,) = events(talk.server(request("sampling/createMessage", 9)))
    talk.time += 2
    effects = talk.agent(error(9, -1))
    (judged_event,), (event,) = events(effects), answer_events(effects)

    assert (event["call_id"], event["direction"], event["status"]) == (asked["call_id"], "to_server", "error")
    assert (event["error_code"], event["latency_ms"]) == (-1, 2000)
    assert judged_event["reason_code"] == "response_match"


if __name__ == "__main__":
    FILE.write_text(schema_text(), encoding="utf-8")
