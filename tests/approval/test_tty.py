"""Questions on a terminal: one at a time, answered by what is typed after they are shown and by nothing else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from approval.questions import Asker, ask_about

from agentfence.approval import tty as tty_module
from agentfence.approval.terminal import Terminal
from agentfence.approval.tty import TtyApprover
from agentfence.approval.waiting import MAX_WAITING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Front(Terminal):
    """A terminal that this process is in front of, though it is not its controlling one."""

    is_ours = True  # type: ignore[assignment]


class Person:
    """Reads and types at the other side of the terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.seen = ""

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, text: str, timeout: float = 10.0) -> str:
        """All that was shown since the last call, once `text` is in it."""
        end = time.monotonic() + timeout
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            self.read(0.1)
        seen, self.seen = self.seen, ""
        return seen

    def wait_for_question(self) -> str:
        """All that was shown, once a question stands there and what was typed before it is discarded."""
        seen = self.wait_for("denies) ")
        time.sleep(0.15)
        return seen

    def read(self, seconds: float) -> None:
        if select.select([self._descriptor], [], [], seconds)[0]:
            self.seen += os.read(self._descriptor, 65_536).decode()


class Desk:
    """A terminal, the person at it, and approvers that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        descriptor, self.device = pty.openpty()
        self.person = Person(descriptor)
        self.approvers: list[TtyApprover] = []

    def approver(self, timeout: float = 50, kind: type[Terminal] = Front) -> TtyApprover:
        approver = TtyApprover(kind(os.ttyname(self.device)), timeout, self.folder)
        self.approvers.append(approver)
        return approver


@pytest.fixture(autouse=True)
def _everybody_reads_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tty_module, "READING_SECONDS", 0.0)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    for approver in desk.approvers:
        approver.close()
        assert not approver._thread.is_alive()


def ask(approver: TtyApprover, asker: Asker, number: int = 7, **changes: object) -> None:
    question = ask_about(number, **changes)
    approver.ask(question, asker.answered(question))


@pytest.mark.parametrize(
    ("typed", "outcome"),
    [("y\n", "approved"), ("YES\n", "approved"), ("n\n", "denied"), ("\n", "denied"), ("\x04", "denied")],
)
def test_person_answers(typed: str, outcome: str, desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker)
    shown = desk.person.wait_for_question()
    desk.person.type(typed)

    call_id, approval = asker.next()
    assert (call_id, approval.outcome, approval.approver) == ("call-7", outcome, "tty")
    assert approval.by
    assert not approval.remember
    assert '|   "path": "docs/a.md"' in shown


def test_person_types_nonsense_first(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker)
    desk.person.wait_for_question()
    desk.person.type("what?\n")
    desk.person.wait_for("please type y or n")
    assert asker.has_none
    desk.person.type("y\n")

    assert asker.next()[1].outcome == "approved"


def test_person_approves_for_the_session(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, remember="tool")
    assert "s = yes, and for the session" in desk.person.wait_for_question()
    desk.person.type("s\n")

    assert asker.next()[1].remember


def test_one_question_at_a_time(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, 1)
    ask(approver, asker, 2)
    first = desk.person.wait_for_question()
    desk.person.type("y\n")
    assert asker.next()[0] == "call-1"
    second = desk.person.wait_for_question()
    desk.person.type("n\n")

    assert ("call-1" in first, "call-2" in first, "call-2" in second) == (True, False, True)
    assert asker.next()[0] == "call-2"


def test_what_is_typed_before_it_can_be_read_answers_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, 1)
    ask(approver, asker, 2)
    desk.person.wait_for_question()
    monkeypatch.setattr(tty_module, "READING_SECONDS", 3.0)
    desk.person.type("y\n")
    assert asker.next()[0] == "call-1"
    desk.person.wait_for("denies) ")
    desk.person.type("y\n")  # as an impatient person types it twice
    desk.person.wait_for("please type y or n")

    assert asker.has_none
    desk.person.type("n\n")
    assert asker.next()[1].outcome == "denied"


def test_what_is_typed_ahead_answers_nothing(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    desk.person.type("y\ny\ny\n")
    time.sleep(0.1)
    ask(approver, asker)
    desk.person.wait_for_question()
    time.sleep(0.3)

    assert asker.has_none


def test_both_answers_typed_at_once_count_for_the_first_alone(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, 1)
    ask(approver, asker, 2)
    desk.person.wait_for_question()
    desk.person.type("y\ny\n")
    assert asker.next()[0] == "call-1"
    desk.person.wait_for_question()
    time.sleep(0.3)

    assert asker.has_none


def test_nobody_answers_and_a_late_answer_counts_for_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    approver, asker = desk.approver(timeout=0.6), Asker()
    ask(approver, asker, 1)
    desk.person.wait_for_question()
    desk.person.type("y")  # and the end of the line too late
    assert asker.next()[1].outcome == "timeout"
    desk.person.wait_for("was denied")
    monkeypatch.setattr(approver._waiting, "timeout", 50)
    ask(approver, asker, 2)
    desk.person.wait_for_question()
    desk.person.type("\ny\n")
    time.sleep(tty_module.SETTLING_SECONDS + 0.3)

    assert asker.has_none
    desk.person.type("y\n")
    assert asker.next()[1].outcome == "approved"


def test_question_is_withdrawn_while_it_stands_there(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, 1)
    desk.person.wait_for_question()
    approver.withdraw("call-1")

    assert asker.next()[1].outcome == "cancelled"
    desk.person.wait_for("ended without an answer")


def test_question_is_withdrawn_before_its_turn(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, 1)
    ask(approver, asker, 2)
    desk.person.wait_for_question()
    approver.withdraw("call-2")
    assert asker.next()[0] == "call-2"
    desk.person.type("y\n")
    assert asker.next()[0] == "call-1"


def test_time_begins_when_the_question_is_shown(desk: Desk) -> None:
    approver, asker = desk.approver(timeout=2.0), Asker()
    ask(approver, asker, 1)
    ask(approver, asker, 2)
    desk.person.wait_for_question()
    time.sleep(0.7)
    desk.person.type("y\n")
    asker.next()
    desk.person.wait_for_question()
    time.sleep(0.7)

    assert asker.has_none
    desk.person.type("y\n")
    assert asker.next()[1].outcome == "approved"


def test_fences_that_share_a_terminal_take_turns(desk: Desk) -> None:
    one, other, asker = desk.approver(), desk.approver(), Asker()
    ask(one, asker, 1)
    desk.person.wait_for_question()
    ask(other, asker, 2)
    desk.person.read(0.5)
    assert desk.person.seen == ""
    desk.person.type("y\n")
    assert asker.next()[0] == "call-1"
    assert "call-2" in desk.person.wait_for_question()
    desk.person.type("n\n")
    assert asker.next()[1].outcome == "denied"


def test_question_that_waits_for_the_terminal_is_withdrawn(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    with lock_of(approver):
        ask(approver, asker)
        time.sleep(0.3)
        approver.withdraw("call-7")
        assert asker.next()[1].outcome == "cancelled"
    desk.person.read(0.3)

    assert desk.person.seen == ""


@contextmanager
def lock_of(approver: TtyApprover) -> Iterator[None]:
    with approver._lock_file.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_another_program_is_in_front(desk: Desk) -> None:
    class Behind(Terminal):
        is_ours = False  # type: ignore[assignment]

    approver, asker = desk.approver(kind=Behind), Asker()
    ask(approver, asker)

    approval = asker.next()[1]
    assert approval.outcome == "no_approver"
    assert "agentfence approvals" in (approval.advice or "")


def test_terminal_fails(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    approver, asker = desk.approver(), Asker()
    monkeypatch.setattr(approver._terminal, "in_lines", lambda: 1 / 0)
    ask(approver, asker)

    assert asker.next()[1].outcome == "io_error"


def test_terminal_that_is_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    approver, asker = desk.approver(timeout=0.2), Asker()
    monkeypatch.setattr(approver._terminal, "put", lambda *_: False)
    ask(approver, asker)

    assert asker.next()[1].outcome == "timeout"


def test_too_many_questions_wait(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    for number in range(MAX_WAITING + 1):
        ask(approver, asker, number)

    assert asker.next()[1].outcome == "queue_full"


def test_fence_ends_while_a_question_stands_there(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker)
    desk.person.wait_for_question()
    approver.close()

    assert asker.next()[1].outcome == "cancelled"


def test_asking_does_not_wait(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    with lock_of(approver):
        began = time.monotonic()
        ask(approver, asker)
        assert time.monotonic() - began < 1
        assert threading.current_thread() is threading.main_thread()


def test_arguments_are_not_obeyed(desk: Desk) -> None:
    approver, asker = desk.approver(), Asker()
    ask(approver, asker, arguments={"a\x1b[2J": "\x1b]0;x\x07\u202e"}, tool="t\x1b[8m", reason="r\x9b0m")
    shown = desk.person.wait_for_question()

    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", shown)
    desk.person.type("n\n")
    asker.next()
