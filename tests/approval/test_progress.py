"""Whoever waits for a person hears every 15 seconds that the call is alive, if it gave a token."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfence.approval.progress import INTERVAL, ProgressNotices
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.decision import Decision
from agentfence.core.jsonrpc import Message, Notification, Request
from agentfence.core.pending import Judged, Pending
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import ASSUMED
from agentfence.core.session import Conversation, Session, Transport

ASK = Decision(Verdict.ASK, "rule_match", "why", "rule")


def pending(*messages: Message, from_server: bool = False) -> Pending:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, None)
    members = tuple(Judged(f"call-{number}", message, ASK) for number, message in enumerate(messages))
    return Pending(members, b"", conversation, ASSUMED, Circumstances(), from_server=from_server)


def request(token: Any) -> Request:
    return Request(1, "tools/call", {"name": "a", "_meta": {"progressToken": token}})


def due(notices: ProgressNotices, now: float) -> list[dict[str, Any]]:
    return [json.loads(body) for body, _ in notices.take_due(now)]


def test_notifications_come_every_fifteen_seconds() -> None:
    notices = ProgressNotices()
    notices.begin("call-1", pending(request("t")), 100)

    assert INTERVAL == 15
    assert (notices.next_due, due(notices, 114.9)) == (115, [])
    assert due(notices, 115) == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {
                "progressToken": "t",
                "progress": 0.001,
                "message": "waiting for a person to approve this call",
            },
        }
    ]
    assert (notices.next_due, due(notices, 129)) == (130, [])
    assert due(notices, 131)[0]["params"]["progress"] == 0.002


@pytest.mark.parametrize("token", ["t", "", 0, 7])
def test_token_comes_back_as_it_was(token: Any) -> None:
    notices = ProgressNotices()
    notices.begin("call-1", pending(request(token)), 0)

    (notification,) = due(notices, 15)
    assert notification["params"]["progressToken"] == token


@pytest.mark.parametrize(
    "message",
    [
        request(None),
        request(True),
        request(1.5),
        request(["t"]),
        Request(1, "tools/call", {"name": "a"}),
        Request(1, "tools/call", {"_meta": "t"}),
        Request(1, "tools/call"),
        Notification("x", {"_meta": {"progressToken": "t"}}),
    ],
)
def test_nothing_is_sent_without_a_token(message: Message) -> None:
    notices = ProgressNotices()
    notices.begin("call-1", pending(message), 0)

    assert (notices.next_due, due(notices, 99)) == (None, [])


def test_every_request_of_a_batch_has_its_own() -> None:
    notices = ProgressNotices()
    notices.begin("call-1", pending(request("a"), request("b")), 0)

    assert [n["params"]["progressToken"] for n in due(notices, 15)] == ["a", "b"]


def test_servers_hear_of_their_requests_too() -> None:
    notices = ProgressNotices()
    notices.begin("call-1", pending(request("a"), from_server=True), 0)

    assert [is_for_server for _, is_for_server in notices.take_due(15)] == [True]


def test_nothing_is_sent_after_the_answer() -> None:
    notices = ProgressNotices()
    notices.begin("call-1", pending(request("a")), 0)
    notices.begin("call-2", pending(request("b")), 1)
    notices.end("call-1")
    notices.end("call-9")

    assert notices.next_due == 16
    assert [n["params"]["progressToken"] for n in due(notices, 30)] == ["b"]
