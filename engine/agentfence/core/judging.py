"""One message in, what the policy and the protocol say of it out; nothing changes by it but rates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from agentfence.core.decision import Decision
from agentfence.core.engine import Call
from agentfence.core.jsonrpc import INVALID_REQUEST, METHOD_NOT_FOUND, Request, Response
from agentfence.core.pending import Judged, Violation
from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.session import Transport

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.gate import Gate
    from agentfence.core.jsonrpc import Id, Message, Notification
    from agentfence.core.session import Conversation

_INVALID_PARAMS = -32602
_TO_AGENT = Decision(Verdict.DENY, "method_denied", "a server may not call tools of an agent", "protocol")
_MATCHED = Decision(Verdict.ALLOW, "response_match", "answers a request of the other side", "protocol")


def judge(
    gate: Gate,
    message: Message,
    conversation: Conversation,
    circumstances: Circumstances,
    *,
    from_server: bool = False,
) -> Judged:
    """Decide one message; an allowed or asked `tools/call` is counted for its rule's rate."""
    call_id = gate.next_call_id()
    if isinstance(message, Request):
        if from_server or not conversation.takes(message.id):
            problem = _problem_with_id(message.id, conversation, from_server=from_server)
            if problem is not None:
                return violating(message, call_id, INVALID_REQUEST, problem, message.id)
    elif isinstance(message, Response):
        return _judge_response(message, call_id, conversation)
    return judge_by_policy(gate, message, call_id, conversation, circumstances, from_server=from_server)


def judge_by_policy(
    gate: Gate,
    message: Request | Notification,
    call_id: str,
    conversation: Conversation,
    circumstances: Circumstances,
    *,
    from_server: bool,
) -> Judged:
    """Decide what may be judged; an allowed or asked `tools/call` is counted for its rule's rate."""
    id_ = message.id if isinstance(message, Request) else None
    if message.method != "tools/call":
        find_task = partial(conversation.tasks(from_server=from_server).find, conversation.peer)
        decision = gate.engine.decide_method(message.method, message.params, circumstances, find_task)
        is_refused = decision.verdict is Verdict.DENY and gate.mode is Mode.ENFORCE
        if is_refused and conversation.revision.has_removed(message.method):
            # The answer that the server would give, as clients probe for removed methods.
            removed = Violation(METHOD_NOT_FOUND, decision.reason)
            return Judged(call_id, message, decision, id_, violation=removed)
        return Judged(call_id, message, decision, id_)
    if from_server:
        return Judged(call_id, message, _TO_AGENT, id_)
    call = _read_call(message, conversation)
    if isinstance(call, str):
        return violating(message, call_id, _INVALID_PARAMS, call, id_)
    return Judged(call_id, message, gate.engine.decide_call(call, conversation.session, circumstances), id_)


def violating(
    message: Message | None,
    call_id: str,
    code: int,
    text: str,
    id_: Id | None,
    reason_code: str = "parse_error",
) -> Judged:
    """Give a message, or an entry that is none, as one that may not be sent whatever the policy says."""
    decision = Decision(Verdict.DENY, reason_code, text, "protocol")
    return Judged(call_id, message, decision, id_, violation=Violation(code, text))


def _problem_with_id(id_: Id, conversation: Conversation, *, from_server: bool) -> str | None:
    calls = conversation.calls(from_server=from_server)
    if from_server and conversation.transport is Transport.HTTP:
        is_in_flight = False  # a stream that resumes another brings its requests again
    else:
        is_in_flight = id_ in calls if from_server else conversation.waits_for(id_)
    if is_in_flight:
        return "a request with this id is still in flight"
    # A server's oldest requests give way, as agents may leave them unanswered for good.
    if not calls.make_room_for(id_, evicts=from_server):
        return "too many requests are in flight"
    return None


def _judge_response(response: Response, call_id: str, conversation: Conversation) -> Judged:
    """Decide an agent's answer: it passes when the server made the request."""
    is_matched = conversation.from_server.find_sent(response.id) is not None
    if is_matched or not conversation.knows_servers_requests:
        return Judged(call_id, response, _MATCHED)
    text = "answers no request of the other side"
    return violating(response, call_id, INVALID_REQUEST, text, None, "response_unmatched")


def _read_call(message: Request | Notification, conversation: Conversation) -> Call | str:
    """Give the call of a `tools/call`, or what is wrong with its params."""
    params = message.params
    if params is None:
        return "invalid tools/call params: expected an object, got nothing"
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not name:
        return "invalid tools/call params: `name` must be a text that is not empty"
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return "invalid tools/call params: `arguments` must be an object"
    return Call(name, arguments, conversation.server, conversation.origin)
