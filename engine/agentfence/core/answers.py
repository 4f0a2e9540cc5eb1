"""What a server sends: answers, its own requests, notifications.

The strict reader holds in this direction too, with the tolerance that clients rely on: an error may
have no id, or one that no call waits for. What is not passed on as a message still ends the call
that it belongs to, with an error, as a client that waits for nothing hangs.

Requests, also those inside answers, are judged like an agent's. An answer that passes has an event of
its own, tied to its call's; the protocol's own notifications have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core import refusals, tool_lists
from agentfence.core.answer_ids import answered_ids
from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.cancelling import cancel_requests, cancelled_id
from agentfence.core.effects import Drop, Forward, Record, Withdraw
from agentfence.core.envelope import messages_in, read_envelope
from agentfence.core.errors import ProtocolViolation
from agentfence.core.json_writing import write_json
from agentfence.core.jsonrpc import (
    INVALID_REQUEST,
    Notification,
    Request,
    Response,
    harmless_line,
    parse_json,
    read_message,
)
from agentfence.core.judging import judge
from agentfence.core.learning import learn_answer
from agentfence.core.nested_requests import nested_requests
from agentfence.core.observing import observe_answer, observe_error, observe_message
from agentfence.core.outcomes import settle
from agentfence.core.pending import Arrival, HeldAnswer, Pending
from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.revisions import HOUSEKEEPING
from agentfence.core.session import Transport
from agentfence.core.values import replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.effects import Effects
    from agentfence.core.gate import Gate
    from agentfence.core.jsonrpc import Json, Message
    from agentfence.core.pending import Judged
    from agentfence.core.session import Conversation

_FIRST_ERROR = 400
"""Of HTTP's statuses; below it a call may still be answered on another stream."""


def server_message(
    gate: Gate, body: bytes, conversation: Conversation, circumstances: Circumstances
) -> Effects:
    """Judge one line, one JSON body or one event of a server.

    `Forward` goes to the agent; `Answer` goes back to the server.
    """
    arrival = Arrival(body, conversation, circumstances)
    try:
        value = parse_json(body)
        if isinstance(value, list):
            return _batch(gate, value, arrival)
        return _single(gate, read_message(value, lenient_error_id=True), arrival)
    except ProtocolViolation as violation:
        return refuse_answer(gate, body, conversation, circumstances, str(violation))


def server_gone(gate: Gate, conversation: Conversation, circumstances: Circumstances, text: str) -> Effects:
    """End every call that nobody will answer: the server cannot be reached or went away."""
    effects: list[Withdraw | Record | Forward] = []
    for call in conversation.from_client.end_unanswerable():
        if call.stage is Stage.ASKED:
            effects.append(Withdraw(call.call_id))
        else:
            event = gate.events.unanswered(call, conversation, text, circumstances.time)
            effects.append(Record(event))
        effects.append(Forward(refusals.upstream_answer(call.id, call.revision, text, call.call_id)))
    return tuple(effects)


def post_failed(
    gate: Gate, body: bytes, conversation: Conversation, circumstances: Circumstances, text: str
) -> Effects:
    """End the calls in a posted `body` that the server did not take, and whose answers come elsewhere."""
    envelope = read_envelope(body, max_body=len(body), max_batch=len(body))
    effects: list[Record | Forward] = []
    for message in messages_in(envelope):
        call = conversation.from_client.find_sent(message.id) if isinstance(message, Request) else None
        if call is not None:
            conversation.end(call)
            effects.append(Record(gate.events.unanswered(call, conversation, text, circumstances.time)))
            effects.append(Forward(refusals.upstream_answer(call.id, call.revision, text, call.call_id)))
    return tuple(effects)


def unread_answer(
    gate: Gate,
    conversation: Conversation,
    circumstances: Circumstances,
    status: int,
    size: int | None,
    text: str = "",
) -> Effects:
    """Record that an HTTP answer passes that holds no message; an error of HTTP ends the calls.

    `text` is what it says, as clients show that to the model.
    """
    records: list[Record] = []
    for call in conversation.from_client.sent():
        records += observe_error(gate, conversation, text, circumstances.time, call)
        if status >= _FIRST_ERROR:
            conversation.from_client.end(call.id)
        records.append(Record(gate.events.unread(call, conversation, status, size, circumstances.time)))
    return tuple(records)


def refuse_answer(
    gate: Gate, body: bytes, conversation: Conversation, circumstances: Circumstances, problem: str
) -> Effects:
    """End the calls that an answer belongs to which is not passed on; `body` may be its two ends."""
    calls = _calls_answered(body, conversation)
    return _refuse(gate, calls, conversation, circumstances.time, problem)


