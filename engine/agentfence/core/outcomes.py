"""What becomes of judged messages: they are refused (`refusing.py`), asked about, or sent on.

Invariants
- A body goes on as it came or not at all, and only when nothing in it is refused.
- A request gets one answer with its id: the other side's, or one made here.
- Every message has its `Record` before its `Forward` or `Answer`.
- Nobody is asked about a body that is refused anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.approvals import remember, with_known_outcomes
from agentfence.core.calls_in_flight import LONGEST_METHOD, CallInFlight, Stage
from agentfence.core.cancelling import cancel_requests
from agentfence.core.effects import Approval, Ask, Drop, Forward, Record
from agentfence.core.jsonrpc import Request, Response, harmless_line
from agentfence.core.judging_again import judge_again
from agentfence.core.learning import learn_answer, learn_posted_answer
from agentfence.core.observing import source_of
from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.questions import question_about
from agentfence.core.refusing import refuse
from agentfence.core.session import Transport
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.effects import Effects, Withdraw
    from agentfence.core.gate import Gate
    from agentfence.core.pending import Judged, Pending
    from agentfence.core.session import Conversation

_WAITING = frozenset({Stage.ASKED, Stage.HELD, Stage.WITHDRAWN})


def settle(gate: Gate, pending: Pending, time: float) -> Effects:
    """Refuse, ask, or send on what was judged just now."""
    for member in pending.members:
        if member.decision.verdict is not Verdict.ALLOW or member.violation or member.approval:
            return _settle(gate, pending, time)
    # Nobody is asked about these, and no sender can have cancelled what is in flight only from here on.
    if len(pending.members) == 1 and pending.answer is None:
        only = pending.members[0]
        if isinstance(only.message, Request):
            return _send_request(gate, only, only.message, pending, time)
    return _send_on(gate, pending, time)


def _send_request(gate: Gate, member: Judged, request: Request, pending: Pending, time: float) -> Effects:
    """Do what `_send_on` does, where it is about one request: that answers and cancels nothing."""
    conversation, body = pending.conversation, pending.body
    event = gate.events.judged(member, pending, gate.mode, decision="allow", time=time)
    calls = conversation.from_server if pending.from_server else conversation.from_client
    calls.put(_call_of(member, request, pending, Stage.SENT, time))
    is_line = conversation.transport is Transport.STDIO
    return (Record(event, pending), Forward(harmless_line(body) if is_line else body))


def _settle(gate: Gate, pending: Pending, time: float) -> Effects:
    mode = gate.mode
    if mode is Mode.ENFORCE:
        pending = with_known_outcomes(pending)
    if any(member.is_refused(mode) for member in pending.members):
        return refuse(gate, pending, time)
    if mode is Mode.ENFORCE:
        asked = [member for member in pending.members if member.is_open]
        if asked:
            question = question_about(
                asked[0], pending.conversation, gate.events, from_server=pending.from_server
            )
            ask = Ask(question, pending)
            _keep(pending, Stage.ASKED, time)
            return (ask,)
    return _send_on(gate, pending, time)


def _send_on(gate: Gate, pending: Pending, time: float) -> Effects:
    events, mode = gate.events, gate.mode
    records = [
        Record(events.judged(member, pending, mode, decision="allow", time=time), pending)
        for member in pending.members
    ]
    if pending.answer is not None:
        call, response = pending.answer.call, pending.answer.response
        records.append(Record(events.answered(call, response, pending.conversation, len(pending.body), time)))
    if not pending.from_server:
        records += _answers_of_agent(gate, pending, time)
    return (*records, *send(pending, time))


def _answers_of_agent(gate: Gate, pending: Pending, time: float) -> list[Record]:
    """Give the events of the agent's answers to requests of the server."""
    conversation, records = pending.conversation, list[Record]()
    for member in pending.members:
        response = member.message
        if not isinstance(response, Response):
            continue
        call = conversation.from_server.find_sent(response.id)
        if call is not None:
            size = len(pending.body)
            event = gate.events.answered(call, response, conversation, size, time, to_client=False)
            records.append(Record(event))
    return records


