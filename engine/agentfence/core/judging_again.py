"""Messages that waited for a person, while the policy, the disk, the tools or the day changed.

They are judged again when the person has answered: what is in force then decides what goes on, and
the person's word holds where they would be asked the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.jsonrpc import Notification, Request
from agentfence.core.judging import judge_by_policy
from agentfence.core.policy.model import Verdict
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.decision import Decision
    from agentfence.core.effects import Approval
    from agentfence.core.gate import Gate
    from agentfence.core.pending import Judged, Pending


def judge_again(gate: Gate, pending: Pending, circumstances: Circumstances) -> Pending:
    """Give `pending` as the policy in force sees it now; what was asked differently is open again."""
    digest = gate.engine.policy.digest
    if pending.policy_digest == digest:
        return replace(pending, members=_all_again(gate, pending, circumstances, is_counted=True))
    for member in pending.members:
        pending.conversation.session.uncount(member.decision.rule, pending.circumstances.time)
    members = _all_again(gate, pending, circumstances, is_counted=False)
    return replace(pending, members=members, circumstances=circumstances, policy_digest=digest)


def _all_again(
    gate: Gate, pending: Pending, circumstances: Circumstances, *, is_counted: bool
) -> tuple[Judged, ...]:
    """Judge all members; `is_counted`: for the rates of their rules they count already."""
    members: list[Judged] = []
    for member in pending.members:
        counted_for = member.decision.rule if is_counted else None
        members.append(_again(gate, member, pending, replace(circumstances, counted_for=counted_for)))
    return tuple(members)


def _again(gate: Gate, member: Judged, pending: Pending, circumstances: Circumstances) -> Judged:
    message, conversation = member.message, pending.conversation
    if member.violation is not None or not isinstance(message, Request | Notification):
        return member
    again = judge_by_policy(
        gate, message, member.call_id, conversation, circumstances, from_server=pending.from_server
    )
    if _still_holds(member, again):
        return replace(again, approval=member.approval, overruled=member.overruled)
    said = member.approval
    return replace(again, overruled=member.overruled if said is None else replace(said, remember=False))


def _still_holds(member: Judged, again: Judged) -> bool:
    """Whether what was said to `member` answers what the policy in force says."""
    if member.approval is None or again.violation is not None:
        return False
    match again.decision.verdict:
        case Verdict.ALLOW:
            return True
        case Verdict.DENY:
            return not member.approval.is_approved
        case Verdict.ASK:
            return not member.approval.is_approved or _asks_alike(member, again, member.approval)


def _asks_alike(member: Judged, again: Judged, approval: Approval) -> bool:
    holds_for_as_much = again.decision.remember == member.decision.remember
    return _asks(again.decision) == _asks(member.decision) and (holds_for_as_much or not approval.remember)


def _asks(decision: Decision) -> tuple[str | None, ...]:
    """Give what a person is told of why they are asked."""
    return decision.rule, decision.reason_code, decision.reason, decision.message
