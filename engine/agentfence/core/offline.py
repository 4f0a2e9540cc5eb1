"""Recorded calls and what the policy says of them: no server, no agent, nothing is sent.

All calls of a run are one session, so that rates and remembered approvals hold across them.

Invariants
- What is shown or written of a call (id, tool, reason, event) holds no secret.
- What cannot be judged is denied.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.approvals import outcome_code, outcome_text, remember, with_known_outcomes
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Approval
from agentfence.core.engine import Call, Engine
from agentfence.core.events import Events
from agentfence.core.pending import Judged, Pending
from agentfence.core.pins import NOTHING_PINNED
from agentfence.core.policy.model import Verdict
from agentfence.core.questions import question_about
from agentfence.core.session import Conversation, Session, Transport
from agentfence.core.written_requests import decide_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.decision import Decision
    from agentfence.core.effects import Event, Question
    from agentfence.core.pins import Lock
    from agentfence.core.policy.model import Policy
    from agentfence.core.recorded_calls import RecordedCall
    from agentfence.core.redaction import Redactor

    type Ask = Callable[[Question], Approval]
    """Asks a person and waits for the answer."""

_MOST_REMEMBERED = 4_096
_LONGEST_REMEMBERED = 1_024
"""Longer names are cut: what is kept of a run must stay small, whatever stands in it."""
_MOST_SERVERS = 1_000


class Outcome(NamedTuple):
    """What became of one record; fit to be shown. A named tuple for speed, as `RecordedCall`."""

    id: str
    tool: str
    """Empty for what calls none."""
    decision: Verdict
    """With the answer of whoever was asked; `ask` only when nobody was to be asked."""
    reason_code: str
    reason: str


class OfflineJudge:
    """Judges the records of one run, in their order."""

    def __init__(
        self, policy: Policy, redactor: Redactor, asks: Ask | Approval | None, lock: Lock = NOTHING_PINNED
    ) -> None:
        """Take the policy, what keeps secrets out, and who is asked.

        `asks` is an `Approval` where every question has the same answer, None where `ask` is left as it is.
        """
        self._engine = Engine(policy, lock)
        self._redactor = redactor
        self._events = Events(policy, redactor)
        self._asks = asks
        self._session = Session("offline", is_identified=True)
        self._conversations: dict[str | None, Conversation] = {}
        self._shown: dict[str, str] = {}
        self._numbers = count(1)

    def judge(
        self, call: RecordedCall, circumstances: Circumstances, now: float | None = None
    ) -> tuple[Outcome, Event | None]:
        """Give what becomes of a call and, for a log that is written `now`, its event."""
        subject, session = call.subject, self._session
        if isinstance(subject, Call):
            decision, tool = (
                self._engine.decide_call(subject, session, circumstances),
                self._show(subject.tool),
            )
        else:
            decision, tool = decide_request(self._engine, subject, call.server, session, circumstances), ""
        verdict, code, reason = decision.verdict, decision.reason_code, decision.reason
        approval: Approval | None = None
        if verdict is Verdict.ASK and self._asks is not None:
            approval = self._approval(call, decision, circumstances, self._asks)
            verdict = Verdict.ALLOW if approval.is_approved else Verdict.DENY
            code, reason = outcome_code(approval), f"{reason}; {outcome_text(approval)}"
        outcome = Outcome(self._show_id(call.id), tool, verdict, code, self._show(reason))
        if now is None:
            return outcome, None
        return outcome, self._event(outcome, call, decision, approval, now)

    def refuse(
        self, id_: str, reason_code: str, reason: str, now: float | None = None
    ) -> tuple[Outcome, Event | None]:
        """Give what becomes of a record that cannot be judged, and its event as `judge` does."""
        reason = self._redactor.text(reason)
        outcome = Outcome(self._show_id(id_), "", Verdict.DENY, reason_code, reason)
        if now is None:
            return outcome, None
        call_id = self._next_call_id()
        conversation = self._conversation(None)
        event = self._events.refused(conversation, now, call_id, reason_code, reason, to_client=False)
        return outcome, {**event, "request_id": outcome.id, "mode": self._mode}

    @property
    def _mode(self) -> str:
        return "dry_run" if self._asks is None else "audit_only"

    def _approval(
        self, call: RecordedCall, decision: Decision, circumstances: Circumstances, asks: Ask | Approval
    ) -> Approval:
        """Give the one answer, else a remembered approval, else what a person says now."""
        if isinstance(asks, Approval):
            return asks
        pending = with_known_outcomes(self._pending(call, decision, circumstances))
        (member,) = pending.members
        if member.approval is not None:
            return member.approval
        approval = asks(question_about(member, pending.conversation, self._events))
        return remember(member, approval, pending, circumstances.time)

    def _event(
        self, outcome: Outcome, call: RecordedCall, decision: Decision, approval: Approval | None, now: float
    ) -> Event:
        pending = self._pending(call, decision, Circumstances(now), approval)
        return self._events.judged(
            pending.members[0],
            pending,
            self._mode,
            decision=outcome.decision,
            reason=outcome.reason,
            time=now,
        )

    def _pending(
        self,
        call: RecordedCall,
        decision: Decision,
        circumstances: Circumstances,
        approval: Approval | None = None,
    ) -> Pending:
        """Give a judged call as the gate would have it."""
        conversation = self._conversation(call.server)
        member = Judged(self._next_call_id(), call.request, decision, call.id, approval)
        return Pending((member,), b"", conversation, conversation.revision, circumstances)

    def _next_call_id(self) -> str:
        return f"call-{next(self._numbers)}"

    def _conversation(self, server: str | None) -> Conversation:
        conversation = self._conversations.get(server)
        if conversation is None:
            if len(self._conversations) >= _MOST_SERVERS:
                self._conversations.clear()
            shown = None if server is None else self._show(server)  # a record may name anything as its server
            conversation = self._conversations[server] = Conversation(self._session, Transport.OFFLINE, shown)
        return conversation

    def _show(self, text: str) -> str:
        """Give a name or a reason, which come again and again, without its secrets."""
        shown = self._shown.get(text)
        if shown is None:
            shown = self._events.text(text) if len(text) <= _LONGEST_REMEMBERED else self._events.name(text)
            if len(self._shown) >= _MOST_REMEMBERED:
                self._shown.clear()
            if len(text) <= _LONGEST_REMEMBERED:
                self._shown[text] = shown
        return shown

    def _show_id(self, id_: str) -> str:
        return self._redactor.text(id_)
