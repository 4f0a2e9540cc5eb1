"""Audit events: what is written about each judged or refused message.

Invariant: arguments are in an event only when the policy says so, and only redacted; reasons, names
and ids that a peer chose are redacted too, and cut.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from agentfence.core.effects import WrittenEvent
from agentfence.core.json_writing import write_members, write_text, write_value
from agentfence.core.jsonrpc import Response
from agentfence.core.record import timestamp
from agentfence.core.redaction import Work
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.constraints.interface import Json
    from agentfence.core.effects import Approval, Event
    from agentfence.core.jsonrpc import Message, Notification, Request
    from agentfence.core.pending import Judged, Pending
    from agentfence.core.policy.model import Policy
    from agentfence.core.redaction import Redactor
    from agentfence.core.session import Conversation

_LONGEST_NAME = 256
_MOST_REMEMBERED = 1_024
_LONGEST_REMEMBERED = 512
_LONGEST_WRITTEN = 8_388_608
"""Bytes of a message whose arguments are written: escaped and redacted they must still fit in a line."""
_TOO_LONG = "[too long]"
_LONGEST_SEARCHED = 4_096
"""Of a name: a secret that begins in what is shown must be seen whole."""


type _Alike = tuple[str, str | None, str, bool, str | None, str | None, str, str, str, str, str, str, str]
"""What the events of messages like one another have in common."""


@frozen
class _Pieces:
    """Such members of an event, and their JSON with a comma before it."""

    head: dict[str, Json]
    """With the members that come first, to be filled in."""
    said: dict[str, Json]
    end: dict[str, Json]
    head_text: str
    said_text: str
    end_text: str


class Events:
    """Makes events by one policy."""

    __slots__ = ("_action", "_arguments", "_digest", "_pieces", "_redactor", "_shown", "_work")

    def __init__(self, policy: Policy, redactor: Redactor) -> None:
        """Take the policy in force and what keeps secrets out."""
        self._digest = policy.digest
        self._arguments = policy.audit.include_redacted_arguments
        self._redactor = redactor
        self._action = b"", ""
        self._work = b"", Work()
        # A run says the same names and sentences again and again.
        self._shown: dict[str, str] = {}
        self._pieces: dict[_Alike, _Pieces] = {}

    def judged(
        self,
        member: Judged,
        pending: Pending,
        mode: str,
        *,
        decision: str,
        time: float,
        reason_code: str | None = None,
        reason: str | None = None,
    ) -> Event:
        """Give the event of a message that was judged.

        `decision` is what is carried out; `reason_code` and `reason` are the policy's own unless given.
        """
        message, policy, conversation = member.message, member.decision, pending.conversation
        call = None if message is None or isinstance(message, Response) else message
        alike = (
            conversation.transport,
            conversation.server,
            conversation.session.client,
            pending.from_server,
            None if call is None else call.method,
            None if call is None else tool_of(call),
            policy.verdict,
            decision,
            reason_code or policy.reason_code,
            reason or policy.reason,
            policy.rule,
            mode,
            pending.revision.name,
        )
        work = self._work_on(pending.body)
        pieces = self._pieces.get(alike) or self._make_pieces(alike, work)
        event = WrittenEvent(pieces.head)
        event["timestamp"] = moment = timestamp(time)
        event["call_id"] = member.call_id
        id_text = approval_text = overruled_text = digest_text = ""
        if member.id is not None:
            event["request_id"] = id_ = (
                self.name(member.id, work) if isinstance(member.id, str) else member.id
            )
            id_text = f',"request_id":{write_text(id_) if isinstance(id_, str) else id_}'
        event |= pieces.said
        if member.approval is not None:
            event["approval"] = told = _approval(member.approval, policy.remember)
            approval_text = f',"approval":{write_value(told)}'
        if member.overruled is not None:
            event["overruled"] = told = _approval(member.overruled, policy.remember)
            overruled_text = f',"overruled":{write_value(told)}'
        event |= pieces.end
        if pending.body:
            event["action_digest"] = digest = self._action_digest(pending.body)
            digest_text = f',"action_digest":"{digest}"'
        if self._arguments and call is not None and call.params:
            is_short = len(pending.body) <= _LONGEST_WRITTEN
            event["arguments"] = self.arguments(call, work) if is_short else _TOO_LONG
        event.text = (
            f'"kind":"judged","timestamp":"{moment}","call_id":{write_text(member.call_id)}'
            f"{pieces.head_text}{id_text}{pieces.said_text}{approval_text}{overruled_text}"
            f"{pieces.end_text}{digest_text}"
        )
        return event

    def _make_pieces(self, alike: _Alike, work: Work) -> _Pieces:
        """Make the members that such events have in common, and remember them for the next."""
        transport, server, client, from_server, method, tool, *rest = alike
        verdict, decision, reason_code, reason, rule, mode, revision = rest
        direction = "to_client" if from_server else "to_server"
        parties: dict[str, Json] = {"transport": transport, "server": server, "client": client}
        parties["direction"] = direction
        said: dict[str, Json] = {}
        if method is not None:
            said["method"] = self.name(method, work)
        if tool is not None:
            said["tool"] = self.name(tool, work)
        said |= {"verdict": verdict, "decision": decision, "reason_code": reason_code}
        said |= {"reason": self.text(reason, work), "rule": rule}
        end: dict[str, Json] = {"mode": mode, "revision": revision, "policy_digest": self._digest}
        texts = (f",{write_members(members)}" for members in (parties, said, end))
        pieces = _Pieces({"kind": "judged", "timestamp": "", "call_id": "", **parties}, said, end, *texts)
        is_short = sum(len(part) for part in alike if isinstance(part, str)) <= _LONGEST_REMEMBERED
        if is_short and not work.is_done:
            if len(self._pieces) >= _MOST_REMEMBERED:
                self._pieces.clear()
            self._pieces[alike] = pieces
        return pieces

    def refused(
        self,
        conversation: Conversation,
        time: float,
        call_id: str,
        reason_code: str,
        reason: str,
        *,
        to_client: bool,
        message: Message | None = None,
    ) -> Event:
        """Give the event of something that was refused before the policy was asked."""
        event = self._head("refused", conversation, time, call_id, to_client=to_client)
        self._describe(event, message)
        event["verdict"] = "deny"
        event["decision"] = "deny"
        event["reason_code"] = reason_code
        event["reason"] = self.text(reason)
        event["rule"] = None
        event["policy_digest"] = self._digest
        return event

    def answered(
        self,
        call: CallInFlight,
        response: Response,
        conversation: Conversation,
        size: int,
        time: float,
        *,
        to_client: bool = True,
    ) -> Event:
        """Give the event of an answer of `size` bytes that is passed on; it follows the call's own."""
        event = self._end_of(call, conversation, _status(response), time, to_client=to_client)
        if isinstance(response.error, dict) and isinstance(code := response.error.get("code"), int):
            event["error_code"] = code
        event["bytes"] = size
        return event

    def unanswered(self, call: CallInFlight, conversation: Conversation, reason: str, time: float) -> Event:
        """Give the event of a call whose server cannot be reached or went away, which is answered here."""
        event = self._end_of(call, conversation, "unanswered", time, to_client=True)
        event["reason"] = self.text(reason)
        return event

    def unread(
        self, call: CallInFlight, conversation: Conversation, http_status: int, size: int | None, time: float
    ) -> Event:
        """Give the event of an answer that passes as no message: an error of HTTP, a page, a file."""
        event = self._end_of(call, conversation, "unread", time, to_client=True)
        event["http_status"] = http_status
        if size is not None:
            event["bytes"] = size
        return event

    def _end_of(
        self, call: CallInFlight, conversation: Conversation, status: str, time: float, *, to_client: bool
    ) -> dict[str, Json]:
        event = self._head("answered", conversation, time, call.call_id, to_client=to_client)
        event["request_id"] = self.name(call.id) if isinstance(call.id, str) else call.id
        if call.method:
            event["method"] = self.name(call.method)
        else:
            event["uncorrelated"] = True
        event["status"] = status
        event["latency_ms"] = None if call.sent_at is None else max(0, round((time - call.sent_at) * 1000))
        return event

    def noted(
        self,
        conversation: Conversation,
        time: float,
        call_id: str,
        reason_code: str,
        reason: str,
        *,
        tool: str | None = None,
        digest: str | None = None,
    ) -> Event:
        """Give the event of something that came from a server and was passed on all the same."""
        event = self._head("noted", conversation, time, call_id, to_client=True)
        if tool is not None:
            event["tool"] = self.name(tool)
        if digest is not None:
            event["digest"] = digest
        if conversation.server is None and conversation.origin:
            event["origin"] = self.text(conversation.origin)
        event["reason_code"] = reason_code
        event["reason"] = self.text(reason)
        event["policy_digest"] = self._digest
        return event

    def arguments(self, message: Request | Notification, work: Work | None = None) -> Json:
        """Give what a person or a log may see of a message's arguments."""
        params = message.params or {}
        shown = params.get("arguments") if message.method == "tools/call" else params
        return self._redactor.value(shown, work)

    def text(self, text: str, work: Work | None = None) -> str:
        """Give what a person or a log may see of a sentence."""
        shown = self._shown.get(text)
        if shown is None:
            work = work or Work()
            shown = self._redactor.text(text, work)
            if not work.is_done:
                self._remember(text, shown)
        return shown

    def name(self, name: str, work: Work | None = None) -> str:
        """Give what a person or a log may see of a name that a peer chose."""
        if len(name) <= _LONGEST_NAME:
            return self.text(name, work)
        return self._redactor.excerpt(name[:_LONGEST_SEARCHED], _LONGEST_NAME, work)

    def _remember(self, text: str, shown: str) -> None:
        if len(text) <= _LONGEST_REMEMBERED:
            if len(self._shown) >= _MOST_REMEMBERED:
                self._shown.clear()
            self._shown[text] = shown

    def _work_on(self, body: bytes) -> Work:
        """Give what the bytes that were judged are still worth; all members of a batch share it."""
        if not body or self._work[0] is not body:
            self._work = body, Work()
        return self._work[1]

    def _action_digest(self, body: bytes) -> str:
        """Give the digest of the bytes that were judged; made once for all members of a batch."""
        if self._action[0] is not body:
            self._action = body, f"sha256:{sha256(body).hexdigest()}"
        return self._action[1]

    def _head(
        self, kind: str, conversation: Conversation, time: float, call_id: str, *, to_client: bool
    ) -> dict[str, Json]:
        return {
            "kind": kind,
            "timestamp": timestamp(time),
            "call_id": call_id,
            "transport": conversation.transport,
            "server": conversation.server,
            "client": conversation.session.client,
            "direction": "to_client" if to_client else "to_server",
        }

    def _describe(self, event: dict[str, Json], message: Message | None) -> None:
        if message is None or isinstance(message, Response):
            return
        event["method"] = self.name(message.method)
        tool = tool_of(message)
        if tool is not None:
            event["tool"] = self.name(tool)


def _status(response: Response) -> str:
    if response.is_error:
        return "error"
    is_tool_error = isinstance(response.result, dict) and response.result.get("isError") is True
    return "tool_error" if is_tool_error else "result"


def tool_of(message: Request | Notification) -> str | None:
    """Give the name of the tool that a message calls; None when it calls none."""
    tool = (message.params or {}).get("name") if message.method == "tools/call" else None
    return tool if isinstance(tool, str) else None


def _approval(approval: Approval, remember: str | None) -> dict[str, Json]:
    told: dict[str, Json] = {
        "outcome": approval.outcome,
        "approver": approval.approver,
        "by": approval.by,
        "waited_ms": approval.waited_ms,
    }
    if approval.remember:
        told["holds_for"] = remember
    given = approval.given
    if given is not None:
        told["given"] = {
            "approver": given.approver,
            "timestamp": timestamp(given.time),
            "call_id": given.call_id,
        }
    return told