def _refuse(
    gate: Gate, calls: Sequence[CallInFlight], conversation: Conversation, time: float, problem: str
) -> Effects:
    call_id = calls[0].call_id if calls else gate.next_call_id()
    text, code = f"the server's message was not passed on: {problem}", "answer_refused"
    event = gate.events.refused(conversation, time, call_id, code, text, to_client=True)
    answers: list[Forward] = []
    for call in calls:
        conversation.end(call)
        answers.append(Forward(refusals.internal_answer(call.id, call.revision, text, code, call.call_id)))
    return (Record(event), *(answers or (Drop(),)))


def _calls_answered(body: bytes, conversation: Conversation) -> Sequence[CallInFlight]:
    ids = answered_ids(body)
    if ids is None:
        # What a POST brings belongs to what was posted.
        is_post = conversation.transport is Transport.HTTP and not conversation.carries_other_answers
        return conversation.from_client.sent() if is_post else ()
    named = {str(id_): conversation.find_sent(id_) for id_ in ids}
    return [call for call in named.values() if call is not None and call.stage is Stage.SENT]


def _single(gate: Gate, message: Message, arrival: Arrival) -> Effects:
    if isinstance(message, Response):
        return _response(gate, message, arrival)
    notes = observe_message(gate, arrival.conversation, message, arrival.circumstances.time)
    if isinstance(message, Notification) and message.method in HOUSEKEEPING:
        return (*notes, *_housekeeping(gate, message, arrival))
    member = judge(gate, message, arrival.conversation, arrival.circumstances, from_server=True)
    return (*notes, *_settle(gate, (member,), arrival))


def _response(gate: Gate, response: Response, arrival: Arrival) -> Effects:
    conversation = arrival.conversation
    call = conversation.find_sent(response.id) or _call_before(gate, response, conversation)
    if call is None:
        return _foreign_error(gate, response, arrival)
    if call.stage is Stage.CANCELLED:
        conversation.end(call)
        return (Drop(),)  # nobody waits for it any more
    is_list = tool_lists.is_list(call.method, response)
    problem = tool_lists.problem_with_lists([response] if is_list else [], len(arrival.body))
    if problem is not None:
        return _refuse(gate, (call,), conversation, arrival.circumstances.time, problem)
    notes = observe_answer(gate, conversation, call, response, arrival.circumstances.time)
    nested = nested_requests(response)
    shown = _shown_list(gate, response, arrival) if is_list else None
    if nested:
        members = _judge_nested(gate, nested, call.call_id, arrival)
        passing = arrival if shown is None else replace(arrival, body=shown)
        return (*notes, *_settle(gate, members, passing, HeldAnswer(call, response)))
    conversation.end(call)
    learn_answer(conversation, call, response, from_server=False)
    passed = _pass(arrival) if shown is None else (Forward(shown),)
    return (*notes, _answered(gate, call, response, arrival), *passed)


def _answered(gate: Gate, call: CallInFlight, response: Response, arrival: Arrival) -> Record:
    time = arrival.circumstances.time
    return Record(gate.events.answered(call, response, arrival.conversation, len(arrival.body), time))


def _shown_list(gate: Gate, response: Response, arrival: Arrival) -> bytes | None:
    """Give a list of tools without those that can only be denied; None when all of it is shown."""
    if gate.mode is Mode.OBSERVE:
        return None
    conversation, time = arrival.conversation, arrival.circumstances.time
    return tool_lists.without_denied(
        response, lambda tool: gate.engine.is_hidden(tool, conversation.server, conversation.peer, time)
    )


def _call_before(gate: Gate, response: Response, conversation: Conversation) -> CallInFlight | None:
    """Give what is known of a call whose answer a resumed stream brings (again).

    MCP 2025-11-25, basic/transports#resumability-and-redelivery: it may have been answered on a stream
    that broke off, or made before the fence was there.
    """
    if not conversation.resumes or response.id is None or conversation.may_be_meant_by(response.id):
        return None
    answered = conversation.find_answered(response.id)
    if answered is not None:
        return answered
    if conversation.is_asked_about(response.id):
        return None
    call_id, revision = gate.next_call_id(), conversation.revision
    return CallInFlight(response.id, call_id, "", revision, "protocol", Verdict.ALLOW, Stage.SENT)


def _is_foreign_error(response: Response, conversation: Conversation) -> bool:
    """Whether an error tells of something else than a call that waits here, as one that nobody could read."""
    if not response.is_error or nested_requests(response):
        return False
    if response.id is None:
        return True
    if conversation.carries_other_answers or conversation.may_be_meant_by(response.id):
        return False
    return not conversation.is_asked_about(response.id)


def _foreign_error(gate: Gate, response: Response, arrival: Arrival) -> Effects:
    """Pass an error that no call here waits for; anything else that none waits for is not passed."""
    conversation = arrival.conversation
    if not _is_foreign_error(response, conversation):
        return _unmatched(gate, arrival)
    error = dict(response.error or {})
    return (*observe_error(gate, conversation, error, arrival.circumstances.time), *_pass(arrival))


