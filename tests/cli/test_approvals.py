"""`agentfence approvals`: a list, an answer by id, lines of JSON, and a dialogue in a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from approval.questions import Asker, ask_about
from rich.cells import cell_len

from agentfence.approval.attending import Fences
from agentfence.approval.queue import QueueApprover
from agentfence.approval.queue_folder import make_folder
from agentfence.cli.approvals import client_name
from agentfence.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Fence:
    """A fence with somebody who attends, and somebody who asks."""

    def __init__(self) -> None:
        self.approver = QueueApprover(make_folder(os.environ), 50)
        self.asker = Asker()
        self._attendant = Fences(os.environ, attends=True)
        self._attendant.look()
        wait_until(lambda: self.approver.is_attended)

    def ask(self, number: int, **changes: Any) -> str:
        question = ask_about(number, **changes)
        self.approver.ask(question, self.asker.answered(question))
        return f"{self.approver.fence}-{number}"

    def close(self) -> None:
        self._attendant.close()
        self.approver.close()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def fence() -> Iterator[Fence]:
    fence = Fence()
    yield fence
    fence.close()


def test_list_says_who_what_and_how_long(fence: Fence, capsys: pytest.CaptureFixture[str]) -> None:
    id_ = fence.ask(1, client="user:agent")

    assert main(["approvals", "--list"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["ID", "WHO", "WHAT", "WAITS"]
    assert row.split() == [id_, "user:agent", "files/write_file", "0", "s"]
    assert heading.index("WHAT") == row.index("files/")


@pytest.fixture
def mute() -> Iterator[None]:
    """A fence that does not answer, as one that is stopped."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{make_folder(os.environ)}/mute1.sock")
        listener.listen()
        yield


