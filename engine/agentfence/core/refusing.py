"""Refused messages: what is written about them, and who is told what.

Failing to record a refusal never changes it: its `Record` names no messages to decide on anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core import refusals
from agentfence.core.approvals import outcome_code, outcome_text
from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.effects import Answer, Drop, Forward, Record
from agentfence.core.events import tool_of
from agentfence.core.gate_settings import DenyAs
from agentfence.core.jsonrpc import Notification, Request, Response, error_answer
from agentfence.core.session import Transport

if TYPE_CHECKING:
    from agentfence.core.effects import Effects
    from agentfence.core.gate import Gate
    from agentfence.core.jsonrpc import Id
    from agentfence.core.pending import Judged, Pending

_UNSENT = "batch_member_refused"
_UNRECORDED = "the audit log cannot be written, so nothing is sent on; see AgentFence's own output"


def refuse(gate: Gate, pending: Pending, time: float) -> Effects:
    """Refuse all messages of a body, each with its own reason."""
    records: list[Record] = []
    answers: list[bytes | None] = []
    for member in pending.members:
        code, reason = _why(gate, member)
        if code == _UNSENT:
            _uncount(member, pending)
        event = gate.events.judged(
            member,
            pending,
            gate.mode,
            decision="deny",
            time=time,
            reason=reason,
            # Of the policy, not of the person, so that the log shows why a person was asked at all.
            reason_code=member.decision.reason_code if member.approval is not None else code,
        )
        records.append(Record(event))
        # The agent is told what the log says: a name that a peer chose may hold a secret.
        answers.append(_answer(gate, member, pending, code, gate.events.text(reason)))
    return (*records, *_end(pending, answers))


def refuse_unrecorded(pending: Pending) -> Effects:
    """Refuse messages that would go on if their events could be written."""
    answers = [_unrecorded_answer(member, pending) for member in pending.members]
    return _end(pending, answers)


def _why(gate: Gate, member: Judged) -> tuple[str, str]:
    """Give the reason code and the sentence for one member of a refused body."""
    decision = member.decision
    if not member.is_refused(gate.mode):
        return _UNSENT, refusals.NOT_SENT
    if member.approval is None:
        return decision.reason_code, decision.reason
    return outcome_code(member.approval), f"{decision.reason}; {outcome_text(member.approval)}"


def _uncount(member: Judged, pending: Pending) -> None:
    """Take back a call that was counted for its rule's rate, and is neither asked about nor sent."""
    message, approval = member.message, member.approval
    was_asked = approval is not None and approval.given is None
    if not was_asked and isinstance(message, Request | Notification) and tool_of(message):
        pending.conversation.session.uncount(member.decision.rule, pending.circumstances.time)


def _answer(gate: Gate, member: Judged, pending: Pending, code: str, reason: str) -> bytes | None:
    """Give the answer to one member; None when it gets none."""
    message, decision, call_id = member.message, member.decision, member.call_id
    if member.violation is not None:
        if member.id is None and message is not None:
            return None
        data = refusals.details("deny", code, None, call_id)
        return error_answer(member.id, member.violation.code, gate.events.text(member.violation.text), data)
    revision = pending.revision if pending.answer is None else pending.answer.call.revision
    id_ = member.id if pending.answer is None else pending.answer.call.id
    if id_ is None or (pending.answer is not None and code == _UNSENT):
        return None
    text = refusals.NOT_SENT if code == _UNSENT else refusals.blocked_text(decision, reason, code)
    if gate.settings.deny_as is DenyAs.RESULT and isinstance(message, Request) and not pending.from_server:
        result = refusals.blocked_result(message, revision, text)
        if result is not None:
            return result
    data = refusals.details("deny", code, decision.rule, call_id, decision.retry_after_ms)
    return refusals.blocked_error(id_, revision, text, data)


def _unrecorded_answer(member: Judged, pending: Pending) -> bytes | None:
    if pending.answer is None and member.id is None and member.message is not None:
        return None
    id_, revision = member.id, pending.revision
    if pending.answer is not None:
        id_, revision = pending.answer.call.id, pending.answer.call.revision
    return refusals.internal_answer(id_, revision, _UNRECORDED, "audit_unwritable", member.call_id)


def _end(pending: Pending, answers: list[bytes | None]) -> Effects:
    """Forget the requests of a refused body, and say so to whoever waits."""
    conversation = pending.conversation
    made = [answer for answer in answers if answer is not None]
    if pending.answer is not None:
        conversation.end(pending.answer.call)
        return (Forward(made[0]),)
    for member in pending.members:
        conversation.calls(from_server=pending.from_server).give_up(member.id, member.call_id)
    told = _tell_server(pending)
    if not made:
        return (*told, Drop())
    if pending.from_server and conversation.transport is Transport.HTTP:
        return tuple(_ask_agent_to_refuse(m.id, m, pending) for m in pending.members if m.id is not None)
    return (*told, Answer(refusals.batch_answer(made) if pending.is_batch else made[0]))


def _ask_agent_to_refuse(id_: Id, member: Judged, pending: Pending) -> Forward:
    """Have the agent refuse a server's request: to one of an unknown method it says that there is none.

    A proxy cannot answer a server inside the server's own answer.
    """
    refused = CallInFlight(
        id_,
        member.call_id,
        refusals.UNKNOWN_METHOD,
        pending.revision,
        member.decision.rule,
        member.verdict,
        Stage.SENT,
    )
    pending.conversation.from_server.put(refused)
    return Forward(refusals.unknown_request(id_))


def _tell_server(pending: Pending) -> tuple[Forward, ...]:
    """End the server's requests that the agent's answers in a refused body were for."""
    conversation = pending.conversation
    if conversation.transport is Transport.HTTP or pending.from_server:
        return ()
    told: list[Forward] = []
    for member in pending.members:
        if (
            isinstance(member.message, Response)
            and member.message.id is not None
            and member.violation is None
        ):
            conversation.from_server.end(member.message.id)
            text = "the agent's answer was refused"
            error = refusals.internal_answer(
                member.message.id, pending.revision, text, _UNSENT, member.call_id
            )
            told.append(Forward(error))
    return tuple(told)
