"""The gate: a message in, effects out, the same for every surface.

What an agent sends comes through here, what a server sends through `answers.py`. A surface hands over
bytes with the conversation that they belong to, and carries out what comes back; when a person was
asked, it hands over their answer.

Invariants
- Any bytes give effects; nothing here raises.
- Bytes that go on are the judged ones, unchanged.
- A request gets one answer with its id: the server's, or one made here.
- Every judged or refused message has its `Record` before its `Forward` or `Answer`.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

from agentfence.core import outcomes, refusals
from agentfence.core.batches import judge_batch, refuse_batch
from agentfence.core.decision import Decision
from agentfence.core.effects import Answer, Drop, Record
from agentfence.core.envelope import Batch, Oversize, Single, messages_in, read_envelope
from agentfence.core.events import Events
from agentfence.core.gate_settings import OnUnparsed
from agentfence.core.jsonrpc import Request, error_answer
from agentfence.core.judging import judge
from agentfence.core.message_revision import header_refusal, revision_of
from agentfence.core.observing import observe_call
from agentfence.core.pending import Arrival, Judged, Pending
from agentfence.core.policy.model import Verdict
from agentfence.core.refusals import Refusal
from agentfence.core.refusing import refuse_unrecorded
from agentfence.core.revisions import Kind, code_for
from agentfence.core.session import Transport
from agentfence.core.unparsed import is_other_json

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.effects import Approval, Effects
    from agentfence.core.engine import Engine
    from agentfence.core.envelope import Unparsed
    from agentfence.core.gate_settings import GateSettings
    from agentfence.core.http.message import Headers, HttpRefusal
    from agentfence.core.jsonrpc import Id, Message
    from agentfence.core.policy.model import Mode
    from agentfence.core.redaction import Redactor
    from agentfence.core.session import Conversation

_OTHER_JSON = Decision(Verdict.ALLOW, "unparsed", "JSON that is no message passes: on_unparsed", "protocol")
_FAILED = "AgentFence failed on this message and did not send it on; see its own output"


class Gate:
    """Judges every message of a run by one policy."""

    def __init__(self, engine: Engine, settings: GateSettings, redactor: Redactor) -> None:
        """Take the engine with its policy, what was set, and what keeps secrets out of the log."""
        self.engine = engine
        self.settings = settings
        self.events = Events(engine.policy, redactor)
        self._numbers = count(1)

    def adopt(self, engine: Engine, redactor: Redactor) -> None:
        """Judge by another policy from now on; what sessions and conversations hold stays."""
        self.engine = engine
        self.events = Events(engine.policy, redactor)

    @property
    def mode(self) -> Mode:
        """Whether verdicts are carried out; a given option wins over the policy."""
        return self.settings.mode or self.engine.policy.mode

    def next_call_id(self) -> str:
        """Give a name for a message that the log, the answer and the prompt share."""
        return f"call-{next(self._numbers)}"

    def client_message(
        self,
        body: bytes,
        conversation: Conversation,
        circumstances: Circumstances,
        headers: Headers | None = None,
    ) -> Effects:
        """Judge what an agent sends: one line, or the body of one POST with its `headers`."""
        limits = self.settings
        envelope = read_envelope(body, max_body=limits.max_body, max_batch=limits.max_batch)
        arrival = Arrival(body, conversation, circumstances, headers)
        if isinstance(envelope, Single):
            return self._single(envelope.message, arrival)
        if isinstance(envelope, Batch):
            return self._batch(envelope, arrival)
        if isinstance(envelope, Oversize):
            return self.refuse_oversize(conversation, circumstances, headers)
        return self._unparsed(envelope, arrival)

    def resolve(self, pending: Pending, approval: Approval, circumstances: Circumstances) -> Effects:
        """Go on with what a person, or nobody, said to the first open question of `pending`."""
        return outcomes.resolve(self, pending, approval, circumstances)

    def unrecorded(self, pending: Pending) -> Effects:
        """Say what to do with messages whose event could not be written."""
        return refuse_unrecorded(pending)

    def refuse_oversize(
        self,
        conversation: Conversation,
        circumstances: Circumstances,
        headers: Headers | None = None,
        *,
        limit_of_head: str | None = None,
    ) -> Effects:
        """Refuse a body or line over `max_body`, or a head of HTTP over its own limit."""
        code = code_for(Kind.OVERSIZE, revision_of((), conversation, headers))
        limit = limit_of_head or f"{self.settings.max_body} bytes (max_body)"
        status = 413 if limit_of_head is None else 431
        text = f"the message is over the limit of {limit}"
        return self._refuse(Refusal(code, "oversize", text, status, close=True), conversation, circumstances)

    def refuse_exchange(
        self, refusal: HttpRefusal, conversation: Conversation, circumstances: Circumstances
    ) -> Effects:
        """Refuse an HTTP request for what its head says."""
        return self._refuse(Refusal.of_exchange(refusal), conversation, circumstances)

    def refuse_unlisted(
        self,
        body: bytes,
        refusal: HttpRefusal,
        conversation: Conversation,
        circumstances: Circumstances,
        headers: Headers,
    ) -> Effects:
        """Refuse what is posted to a host that the policy does not name.

        One message is answered as the policy's refusals are, as other statuses end sessions of clients
        for good, with all that they have to other servers.
        """
        limits = self.settings
        envelope = read_envelope(body, max_body=limits.max_body, max_batch=limits.max_batch)
        if not isinstance(envelope, Single):
            return self.refuse_exchange(refusal, conversation, circumstances)
        message = envelope.message
        code = code_for(Kind.BLOCKED, revision_of((message,), conversation, headers))
        answered = Refusal(code, refusal.reason_code, refusal.message)
        record, answer = self._refuse(answered, conversation, circumstances, message)
        return (record, answer if isinstance(message, Request) else Drop())

    def internal_failure(
        self, body: bytes, conversation: Conversation, circumstances: Circumstances
    ) -> Effects:
        """Refuse a message on which the fence itself failed, with its id where that can be read."""
        envelope = read_envelope(body, max_body=len(body), max_batch=self.settings.max_batch)
        messages = messages_in(envelope)
        ids: list[Id | None] = [message.id for message in messages if isinstance(message, Request)]
        for id_ in ids:
            conversation.from_client.end(id_)
        call_id, time = self.next_call_id(), circumstances.time
        record = Record(
            self.events.refused(conversation, time, call_id, "internal_error", _FAILED, to_client=False)
        )
        if messages and not ids:
            return (record, Drop())
        revision = revision_of(messages, conversation, None)
        answers = [
            refusals.internal_answer(id_, revision, _FAILED, "internal_error", call_id)
            for id_ in ids or [None]
        ]
        is_batch = isinstance(envelope, Batch) and bool(ids)
        return (record, Answer(refusals.batch_answer(answers) if is_batch else answers[0]))

    def _single(self, message: Message, arrival: Arrival) -> Effects:
        conversation, circumstances = arrival.conversation, arrival.circumstances
        conversation.spoken = revision = revision_of((message,), conversation, arrival.headers)
        if arrival.headers is not None:
            mismatch = header_refusal((message,), revision, conversation, arrival.headers)
            if mismatch is not None:
                return self._refuse(Refusal.of_exchange(mismatch), conversation, circumstances, message)
        member = judge(self, message, conversation, circumstances)
        digest = self.engine.policy.digest
        pending = Pending(
            (member,), arrival.body, conversation, revision, circumstances, policy_digest=digest
        )
        effects = outcomes.settle(self, pending, circumstances.time)
        return self._told(effects, pending) if self.engine.policy.validate_arguments else effects

    def _batch(self, batch: Batch, arrival: Arrival) -> Effects:
        conversation, circumstances = arrival.conversation, arrival.circumstances
        messages = messages_in(batch)
        conversation.spoken = revision = revision_of(messages, conversation, arrival.headers)
        refusal = refuse_batch(batch, revision, self.settings)
        if refusal is None and arrival.headers is not None:
            mismatch = header_refusal(messages, revision, conversation, arrival.headers, is_batch=True)
            refusal = None if mismatch is None else Refusal.of_exchange(mismatch)
        if refusal is not None:
            return self._refuse(refusal, conversation, circumstances)
        members = judge_batch(self, batch, conversation, circumstances)
        digest = self.engine.policy.digest
        pending = Pending(
            members,
            arrival.body,
            conversation,
            revision,
            circumstances,
            is_batch=True,
            policy_digest=digest,
        )
        effects = outcomes.settle(self, pending, circumstances.time)
        return self._told(effects, pending) if self.engine.policy.validate_arguments else effects

    def _told(self, effects: Effects, pending: Pending) -> Effects:
        """Give effects behind what the log must know of the called tools."""
        conversation, time = pending.conversation, pending.circumstances.time
        notes = (observe_call(self, conversation, member, time) for member in pending.members)
        return (*chain.from_iterable(notes), *effects)

    def _unparsed(self, unparsed: Unparsed, arrival: Arrival) -> Effects:
        conversation, circumstances = arrival.conversation, arrival.circumstances
        passes = (
            conversation.transport is Transport.HTTP
            and self.settings.on_unparsed is OnUnparsed.FORWARD
            and is_other_json(arrival.body)
        )
        if not passes:
            refusal = Refusal(unparsed.code, "unparsed", unparsed.problem, 400)
            return self._refuse(refusal, conversation, circumstances)
        member = Judged(self.next_call_id(), None, _OTHER_JSON)
        pending = Pending((member,), arrival.body, conversation, conversation.spoken, circumstances)
        return outcomes.settle(self, pending, circumstances.time)

    def _refuse(
        self,
        refusal: Refusal,
        conversation: Conversation,
        circumstances: Circumstances,
        message: Message | None = None,
    ) -> tuple[Record, Answer]:
        """Refuse what was never put to the policy; `message` where it is known."""
        call_id, reason_code = self.next_call_id(), refusal.reason_code
        event = self.events.refused(
            conversation,
            circumstances.time,
            call_id,
            reason_code,
            refusal.text,
            to_client=False,
            message=message,
        )
        id_ = message.id if isinstance(message, Request) else None
        data = refusals.details("deny", reason_code, None, call_id)
        body = error_answer(id_, refusal.code, refusal.text, data)
        return (Record(event), Answer(body, refusal.status, refusal.close, refusal.headers))