def test_list_says_that_a_fence_did_not_answer(
    fence: Fence, mute: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentfence.approval.attending._ANSWER_SECONDS", 0.3)
    id_ = fence.ask(1)

    assert main(["approvals", "--list"]) == 1
    told = capsys.readouterr()
    assert id_ in told.out
    assert told.err == "agentfence: fences that did not answer, so that nothing is shown: 1\n"


def test_answer_does_not_wait_for_other_fences(fence: Fence, mute: None) -> None:
    began = time.monotonic()

    assert main(["approvals", "--approve", fence.ask(1)]) == 0
    assert time.monotonic() - began < 4


def test_list_of_nothing(fence: Fence, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", "--list"]) == 0
    assert main(["approvals", "--list", "--json"]) == 0
    assert capsys.readouterr().out == "nothing waits\n"


def test_list_as_json_has_the_whole_question(fence: Fence, capsys: pytest.CaptureFixture[str]) -> None:
    id_ = fence.ask(1)
    main(["approvals", "--list", "--json"])
    (asked,) = map(json.loads, capsys.readouterr().out.splitlines())

    assert (asked["type"], asked["id"], asked["process"]) == ("asked", id_, os.getpid())
    assert json.loads(asked["arguments"]) == {"path": "docs/a.md"}
    assert (asked["rule"], asked["hidden"], asked["remember"]) == ("write_file", 0, None)


@pytest.mark.parametrize(("flag", "outcome"), [("--approve", "approved"), ("--deny", "denied")])
def test_answer_by_id(flag: str, outcome: str, fence: Fence) -> None:
    id_, other = fence.ask(1), fence.ask(2)

    assert main(["approvals", flag, id_]) == 0
    call_id, approval = fence.asker.next()
    assert (call_id, approval.outcome, approval.remember) == ("call-1", outcome, False)
    assert fence.asker.has_none
    assert other


def test_approval_for_the_session(fence: Fence, capsys: pytest.CaptureFixture[str]) -> None:
    once, often = fence.ask(1), fence.ask(2, remember="call")

    assert main(["approvals", "--approve", once, "--session"]) == 1
    assert "does not let" in capsys.readouterr().err
    assert main(["approvals", "--approve", often, "--session"]) == 0
    assert fence.asker.next()[1].remember


@pytest.mark.parametrize("id_", ["", "x", "x-1", "-1"])
def test_id_that_there_is_not(id_: str, fence: Fence, capsys: pytest.CaptureFixture[str]) -> None:
    fence.ask(1)

    assert main(["approvals", "--approve", id_]) != 0
    assert fence.asker.has_none
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments", [["--session"], ["--deny", "x-1", "--session"], ["--list", "--session"]]
)
def test_session_goes_with_approve(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["approvals", *arguments]) == 2
    assert "--session goes with --approve" in capsys.readouterr().err


def test_dialogue_needs_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        assert main(["approvals"]) == 2

    assert "--json" in capsys.readouterr().err


def test_lines_of_json_follow_what_happens() -> None:
    approver, asker = QueueApprover(make_folder(os.environ), 0.3), Asker()
    command = [sys.executable, "-m", "agentfence", "approvals", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            wait_until(lambda: approver.is_attended)
            question = ask_about(1)
            approver.ask(question, asker.answered(question))
            asked, settled = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
        finally:
            process.terminate()
    approver.close()

    id_ = f"{approver.fence}-1"
    assert (asked["type"], asked["id"]) == ("asked", id_)
    assert settled == {"type": "settled", "id": id_, "outcome": "timeout", "by": None}
    assert asker.next()[1].outcome == "timeout"


SHELL = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=0, stderr=0, process_group=0)
print(child.pid, flush=True)
status = child.wait()
sys.exit(status if status >= 0 else 128 - status)
"""


PROGRAM = """
import sys
from agentfence.cli import approvals, main
approvals.READING_SECONDS = {}
sys.exit(main.main())
"""


class Dialogue:
    """`agentfence approvals` in a terminal, and the person there."""

    def __init__(self, reading_seconds: float = 0.0) -> None:
        self._person, device = pty.openpty()
        termios.tcsetwinsize(device, (40, 100))
        # Below another process of its session, as below a shell: else nothing can stop it.
        program = PROGRAM.format(reading_seconds)
        command = [sys.executable, "-c", SHELL, sys.executable, "-c", program, "approvals"]
        self.process = subprocess.Popen(
            command, stdin=device, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout is not None
        self._pid = int(self.process.stdout.readline())
        os.close(device)
        self._seen = ""

    def type(self, text: str) -> None:
        time.sleep(0.2)
        os.write(self._person, text.encode())

    def wait_for(self, text: str) -> str:
        end = time.monotonic() + 20
        while text not in self._seen:
            assert time.monotonic() < end, self._seen
            if select.select([self._person], [], [], 0.1)[0]:
                self._seen += os.read(self._person, 65_536).decode()
        seen, self._seen = self._seen, ""
        return seen

    def send_signal(self, number: int) -> None:
        os.kill(self._pid, number)

    @property
    def is_stopped(self) -> bool:
        return Path(f"/proc/{self._pid}/stat").read_text().rpartition(") ")[2].startswith("T")

    def close(self) -> None:
        if self.process.poll() is None:
            self.send_signal(signal.SIGKILL)
        self.process.communicate()
        os.close(self._person)


@pytest.fixture
def dialogue() -> Iterator[Dialogue]:
    dialogue = Dialogue()
    yield dialogue
    dialogue.close()


@pytest.fixture
def fences(dialogue: Dialogue) -> Iterator[tuple[QueueApprover, QueueApprover]]:
    """Two fences that only the dialogue attends."""
    pair = [QueueApprover(make_folder(os.environ), 50) for _ in range(2)]
    wait_until(lambda: all(approver.is_attended for approver in pair))
    dialogue.wait_for("waiting for questions")
    yield pair[0], pair[1]
    for approver in pair:
        approver.close()


def put(approver: QueueApprover, asker: Asker, number: int, **changes: Any) -> None:
    question = ask_about(number, **changes)
    approver.ask(question, asker.answered(question))


def test_person_answers_two_fences(dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]) -> None:
    asker = Asker()
    put(fences[0], asker, 1, arguments={"a": "\x1b[2J\u202e"})
    shown = dialogue.wait_for("denies) ")
    dialogue.type("y\n")
    assert asker.next()[1].outcome == "approved"
    dialogue.wait_for("-1: approve")
    put(fences[1], asker, 2, remember="tool")
    dialogue.wait_for("s = yes")
    dialogue.type("maybe\n")
    dialogue.wait_for("please type y, n or s")
    dialogue.type("s\n")

    assert asker.next()[1].remember
    assert '"\\u001b[2J\\u{202e}"' in shown
    assert "\x1b" not in shown


def test_one_question_at_a_time_with_a_list_of_what_waits(
    dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]
) -> None:
    asker = Asker()
    put(fences[0], asker, 1)
    dialogue.wait_for("denies) ")
    put(fences[0], asker, 2)
    put(fences[1], asker, 3)
    time.sleep(0.3)
    dialogue.type("n\n")
    assert asker.next()[0] == "call-1"
    listed = dialogue.wait_for("denies) ")
    dialogue.type("n\n")
    dialogue.wait_for("denies) ")
    dialogue.type("n\n")

    assert "WHO" in listed
    assert {asker.next()[0], asker.next()[0]} == {"call-2", "call-3"}


def test_answer_that_is_typed_before_a_question_can_be_read_counts_for_nothing() -> None:
    dialogue, approver, asker = (
        Dialogue(reading_seconds=3.0),
        QueueApprover(make_folder(os.environ), 50),
        Asker(),
    )
    try:
        wait_until(lambda: approver.is_attended)
        put(approver, asker, 1)
        dialogue.wait_for("denies) ")
        dialogue.type("y\n")  # as somebody types who meant it for what stood there before
        dialogue.wait_for("please type y or n")
        assert asker.has_none
        time.sleep(3)
        dialogue.type("n\n")
        assert asker.next()[1].outcome == "denied"
    finally:
        dialogue.close()
        approver.close()


def test_long_names_begin_no_line(dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]) -> None:
    asker = Asker()
    put(fences[0], asker, 1)
    dialogue.wait_for("denies) ")
    name = "x" + " " * 99 + "  tool         read_file" + " " * 300 + "approve?"
    put(fences[0], asker, 2, tool=name, client=f"user:{name}")
    put(fences[1], asker, 3, tool="東" * 90)
    dialogue.type("n\n")
    lines = dialogue.wait_for("denies) ").splitlines()

    assert max(map(cell_len, lines)) < 100
    assert [line for line in lines if "read_file" in line and not line.startswith(" " * 15)] == []
    assert [line for line in lines if "approve?" in line and not line.startswith(" " * 15)] == lines[-1:]


def test_nobody_is_there_while_the_dialogue_is_stopped(
    dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]
) -> None:
    asker = Asker()
    put(fences[0], asker, 1)
    dialogue.wait_for("denies) ")
    dialogue.send_signal(signal.SIGTSTP)  # as ^Z does
    dialogue.wait_for("nobody is there")
    assert asker.next()[1].outcome == "no_approver"
    wait_until(lambda: not fences[1].is_attended)
    put(fences[1], asker, 2)
    assert asker.next()[1].outcome == "no_approver"

    wait_until(lambda: dialogue.is_stopped)  # before, it would not go on
    dialogue.send_signal(signal.SIGCONT)
    wait_until(lambda: all(fence.is_attended for fence in fences))
    put(fences[1], asker, 3)
    dialogue.wait_for("denies) ")
    dialogue.type("y\n")
    assert asker.next()[1].outcome == "approved"


def test_question_ends_while_it_stands_there(
    dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]
) -> None:
    asker = Asker()
    put(fences[0], asker, 1)
    dialogue.wait_for("denies) ")
    fences[0].withdraw("call-1")
    dialogue.wait_for("that question has ended without you: cancelled")
    asker.next()
    put(fences[0], asker, 2)
    dialogue.wait_for("denies) ")
    dialogue.type("y\n")  # too soon to be meant for this one
    time.sleep(1.2)

    assert asker.has_none
    dialogue.type("y\n")
    assert asker.next()[1].outcome == "approved"


def test_person_leaves(dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]) -> None:
    asker = Asker()
    put(fences[0], asker, 1)
    dialogue.wait_for("denies) ")
    dialogue.type("\x04")

    assert asker.next()[1].outcome == "no_approver"
    assert dialogue.process.wait(10) == 0


def test_person_interrupts(dialogue: Dialogue, fences: tuple[QueueApprover, QueueApprover]) -> None:
    dialogue.send_signal(2)

    assert dialogue.process.wait(10) == 130


def test_client_that_started_a_relay_is_named() -> None:
    with open("/proc/self/comm") as file:
        own = file.read().strip()

    assert client_name(f"stdio:{os.getpid()}") == f"stdio:{os.getpid()} ({own})"
    assert client_name("stdio:99999999") == "stdio:99999999"
    assert client_name("stdio:../../etc") == "stdio:../../etc"
    assert client_name("user:eva") == "user:eva"
