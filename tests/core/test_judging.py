from __future__ import annotations

from typing import Any

import pytest
from talking import ALLOW, DENY, MIXED, NOW, make_gate

from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.jsonrpc import Message, Notification, Request, Response
from agentfence.core.judging import judge, violating
from agentfence.core.pending import Judged, Violation
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import ASSUMED, revision_named
from agentfence.core.session import Conversation, Session, Transport


def conversation(transport: Transport = Transport.STDIO) -> Conversation:
    return Conversation(Session("agent", is_identified=True), transport, None)


def waiting(id_: int | str, stage: Stage = Stage.SENT) -> CallInFlight:
    return CallInFlight(id_, "call-0", "ping", ASSUMED, "rule", Verdict.ALLOW, stage)


def judged(
    message: Message, talk: Conversation | None = None, *, policy: str = MIXED, from_server: bool = False
) -> Judged:
    gate, talk = make_gate(policy), talk or conversation()
    return judge(gate, message, talk, Circumstances(NOW), from_server=from_server)


def tool(name: Any = "read", **params: Any) -> Request:
    return Request(7, "tools/call", {"name": name, **params})


def test_call_is_decided_by_its_rule_and_keeps_its_id() -> None:
    member = judged(tool("read", arguments={"a": 1}))

    assert (member.decision.verdict, member.decision.rule, member.id) == (Verdict.ALLOW, "read", 7)
    assert member.violation is None
    assert member.call_id == "call-1"


@pytest.mark.parametrize(
    ("method", "revision", "code"),
    [
        ("tasks/result", "2026-07-28", -32601),
        ("tasks/get", "2026-07-28", None),
        ("tasks/result", "2025-11-25", None),
    ],
)
def test_method_that_the_revision_has_removed_is_not_found(
    method: str, revision: str, code: int | None
) -> None:
    talk = conversation()
    talk.spoken = revision_named(revision)

    message = Request(7, method, {"taskId": "unknown"})
    member = judged(message, talk)

    assert (member.decision.verdict, member.decision.reason_code) == (Verdict.DENY, "method_denied")
    assert (member.message, member.id, member.call_id) == (message, 7, "call-1")
    assert member.violation == (Violation(code, member.decision.reason) if code else None)
    assert "task" in member.decision.reason


def test_notification_is_decided_and_has_no_id() -> None:
    member = judged(Notification("tools/call", {"name": "write"}))

    assert (member.decision.verdict, member.id) == (Verdict.DENY, None)


@pytest.mark.parametrize(
    ("params", "problem"),
    [
        (None, "expected an object, got nothing"),
        ({}, "`name` must be a text that is not empty"),
        ({"name": ""}, "`name` must be a text that is not empty"),
        ({"name": 1}, "`name` must be a text that is not empty"),
        ({"name": "read", "arguments": []}, "`arguments` must be an object"),
        ({"name": "read", "arguments": "{}"}, "`arguments` must be an object"),
    ],
)
def test_call_with_bad_params_may_not_be_sent(params: dict[str, Any] | None, problem: str) -> None:
    member = judged(Request(7, "tools/call", params))

    assert member.violation == Violation(-32602, f"invalid tools/call params: {problem}")
    assert (member.decision.reason_code, member.id) == ("parse_error", 7)


@pytest.mark.parametrize("arguments", [{}, None])
def test_call_without_arguments_is_one_with_none(arguments: dict[str, Any] | None) -> None:
    assert judged(tool("read", arguments=arguments)).violation is None
    assert judged(tool("read")).violation is None


@pytest.mark.parametrize("waiting_id", [7, "7"])
def test_id_that_is_in_flight_may_not_be_sent_again(waiting_id: int | str) -> None:
    talk = conversation()
    talk.from_client.put(waiting(waiting_id))

    member = judged(tool(), talk)
    assert member.violation == Violation(-32600, "a request with this id is still in flight")
    assert (member.message, member.id) == (tool(), 7)
    assert judged(tool(), talk, from_server=True).violation is None, "servers count for themselves"


def test_agent_with_too_many_calls_in_flight_must_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.core.calls_in_flight._MAX_CALLS", 1)
    talk = conversation()
    talk.from_client.put(waiting(1))

    assert judged(tool(), talk).violation == Violation(-32600, "too many requests are in flight")


def test_id_that_is_longer_than_all_may_be_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.core.calls_in_flight._MAX_CHARACTERS", 10)

    assert judged(Request("x" * 10, "ping")).violation is None
    assert judged(Request("x" * 11, "ping")).violation is not None


def test_servers_oldest_request_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.core.calls_in_flight._MAX_CALLS", 1)
    talk = conversation()
    talk.from_server.put(waiting(1))

    assert judged(Request(2, "ping"), talk, from_server=True).violation is None
    assert 1 not in talk.from_server


def test_over_http_a_server_may_send_a_request_again() -> None:
    talk = conversation(Transport.HTTP)
    talk.from_server.put(waiting(7))

    assert judged(Request(7, "ping"), talk, from_server=True).violation is None


def test_server_may_not_call_tools_of_an_agent() -> None:
    member = judged(tool(), policy=ALLOW, from_server=True)

    assert (member.decision.verdict, member.decision.reason_code) == (Verdict.DENY, "method_denied")
    assert (member.message, member.id) == (tool(), 7)


@pytest.mark.parametrize("from_server", [False, True])
def test_other_messages_are_decided_by_their_method(from_server: bool) -> None:
    talk = conversation()

    assert judged(Request(1, "ping"), talk, policy=DENY, from_server=from_server).decision.is_allowed
    assert not judged(Request(1, "x"), talk, policy=DENY, from_server=from_server).decision.is_allowed


@pytest.mark.parametrize(
    ("stage", "passes"),
    [(Stage.SENT, True), (Stage.CANCELLED, True), (Stage.ASKED, False), (Stage.WITHDRAWN, False)],
)
def test_agents_answer_passes_when_the_server_waits_for_it(stage: Stage, passes: bool) -> None:
    talk = conversation()
    talk.from_server.put(waiting(7, stage))

    member = judged(Response(7, {}), talk, policy=DENY)
    assert (member.violation is None) is passes
    assert (member.decision.reason_code, member.decision.reason) == (
        ("response_match", "answers a request of the other side")
        if passes
        else ("response_unmatched", "answers no request of the other side")
    )
    assert member.id is None


def test_over_http_agents_answers_pass() -> None:
    assert judged(Response(7, {}), conversation(Transport.HTTP), policy=DENY).violation is None
    assert judged(Response(7, {}), policy=ALLOW).violation is not None


def test_violation_is_a_denial_by_the_protocol() -> None:
    member = violating(None, "call-1", -32600, "why", 5, "code")

    assert (member.decision.verdict, member.decision.reason_code, member.decision.rule) == (
        Verdict.DENY,
        "code",
        "protocol",
    )
    assert member.violation == Violation(-32600, "why")
