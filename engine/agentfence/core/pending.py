"""Messages between their judgement and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.values import frozen, message_value, replace

if TYPE_CHECKING:
    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.decision import Decision
    from agentfence.core.effects import Approval
    from agentfence.core.http.message import Headers
    from agentfence.core.jsonrpc import Id, Message, Response
    from agentfence.core.revisions import Revision
    from agentfence.core.session import Conversation


@message_value
class Arrival:
    """One line, one JSON body or one event, before anything is known of it."""

    body: bytes
    conversation: Conversation
    circumstances: Circumstances
    headers: Headers | None = None
    """Of the POST that brought it from an agent; None on stdio and from servers."""


@frozen
class Violation:
    """Why something may not be sent, whatever the policy says; `code` is JSON-RPC's."""

    code: int
    text: str


@message_value
class Judged:
    """One message, or one entry of a batch, with what was decided so far."""

    call_id: str
    message: Message | None
    decision: Decision
    id: Id | None = None
    """The id to answer; None for what gets no answer."""
    approval: Approval | None = None
    violation: Violation | None = None
    overruled: Approval | None = None
    """What a person said before there was something else to be said; it does not count any more."""

    @property
    def is_open(self) -> bool:
        """Whether a person has yet to be asked."""
        return self.decision.verdict is Verdict.ASK and self.approval is None and self.violation is None

    @property
    def verdict(self) -> Verdict:
        """What was decided, with what a person said to it."""
        if self.approval is None:
            return self.decision.verdict
        return Verdict.ALLOW if self.approval.is_approved else Verdict.DENY

    def is_refused(self, mode: Mode) -> bool:
        """Whether it does not go on. Observing lifts verdicts, but no person's, nor what cannot be judged."""
        if self.violation is not None or (self.approval is not None and not self.approval.is_approved):
            return True
        return mode is Mode.ENFORCE and self.verdict is Verdict.DENY


@message_value
class HeldAnswer:
    """An answer that goes to the agent when everything that it asks of the agent may."""

    call: CallInFlight
    response: Response


@message_value
class Pending:
    """The messages of one body on their way to an outcome."""

    members: tuple[Judged, ...]
    body: bytes
    conversation: Conversation
    revision: Revision
    circumstances: Circumstances
    """When they were judged."""
    is_batch: bool = False
    from_server: bool = False
    answer: HeldAnswer | None = None
    """For an answer of a server whose `members` are the requests in it."""
    policy_digest: str | None = None
    """Of the policy that they were judged by; None where it cannot change."""

    def with_approval(self, position: int, approval: Approval) -> Pending:
        """Give this with what a person said to the member at `position`."""
        members = list(self.members)
        members[position] = replace(members[position], approval=approval)
        return replace(self, members=tuple(members))

    def waiting(self, member: Judged) -> CallInFlight | None:
        """Give the request that waits while `member` is on its way; None when none does (any more)."""
        if self.answer is not None:
            awaited = self.answer.call
            call = self.conversation.from_client.find(awaited.id)
            return call if call is not None and call.call_id == awaited.call_id else None
        calls = self.conversation.calls(from_server=self.from_server)
        call = None if member.id is None else calls.find(member.id)
        return call if call is not None and call.call_id == member.call_id else None