def resolve(gate: Gate, pending: Pending, approval: Approval, circumstances: Circumstances) -> Effects:
    """Go on with what a person, or nobody, said to the first open question of `pending`."""
    position = next((i for i, member in enumerate(pending.members) if member.is_open), None)
    if position is None or not _still_waits(pending):
        return _let_go(gate, pending, circumstances.time)
    pending = pending.with_approval(position, approval)
    if approval.is_approved or pending.policy_digest != gate.engine.policy.digest:
        pending = judge_again(gate, pending, circumstances)
    member = pending.members[position]
    if member.approval is approval:  # else there is another question by now, or none
        counted = remember(member, approval, pending, circumstances.time)
        pending = pending.with_approval(position, counted)
    return _settle(gate, pending, circumstances.time)


def _still_waits(pending: Pending) -> bool:
    """Whether nobody has answered the requests in `pending` while a person was asked."""
    if pending.answer is None:
        requests = [member for member in pending.members if member.id is not None]
    else:
        requests = list(pending.members)
    return all(call is not None and call.stage in _WAITING for call in map(pending.waiting, requests))


def _let_go(gate: Gate, pending: Pending, time: float) -> Effects:
    """Drop messages that were answered while a person was asked."""
    cancelled = Approval("cancelled", "client")
    reason = "it was answered before the person was"
    records: list[Record] = []
    for member in pending.members:
        pending.conversation.calls(from_server=pending.from_server).give_up(member.id, member.call_id)
        event_of = replace(member, approval=member.approval or cancelled)
        event = gate.events.judged(event_of, pending, gate.mode, decision="deny", reason=reason, time=time)
        records.append(Record(event))
    return (*records, Drop())


def send(pending: Pending, time: float) -> Effects:
    """Send on what is allowed, and keep what it changes."""
    conversation = pending.conversation
    if pending.answer is not None:
        call = pending.answer.call
        conversation.end(call)
        learn_answer(conversation, call, pending.answer.response, from_server=False)
    else:
        _keep(pending, Stage.SENT, time)
    # What stands inside an answer is a request, whatever it is called.
    members = pending.members if pending.answer is None else ()
    others = [member for member in members if not isinstance(member.message, Request)]
    withdrawn = _end_others(others, pending) if others else ()
    if withdrawn and not pending.is_batch:
        return (*withdrawn, Drop())  # the other side never saw the request that is cancelled
    is_line = conversation.transport is Transport.STDIO
    return (*withdrawn, Forward(harmless_line(pending.body) if is_line else pending.body))


def _end_others(others: list[Judged], pending: Pending) -> tuple[Withdraw, ...]:
    """Do what answers and cancellations among messages say; give the questions that are withdrawn."""
    conversation = pending.conversation
    _end_answered(others, conversation)
    cancels = conversation.from_server.cancel if pending.from_server else conversation.cancel
    return cancel_requests([member.message for member in others], cancels)


def _keep(pending: Pending, stage: Stage, time: float) -> None:
    """Have the requests in `pending` wait: for a person, or for the other side's answers."""
    conversation = pending.conversation
    if pending.answer is not None:
        conversation.from_client.put(replace(pending.answer.call, stage=Stage.HELD))
    else:
        calls = conversation.calls(from_server=pending.from_server)
        for member in pending.members:
            if isinstance(member.message, Request):
                calls.put(_call_of(member, member.message, pending, stage, time))


def _call_of(member: Judged, request: Request, pending: Pending, stage: Stage, time: float) -> CallInFlight:
    return CallInFlight(
        request.id,
        member.call_id,
        request.method[:LONGEST_METHOD],
        pending.revision,
        member.decision.rule,
        member.verdict,
        stage,
        time,
        source_of(request, pending.conversation),
    )


def _end_answered(members: list[Judged], conversation: Conversation) -> None:
    """Forget the server's requests that the agent's answers among `members` are for."""
    for member in members:
        response = member.message
        if isinstance(response, Response):
            call = conversation.from_server.find_sent(response.id)
            if call is None:
                learn_posted_answer(conversation, member, response)
            else:
                conversation.from_server.end(call.id)
                learn_answer(conversation, call, response, from_server=True)
