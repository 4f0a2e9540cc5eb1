"""The questions that an approver has open."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Final

from agentfence.core.effects import Approval
from agentfence.core.values import slotted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.approval.interface import Answered
    from agentfence.approval.prompt import Prompt, Reply
    from agentfence.core.effects import Question

    type Settle = Callable[..., bool]
    """`Waiting.settle`."""
    type Settled = Callable[[Open, Approval], None]

MAX_WAITING: Final = 20
"""A person who has more to answer than this does not read any of it."""
_NAME_LETTERS: Final = "abcdefghijkmnpqrstuvwxyz23456789"
"""32, so that each is as likely."""
_NAME_LENGTH: Final = 5


@slotted
class Open:
    """A question that waits for its answer."""

    id: str
    """What it is answered by, as `k3f9q-7`, the run and the call; never used for another question."""
    question: Question
    answered: Answered
    asked_at: float
    deadline: float
    """When it counts as unanswered; `shown` moves it."""
    is_shown: bool = False
    _prompt: Prompt | None = None

    @property
    def prompt(self) -> Prompt:
        """The question as a person sees it, made once: arguments may be large, and views look often."""
        if self._prompt is None:
            from agentfence.approval.prompt import prompt_for  # most fences are never attended

            self._prompt = prompt_for(self.question)
        return self._prompt


class Waiting:
    """Open questions, oldest first; each is answered once. Any thread may use it.

    A question's time begins when it is first shown. One that is never shown waits for as long as all
    questions before it may take. Where all places are taken, the agent with the most gives up that of
    its newest question for one with fewer.
    """

    def __init__(
        self,
        approver: str,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
        settled: Settled | None = None,
    ) -> None:
        """Take the approver's name, and how long a question waits once it is shown, in seconds.

        `settled` is told of each question that has its answer.
        """
        self.run = "".join(_NAME_LETTERS[octet % len(_NAME_LETTERS)] for octet in os.urandom(_NAME_LENGTH))
        self.timeout = timeout
        self._approver = approver
        self._clock = clock
        self._settled = settled
        self._open: dict[str, Open] = {}
        self._numbers = count(2)
        self._latest_call = -1
        self._lock = threading.Lock()

    def add(self, question: Question, answered: Answered) -> Open | None:
        """Let `question` wait; None when too many do, which is then its answer."""
        crowding = self._crowding(question.owner)
        if crowding is not None:
            self.settle(crowding.question.call_id, "queue_full", only=crowding)
        now = self._clock()
        with self._lock:
            opened = Open(self._new_id(question), question, answered, now, now + self.timeout * MAX_WAITING)
            has_room = len(self._open) < MAX_WAITING
            if has_room:
                self._open[question.call_id] = opened
        if not has_room:
            answered(Approval("queue_full", self._approver))
            return None
        return opened

    def _crowding(self, owner: str) -> Open | None:
        """Give the question that has to go for one of this owner, where all places are taken."""
        questions = self.questions()
        held = Counter(opened.question.owner for opened in questions)
        if len(questions) < MAX_WAITING or max(held.values()) - held[owner] < 2:
            return None
        return max(reversed(questions), key=lambda opened: held[opened.question.owner])

    def _new_id(self, question: Question) -> str:
        """Give an id that no other question has: some calls are asked about more than once."""
        call = int(question.call_id.removeprefix("call-"))
        if call <= self._latest_call:
            return f"{self.run}-{call}.{next(self._numbers)}"
        self._latest_call = call
        return f"{self.run}-{call}"

    def find(self, call_id: str) -> Open | None:
        """Give the open question about a call; None when it is answered."""
        with self._lock:
            return self._open.get(call_id)

    def find_question(self, id_: str) -> Open | None:
        """Give the open question of that id; None when it is answered."""
        return next((opened for opened in self.questions() if opened.id == id_), None)

    def is_open(self, opened: Open) -> bool:
        """Whether a question still waits."""
        return self.find(opened.question.call_id) is opened

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
        only: Open | None = None,
        by: str | None = None,
        remember: bool = False,
        advice: str | None = None,
    ) -> bool:
        """Answer the question about a call, or `only` this one about it.

        False when it had its answer already, and then this one counts for nothing.
        """
        with self._lock:
            waiting = self._open.get(call_id)
            if waiting is None or (only is not None and waiting is not only):
                return False
            del self._open[call_id]
        approval = Approval(outcome, self._approver, by, self.waited_ms(waiting), remember, advice)
        waiting.answered(approval)
        if self._settled is not None:
            self._settled(waiting, approval)
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
        return "the policy does not let an approval hold for the session, or not for a mere address"
    outcome = "denied" if reply is Reply.DENY else "approved"
    if not settle(opened.question.call_id, outcome, only=opened, by=by, remember=remember):
        return "it was answered a moment ago"
    return None
