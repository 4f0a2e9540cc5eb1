from __future__ import annotations

from typing import Any

import pytest

from agentfence.core.approvals import outcome_code, outcome_text, remember, with_known_outcomes
from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.decision import Decision
from agentfence.core.effects import Approval, Given
from agentfence.core.jsonrpc import Request, Response
from agentfence.core.pending import Judged, Pending
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import ASSUMED
from agentfence.core.session import Conversation, Session, Transport
from agentfence.core.values import replace

ASK = Decision(Verdict.ASK, "rule_match", "why", "rule", remember="call")
KEEP = Approval("approved", "tty", remember=True)
NOW = 1_700_000_000.0


def member(decision: Decision = ASK, tool: str = "send", meta: Any = None, **arguments: Any) -> Judged:
    params = {"name": tool, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
    return Judged("call-1", Request(1, "tools/call", params), decision, 1)


def pending(
    *members: Judged, session: Session | None = None, server: str | None = None, origin: str = ""
) -> Pending:
    session = session or Session("agent", is_identified=True)
    conversation = Conversation(session, Transport.STDIO, server)
    conversation.origin = origin
    return Pending(members, b"", conversation, ASSUMED, Circumstances())


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("approved", "approval_approved"),
        ("denied", "approval_denied"),
        ("timeout", "approval_timeout"),
        ("cancelled", "approval_cancelled"),
        ("edited", "approval_cancelled"),
        ("io_error", "approval_io_error"),
        ("no_approver", "non_interactive_denied"),
        ("queue_full", "approval_queue_full"),
    ],
)
def test_each_outcome_has_a_code_and_words(outcome: str, code: str) -> None:
    approval = Approval(outcome, "tty")

    assert outcome_code(approval) == code
    assert outcome_text(approval)
    assert "(" not in outcome_text(approval)
    assert outcome_text(replace(approval, advice="do this")).endswith(" (do this)")


def is_remembered(first: Judged, second: Judged, approval: Approval = KEEP, **context: Any) -> bool:
    """Whether an approval of the first holds for the second."""
    session = context.pop("session", Session("agent", is_identified=True))
    remember(first, approval, pending(first, session=session), NOW)
    (settled,) = with_known_outcomes(pending(second, session=session, **context)).members
    return settled.approval == Approval("approved", "session", given=Given("tty", NOW, "call-1"))


def test_remembered_approval_says_who_gave_it() -> None:
    session = Session("agent", is_identified=True)
    remember(member(), replace(KEEP, by="ana"), pending(member(), session=session), NOW)
    (settled,) = with_known_outcomes(pending(member(), session=session)).members

    assert settled.approval is not None
    assert settled.approval.by == "ana"


def test_approval_holds_for_the_same_call() -> None:
    assert is_remembered(member(to="a"), member(to="a"))
    assert is_remembered(member(to="a", at="b"), member(at="b", to="a"))
    assert is_remembered(member(meta={"progressToken": 1}, to="a"), member(meta={"progressToken": 2}, to="a"))
    assert is_remembered(member(meta={"progressToken": 1}, to="a"), member(to="a"))


@pytest.mark.parametrize(
    "other",
    [
        member(to="b"),
        member(to="a", cc="b"),
        member(to="a", meta={"as": "root"}),
        member(to="a", meta=7),
        member(tool="send_all", to="a"),
        member(replace(ASK, rule="other"), to="a"),
        member(replace(ASK, reason_code="path_not_allowed"), to="a"),
        member(replace(ASK, reason="argument `at` is not in the allowed values"), to="a"),
        Judged("call-1", Request(1, "prompts/get", {"name": "send", "arguments": {"to": "a"}}), ASK, 1),
        Judged("call-1", Request(1, "tools/call"), ASK, 1),
    ],
)
def test_approval_of_a_call_holds_for_no_other(other: Judged) -> None:
    assert not is_remembered(member(to="a"), other)


def test_approval_of_a_tool_holds_for_all_its_calls_for_the_same_reason() -> None:
    tool = replace(ASK, remember="tool")

    assert is_remembered(member(tool, to="a"), member(tool, to="b"))
    assert not is_remembered(member(tool, to="a"), member(tool, tool="other", to="a"))
    assert not is_remembered(member(tool), member(replace(tool, reason_code="path_not_allowed")))
    assert not is_remembered(
        member(replace(tool, reason="argument `to` is not in the allowed values")),
        member(replace(tool, reason="arguments `to`, `at` are not in the allowed values")),
    )


def test_approval_holds_on_one_server() -> None:
    assert not is_remembered(member(to="a"), member(to="a"), server="files")
    assert not is_remembered(member(to="a"), member(to="a"), origin="https://other.example:443")


@pytest.mark.parametrize("approval", [Approval("approved", "tty"), Approval("denied", "tty", remember=True)])
def test_only_a_yes_that_is_meant_to_hold_is_remembered(approval: Approval) -> None:
    assert not is_remembered(member(), member(), approval)


def test_nothing_is_remembered_where_the_rule_does_not_let_it() -> None:
    once = replace(ASK, remember=None)

    assert not is_remembered(member(once), member(once))
    assert not is_remembered(member(), member(once))


def test_approval_says_whether_it_is_kept() -> None:
    kept = remember(member(), KEEP, pending(member()), NOW)
    once = member(replace(ASK, remember=None))

    assert kept.remember
    assert not remember(once, KEEP, pending(once), NOW).remember


def test_nothing_is_remembered_for_a_mere_address() -> None:
    assert not is_remembered(member(), member(), session=Session("address", is_identified=False))


def test_remembered_approval_opens_nothing_that_is_not_asked() -> None:
    session = Session("agent", is_identified=True)
    remember(member(), KEEP, pending(member(), session=session), NOW)
    denied = member(replace(ASK, verdict=Verdict.DENY))

    assert with_known_outcomes(pending(denied, session=session)).members == (denied,)


def test_only_calls_can_be_approved() -> None:
    answer = Judged("call-1", Response(1, {}), ASK)

    with pytest.raises(TypeError):
        remember(answer, KEEP, pending(answer), NOW)


@pytest.mark.parametrize(
    ("approval", "settled"),
    [
        (None, Approval("cancelled", "client")),
        (Approval("approved", "tty"), Approval("cancelled", "client")),
        (Approval("denied", "tty"), Approval("denied", "tty")),
    ],
)
def test_call_that_its_sender_cancelled_is_not_sent(approval: Approval | None, settled: Approval) -> None:
    one = replace(member(), approval=approval)
    waits = pending(one)
    call = CallInFlight(1, "call-1", "tools/call", ASSUMED, "rule", Verdict.ASK, Stage.WITHDRAWN)
    waits.conversation.from_client.put(call)

    assert with_known_outcomes(waits).members[0].approval == settled


def test_approval_holds_for_its_own_server_also_where_the_policy_names_none() -> None:
    session, call = Session("agent", is_identified=True), member(replace(ASK, remember="tool"))
    here, there = (pending(call, session=session) for _ in range(2))
    here.conversation.origin, there.conversation.origin = (
        "https://good.example:443",
        "https://evil.example:443",
    )
    remember(call, KEEP, here, NOW)

    assert [with_known_outcomes(asked).members[0].is_open for asked in (here, there)] == [False, True]
