from __future__ import annotations

import pytest

from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.decision import Decision
from agentfence.core.effects import Approval
from agentfence.core.jsonrpc import Request, Response
from agentfence.core.pending import HeldAnswer, Judged, Pending, Violation
from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.revisions import ASSUMED
from agentfence.core.session import Conversation, Session, Transport

YES, NO = Approval("approved", "tty"), Approval("denied", "tty")


def member(
    verdict: Verdict,
    approval: Approval | None = None,
    violation: Violation | None = None,
    id_: int | None = 1,
) -> Judged:
    decision = Decision(verdict, "rule_match", "why", "rule")
    return Judged("call-1", Request(1, "ping"), decision, id_, approval, violation)


@pytest.mark.parametrize(
    ("judged", "is_open", "verdict", "is_refused", "is_refused_observing"),
    [
        (member(Verdict.ALLOW), False, Verdict.ALLOW, False, False),
        (member(Verdict.DENY), False, Verdict.DENY, True, False),
        (member(Verdict.ASK), True, Verdict.ASK, False, False),
        (member(Verdict.ASK, YES), False, Verdict.ALLOW, False, False),
        (member(Verdict.ASK, NO), False, Verdict.DENY, True, True),
        (member(Verdict.ALLOW, NO), False, Verdict.DENY, True, True),
        (member(Verdict.DENY, None, Violation(-32600, "why")), False, Verdict.DENY, True, True),
        (member(Verdict.ASK, None, Violation(-32600, "why")), False, Verdict.ASK, True, True),
    ],
)
def test_member_goes_on_when_nothing_refuses_it(
    judged: Judged, is_open: bool, verdict: Verdict, is_refused: bool, is_refused_observing: bool
) -> None:
    assert judged.is_open is is_open
    assert judged.verdict is verdict
    assert judged.is_refused(Mode.ENFORCE) is is_refused
    assert judged.is_refused(Mode.OBSERVE) is is_refused_observing


def test_what_a_person_said_is_kept_with_the_member_that_it_was_said_to() -> None:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, None)
    first, second = member(Verdict.ASK), member(Verdict.ASK, id_=2)
    pending = Pending((first, second), b"", conversation, ASSUMED, Circumstances(), is_batch=True)
    told = pending.with_approval(1, NO)

    assert told.members == (first, member(Verdict.ASK, NO, id_=2))
    assert (told.conversation, told.is_batch) == (conversation, True)
    assert pending.members == (first, second)


def call(call_id: str = "call-1", stage: Stage = Stage.ASKED) -> CallInFlight:
    return CallInFlight(1, call_id, "ping", ASSUMED, "rule", Verdict.ALLOW, stage)


@pytest.mark.parametrize("from_server", [False, True])
def test_request_waits_as_the_call_that_it_is(from_server: bool) -> None:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, None)
    one = member(Verdict.ASK)
    pending = Pending((one,), b"", conversation, ASSUMED, Circumstances(), from_server=from_server)
    assert pending.waiting(one) is None
    conversation.calls(from_server=from_server).put(call("call-2"))
    assert pending.waiting(one) is None
    conversation.calls(from_server=from_server).put(call())

    assert pending.waiting(one) == call()
    assert pending.waiting(member(Verdict.ASK, id_=None)) is None


def test_request_inside_an_answer_waits_as_the_call_that_is_answered() -> None:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, None)
    held, inner = HeldAnswer(call(), Response(1, {})), member(Verdict.ASK, id_=None)
    pending = Pending((inner,), b"", conversation, ASSUMED, Circumstances(), from_server=True, answer=held)
    assert pending.waiting(inner) is None
    conversation.from_client.put(call("call-2", Stage.HELD))
    assert pending.waiting(inner) is None
    conversation.from_client.put(call(stage=Stage.HELD))

    assert pending.waiting(inner) == call(stage=Stage.HELD)
