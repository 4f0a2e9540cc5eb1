"""The approver that asks on the controlling terminal, of the relay or of mitmdump.

One question stands there at a time: a thread puts them, so that neither the relay's loop nor
mitmproxy's waits. Fences that share a terminal take turns by a lock.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import select
import signal
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from agentfence.approval.prompt import (
    READING_SECONDS,
    Reply,
    choices,
    once_more,
    prompt_for,
    read_reply,
    render,
)
from agentfence.approval.terminal import TypedLines, discard_typed, width_of
from agentfence.approval.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentfence.approval.interface import Answered
    from agentfence.approval.prompt import Prompt
    from agentfence.approval.terminal import Terminal
    from agentfence.core.effects import Question

SETTLING_SECONDS: Final = 1.0
"""After a question that went unanswered: what is typed so soon was meant for that one."""
_TURN_SECONDS: Final = 0.2
"""Between looks whether another fence has left the terminal."""
_BEHIND = "another program is in front on this terminal: use --approver queue and `agentfence approvals`"


class TtyApprover:
    """Puts questions on a terminal, one after the other."""

    name = "tty"

    def __init__(self, terminal: Terminal, timeout: float, locks: Path) -> None:
        """Take the terminal, how long a question waits for its answer, and a folder for locks."""
        self._terminal = terminal
        self._waiting = Waiting(self.name, timeout)
        self._lock_file = locks / f"terminal-{os.getsid(0)}.lock"
        self._by = pwd.getpwuid(os.getuid()).pw_name
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._is_closed = False
        self._was_unanswered = False
        self._thread = threading.Thread(target=self._run, name="agentfence-tty", daemon=True)
        self._thread.start()

    def ask(self, question: Question, answered: Answered) -> None:
        """Put `question` when its turn has come."""
        if self._waiting.add(question, answered) is not None:
            self._wake()

    def withdraw(self, call_id: str) -> None:
        """Take a question back, from the terminal too."""
        self._waiting.settle(call_id, "cancelled")
        self._wake()

    def close(self) -> None:
        """Take back all questions, and leave the terminal as it was."""
        self._is_closed = True
        self._waiting.settle_all("cancelled")
        self._wake()
        self._thread.join(SETTLING_SECONDS + _TURN_SECONDS)

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # it has been woken often enough
            os.write(self._wake_write, b"\0")

    def _rest(self, seconds: float | None = None) -> None:
        """Sleep until something has changed."""
        select.select([self._wake_read], [], [], seconds)
        self._forget_wakes()

    def _forget_wakes(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._wake_read, 4096)

    # the thread

    def _run(self) -> None:
        # A job in the background is told to stop when it touches the terminal; it gets an error instead.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
        while not self._is_closed:
            waiting = self._waiting.questions()
            if not waiting:
                self._rest()
                continue
            question = waiting[0].question
            try:
                self._ask_now(question)
            except Exception:  # noqa: BLE001 - the thread's one guard: when in doubt, deny
                self._waiting.settle(question.call_id, "io_error")

    def _ask_now(self, question: Question) -> None:
        with self._turn(question.call_id) as has_turn:
            if not has_turn:
                return
            if not self._terminal.is_ours:
                self._waiting.settle(question.call_id, "no_approver", advice=_BEHIND)
                return
            restore = self._terminal.in_lines()
            try:
                self._put(question, prompt_for(question))
            finally:
                restore()

    @contextmanager
    def _turn(self, call_id: str) -> Iterator[bool]:
        """Take the terminal's lock; False when the question is answered before that."""
        descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            while self._is_open(call_id):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self._rest(_TURN_SECONDS)
                else:
                    yield True
                    return
            yield False
        finally:
            os.close(descriptor)

    def _is_open(self, call_id: str) -> bool:
        """Whether a question still waits; those whose time is over are answered."""
        for expired in self._waiting.expired():
            self._waiting.settle(expired, "timeout")
        return self._waiting.find(call_id) is not None

    def _put(self, question: Question, prompt: Prompt) -> None:
        terminal, call_id, timeout = self._terminal, question.call_id, self._waiting.timeout
        shown = render(prompt, width_of(terminal.descriptor), call_id)
        if not terminal.put(f"\n{shown}{choices(prompt, timeout)}", timeout):
            self._waiting.settle(call_id, "timeout")
            return
        self._waiting.show(call_id)
        self._settle_down(call_id, SETTLING_SECONDS if self._was_unanswered else READING_SECONDS)
        if discard_typed(terminal.descriptor):
            terminal.put(once_more(prompt), 1.0)
        self._was_unanswered = not self._read(call_id, prompt)
        if self._was_unanswered:
            terminal.put("\nAgentFence: this question has ended without an answer, and was denied\n", 1.0)

    def _settle_down(self, call_id: str, seconds: float) -> None:
        """Let a moment pass in which nothing that is typed counts."""
        end = time.monotonic() + seconds
        while self._is_open(call_id) and (left := end - time.monotonic()) > 0:
            self._rest(left)

    def _read(self, call_id: str, prompt: Prompt) -> bool:
        """Wait for what is typed; False when the question ends without."""
        lines = TypedLines()
        while self._is_open(call_id):
            typed = self._terminal.wait(self._wake_read, self._waiting.remaining() or 0.0)
            if typed is None:
                self._forget_wakes()
                continue
            for line in lines.feed(typed or b"\n"):  # the end of the terminal's input denies
                reply = read_reply(line, prompt)
                if reply is None:
                    self._terminal.put(once_more(prompt), 1.0)
                    continue
                remember = reply is Reply.APPROVE_FOR_SESSION
                outcome = "denied" if reply is Reply.DENY else "approved"
                return self._waiting.settle(call_id, outcome, by=self._by, remember=remember)
        return False
