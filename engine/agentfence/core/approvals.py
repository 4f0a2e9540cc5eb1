"""What an approval means: for which calls it holds, and how its outcome is told."""

from __future__ import annotations

import json
from hashlib import sha256
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.calls_in_flight import Stage
from agentfence.core.effects import Approval, Given
from agentfence.core.jsonrpc import Notification, Request
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.pending import Judged, Pending

_OUTCOMES = MappingProxyType(
    {
        "approved": ("approval_approved", "a person approved it"),
        "denied": ("approval_denied", "a person denied it"),
        "timeout": ("approval_timeout", "nobody answered in time"),
        "cancelled": ("approval_cancelled", "it was cancelled"),
        "edited": ("approval_cancelled", "it was edited, and is judged anew"),
        "io_error": ("approval_io_error", "the question could not be asked"),
        "no_approver": ("non_interactive_denied", "nobody is there to ask"),
        "queue_full": ("approval_queue_full", "too many questions wait already"),
    }
)
_PASSING = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})
"""Members of `_meta` that change with every call and say nothing of what it does."""


def outcome_code(approval: Approval) -> str:
    """Give the reason code of an approval's outcome."""
    return _OUTCOMES[approval.outcome][0]


def outcome_text(approval: Approval) -> str:
    """Give the outcome in words, with how to get an approver where there was none."""
    text = _OUTCOMES[approval.outcome][1]
    return f"{text} ({approval.advice})" if approval.advice else text


def remember(member: Judged, approval: Approval, pending: Pending, time: float) -> Approval:
    """Let an approval hold for the session, where the person said so and the rule and the agent let it.

    Gives the approval as it counts: its `remember` says whether it is kept.
    """
    session, peer = pending.conversation.session, pending.conversation.peer
    is_kept = (
        approval.is_approved
        and approval.remember
        and member.decision.remember is not None
        and session.is_identified
    )
    if is_kept:
        given = Given(approval.approver, time, member.call_id)
        session.approve(_key(member, peer), Approval("approved", "session", approval.by, given=given))
    return replace(approval, remember=is_kept)


def with_known_outcomes(pending: Pending) -> Pending:
    """Settle what needs no person: what its sender cancelled, and what was approved before."""
    members = [_with_known_outcome(member, pending) for member in pending.members]
    if all(map(is_, members, pending.members)):
        return pending
    return replace(pending, members=tuple(members))


def _with_known_outcome(member: Judged, pending: Pending) -> Judged:
    session, peer = pending.conversation.session, pending.conversation.peer
    is_decided = member.approval is not None and not member.approval.is_approved
    if _is_withdrawn(member, pending) and not is_decided:
        return replace(member, approval=Approval("cancelled", "client"))
    if not member.is_open or member.decision.remember is None:
        return member
    return replace(member, approval=session.approval_for(_key(member, peer)))


def _is_withdrawn(member: Judged, pending: Pending) -> bool:
    call = pending.waiting(member)
    return call is not None and call.stage is Stage.WITHDRAWN


def _key(member: Judged, peer: str) -> str:
    """Give a digest of what a remembered approval holds for: this tool, or exactly this call.

    The reason is part of it: who let a tool run did not say that it may leave its allow list, too.
    """
    message, decision = member.message, member.decision
    if not isinstance(message, Request | Notification):
        raise TypeError("only a call can be approved")
    params = message.params or {}
    covered: list[object] = [peer, decision.rule, decision.reason_code, message.method, params.get("name")]
    if decision.remember == "call":
        meta = params.get("_meta", {})
        lasting = (
            {key: value for key, value in meta.items() if key not in _PASSING}
            if isinstance(meta, dict)
            else meta
        )
        covered.append({**params, "_meta": lasting})
    return sha256(json.dumps(covered, sort_keys=True).encode()).hexdigest()