def _unmatched(gate: Gate, arrival: Arrival) -> Effects:
    text = "the server answered a request that nobody waits for"
    call_id, code, time = gate.next_call_id(), "response_unmatched", arrival.circumstances.time
    event = gate.events.refused(arrival.conversation, time, call_id, code, text, to_client=True)
    return (Record(event), Drop())


def _housekeeping(gate: Gate, notification: Notification, arrival: Arrival) -> Effects:
    """Pass a notification of the protocol, when everything that it asks of the agent may pass."""
    conversation = arrival.conversation
    nested = nested_requests(notification)
    if nested:
        return _settle(gate, _judge_nested(gate, nested, gate.next_call_id(), arrival), arrival)
    withdrawn = cancel_requests((notification,), conversation.from_server.cancel)
    _end_listening(notification, conversation)
    if withdrawn:
        return (*withdrawn, Drop())
    return _pass(arrival)


def _end_listening(notification: Notification, conversation: Conversation) -> None:
    # MCP 2026-07-28, basic/patterns/cancellation: a server ends the agent's `subscriptions/listen` so.
    id_ = cancelled_id(notification)
    call = None if id_ is None else conversation.from_client.find_sent(id_)
    if call is not None and call.method == "subscriptions/listen":
        conversation.from_client.cancel(call.id)


def _judge_nested(
    gate: Gate, nested: Sequence[Notification], call_id: str, arrival: Arrival
) -> tuple[Judged, ...]:
    """Judge requests inside an answer; log and prompt know them by the call that is answered."""
    conversation, circumstances = arrival.conversation, arrival.circumstances
    judged = (judge(gate, message, conversation, circumstances, from_server=True) for message in nested)
    return tuple(replace(member, call_id=call_id) for member in judged)


def _settle(
    gate: Gate, members: tuple[Judged, ...], arrival: Arrival, held: HeldAnswer | None = None
) -> Effects:
    conversation, circumstances = arrival.conversation, arrival.circumstances
    pending = Pending(
        members,
        arrival.body,
        conversation,
        conversation.revision,
        circumstances,
        from_server=True,
        answer=held,
        policy_digest=gate.engine.policy.digest,
    )
    return settle(gate, pending, circumstances.time)


def _batch(gate: Gate, entries: Sequence[Json], arrival: Arrival) -> Effects:
    """Pass an array of answers, and of notifications that always pass; nothing else may be in one."""
    conversation, revision = arrival.conversation, arrival.conversation.revision
    answered: dict[str, tuple[CallInFlight, Response, int]] = {}
    notes: list[Record] = []
    time = arrival.circumstances.time
    if not revision.allows_batches:
        raise _violation(f"MCP {revision.name} has no JSON-RPC batches")
    if not entries:
        raise _violation("the batch is empty")
    for place, entry in enumerate(entries):
        message = read_message(entry, lenient_error_id=True)
        if not isinstance(message, Response):
            if not _is_plain(message):
                raise _violation("a server's requests cannot be judged inside a batch")
            notes += observe_message(gate, conversation, message, time)
            continue
        call = conversation.find_sent(message.id) or _call_before(gate, message, conversation)
        if call is None:
            if not _is_foreign_error(message, conversation):
                raise _violation("it answers a request that nobody waits for")
            notes += observe_error(gate, conversation, dict(message.error or {}), time)
            continue
        if str(call.id) in answered or nested_requests(message):
            raise _violation("a request is answered twice, or by requests, inside a batch")
        answered[str(call.id)] = call, message, place
    lists: dict[int, bytes] = {}
    listed = [message for call, message, _ in answered.values() if tool_lists.is_list(call.method, message)]
    problem = tool_lists.problem_with_lists(listed, len(arrival.body))
    if problem is not None:
        raise _violation(problem)
    for call, response, place in answered.values():
        notes += observe_answer(gate, conversation, call, response, time)
        conversation.end(call)
        learn_answer(conversation, call, response, from_server=False)
        shown = _shown_list(gate, response, arrival) if tool_lists.is_list(call.method, response) else None
        if shown is not None:
            lists[place] = shown
    records = [_answered(gate, call, response, arrival) for call, response, _ in answered.values()]
    return (*notes, *records, *(_pass_with(lists, entries) if lists else _pass(arrival)))


def _is_plain(message: Message) -> bool:
    return (
        isinstance(message, Notification)
        and message.method in HOUSEKEEPING
        and not nested_requests(message)
        and cancelled_id(message) is None
    )


def _pass(arrival: Arrival) -> Effects:
    is_line = arrival.conversation.transport is Transport.STDIO
    return (Forward(harmless_line(arrival.body) if is_line else arrival.body),)


def _violation(problem: str) -> ProtocolViolation:
    return ProtocolViolation(INVALID_REQUEST, problem)


def _pass_with(lists: Mapping[int, bytes], entries: Sequence[Json]) -> Effects:
    """Pass an array whose lists of tools, by their places, were written anew."""
    written = (lists.get(place) or write_json(entry) for place, entry in enumerate(entries))
    return (Forward(b"[" + b",".join(written) + b"]"),)
