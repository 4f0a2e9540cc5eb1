"""The questions that an approver has open."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from agentfence.core.effects import Approval
from agentfence.core.values import slotted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.approval.interface import Answered
    from agentfence.approval.prompt import Reply
    from agentfence.core.effects import Question

    type Settle = Callable[..., bool]
    """`Waiting.settle`, or what does more than that."""

MAX_WAITING: Final = 20
"""A person who has more to answer than this does not read any of it."""


@slotted
class Open:
    """A question that waits for its answer."""

    question: Question
    answered: Answered
    asked_at: float
    deadline: float
    """When it counts as unanswered; `shown` moves it."""
    is_shown: bool = False


class Waiting:
    """Open questions, oldest first; each is answered once. Any thread may use it.

    A question's time begins when it is first shown. One that is never shown waits for as long as all
    questions before it may take.
    """

    def __init__(self, approver: str, timeout: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the approver's name, and how long a question waits once it is shown, in seconds."""
        self.timeout = timeout
        self._approver = approver
        self._clock = clock
        self._open: dict[str, Open] = {}
        self._lock = threading.Lock()

    def add(self, question: Question, answered: Answered) -> Open | None:
        """Let `question` wait; None when too many do, which is then its answer."""
        now = self._clock()
        opened = Open(question, answered, now, now + self.timeout * MAX_WAITING)
        with self._lock:
            has_room = len(self._open) < MAX_WAITING
            if has_room:
                self._open[question.call_id] = opened
        if not has_room:
            answered(Approval("queue_full", self._approver))
            return None
        return opened

    def find(self, call_id: str) -> Open | None:
        """Give the open question about a call; None when it is answered."""
        with self._lock:
            return self._open.get(call_id)

    def questions(self) -> list[Open]:
        """Give all open questions, oldest first."""
        with self._lock:
            return list(self._open.values())

    def show(self, call_id: str) -> None:
        """Begin the time of a question, as a person sees it now."""
        with self._lock:
            waiting = self._open.get(call_id)
            if waiting is not None and not waiting.is_shown:
                waiting.is_shown = True
                waiting.deadline = self._clock() + self.timeout

    def remaining(self) -> float | None:
        """Give the seconds until the next question runs out; None when none waits."""
        with self._lock:
            deadlines = [waiting.deadline for waiting in self._open.values()]
        return max(0.0, min(deadlines) - self._clock()) if deadlines else None

    def expired(self) -> list[str]:
        """Give the calls whose questions have run out."""
        now = self._clock()
        return [waiting.question.call_id for waiting in self.questions() if waiting.deadline <= now]

    def settle(
        self,
        call_id: str,
        outcome: str,
        *,
        by: str | None = None,
        remember: bool = False,
        advice: str | None = None,
    ) -> bool:
        """Answer a question; False when it had its answer already, and then this one counts for nothing."""
        with self._lock:
            waiting = self._open.pop(call_id, None)
        if waiting is None:
            return False
        approval = Approval(outcome, self._approver, by, self.waited_ms(waiting), remember, advice)
        waiting.answered(approval)
        return True

    def left(self, opened: Open) -> float:
        """Give the seconds until a question counts as unanswered."""
        return max(0.0, opened.deadline - self._clock())

    def waited_ms(self, opened: Open) -> int:
        """Give how long a question has waited."""
        return int((self._clock() - opened.asked_at) * 1000)

    def settle_all(self, outcome: str, advice: str | None = None) -> None:
        """Answer all questions alike."""
        for waiting in self.questions():
            self.settle(waiting.question.call_id, outcome, advice=advice)


def carry_reply(opened: Open | None, reply: Reply, by: str, settle: Settle) -> str | None:
    """Answer a question as a person says; give what is wrong with it, None when it counts."""
    from agentfence.approval.prompt import Reply  # most fences are never attended

    if opened is None:
        return "it is answered already, or there never was such a question"
    remember = reply is Reply.APPROVE_FOR_SESSION
    if remember and opened.question.remember is None:
        return "the policy does not let an approval hold for the session here"
    outcome = "denied" if reply is Reply.DENY else "approved"
    if not settle(opened.question.call_id, outcome, by=by, remember=remember):
        return "it was answered a moment ago"
    return None
