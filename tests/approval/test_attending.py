"""All fences of a user are found, and their questions answered, as they come and go."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from approval.questions import QUESTION, Asker, ask_about

from agentfence.approval import attending
from agentfence.approval.attending import Fences
from agentfence.approval.prompt import Reply, prompt_for
from agentfence.approval.queue import QueueApprover
from agentfence.approval.queue_folder import make_folder
from agentfence.approval.queue_messages import Asked, Hello, Settled, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Callable[[], QueueApprover]]:
    started: list[QueueApprover] = []

    def start() -> QueueApprover:
        started.append(QueueApprover(make_folder(environment), 50))
        return started[-1]

    yield start
    for approver in started:
        approver.close()


def attend(environment: dict[str, str], *approvers: QueueApprover) -> Fences:
    fences = Fences(environment, attends=True)
    fences.look()
    until(lambda: all(approver.is_attended for approver in approvers))
    return fences


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ask(approver: QueueApprover, asker: Asker, number: int) -> str:
    question = ask_about(number)
    approver.ask(question, asker.answered(question))
    return f"{approver.fence}-{number}"


def wait_for(fences: Fences, count: int) -> list[str]:
    """The ids of what waits, once it is so many."""
    until(lambda: fences.receive(0.1) is not None and len(fences.waiting) == count)
    return [waiting.asked.id for waiting in fences.waiting]


def test_questions_of_two_fences_are_answered(
    environment: dict[str, str], start: Callable[[], QueueApprover]
) -> None:
    one, other, asker = start(), start(), Asker()
    fences = attend(environment, one, other)
    ids = [ask(one, asker, 1), ask(other, asker, 1)]

    assert sorted(wait_for(fences, 2)) == sorted(ids)
    assert fences.say(ids[1], Reply.DENY) is None
    assert asker.next()[1].outcome == "denied"
    assert fences.say(ids[0], Reply.APPROVE) is None
    assert asker.next()[1].outcome == "approved"
    assert wait_for(fences, 0) == []
    assert "answered already" in str(fences.say(ids[0], Reply.APPROVE))
    fences.close()


def test_fence_that_starts_later_is_found(
    environment: dict[str, str], start: Callable[[], QueueApprover], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attending, "_LOOK_SECONDS", 0.05)
    fences, asker = attend(environment), Asker()
    late = start()
    until(lambda: fences.receive(0.1) is not None and late.is_attended)
    id_ = ask(late, asker, 3)

    assert wait_for(fences, 1) == [id_]
    fences.close()


def test_fence_ends(environment: dict[str, str], start: Callable[[], QueueApprover]) -> None:
    approver, asker = start(), Asker()
    fences = attend(environment, approver)
    id_ = ask(approver, asker, 1)
    wait_for(fences, 1)
    approver.close()
    said: list[object] = []
    until(lambda: bool(said.extend(fences.receive(0.1)[0]) or said))

    assert said == [Settled(id_, "gone", None)]
    assert (len(fences), fences.waiting) == (0, [])
    assert fences.say(id_, Reply.APPROVE) == attending.NO_FENCE


def test_time_begins_when_it_is_shown(
    environment: dict[str, str], start: Callable[[], QueueApprover], monkeypatch: pytest.MonkeyPatch
) -> None:
    approver, asker = start(), Asker()
    monkeypatch.setattr(approver.waiting, "timeout", 0.05)
    fences = attend(environment, approver)
    id_ = ask(approver, asker, 1)
    wait_for(fences, 1)
    assert asker.has_none
    fences.show(id_)

    assert asker.next()[1].outcome == "timeout"
    fences.close()


def test_looking_makes_nobody_be_there(
    environment: dict[str, str], start: Callable[[], QueueApprover]
) -> None:
    approver, asker = start(), Asker()
    person = attend(environment, approver)
    id_ = ask(approver, asker, 1)
    looker = Fences(environment, attends=False)
    looker.look_once()
    assert [waiting.asked.id for waiting in looker.waiting] == [id_]
    person.close()

    assert asker.next()[1].outcome == "no_approver"
    looker.close()


def test_socket_of_a_fence_that_died_is_cleared_away(environment: dict[str, str]) -> None:
    path = Path(make_folder(environment), "dead1.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    fences = attend(environment)

    assert len(fences) == 0
    assert not path.exists()


_OTHERS = line_of(Asked("other-1", 0, prompt_for(QUESTION)))
HOSTILE = {
    "a question before the greeting": line_of(Asked("liar1-1", 0, prompt_for(QUESTION))),
    "a question of another fence": line_of(Hello("liar1", 1, 50)) + _OTHERS,
    "a question of another fence under its name": line_of(Hello("other", 1, 50)) + _OTHERS,
    "garbage": b"\x00\xff\n",
    "a message of the other side": b'{"type":"attend"}\n',
    "a line without end": b"x" * 300_000,
    "nothing": b"",
}


@pytest.mark.parametrize("said", HOSTILE)
def test_fence_talks_something_else(said: str, environment: dict[str, str]) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{make_folder(environment)}/liar1.sock")
        listener.listen()
        fences = attend(environment)
        connection, _ = listener.accept()

        def talk() -> None:
            with connection:
                connection.sendall(HOSTILE[said] + b"\n")

        speaker = threading.Thread(target=talk)
        speaker.start()
        until(lambda: fences.receive(0.1) is not None and len(fences) == 0)
        speaker.join()

    assert fences.waiting == []


def test_fence_of_somebody_else_is_not_asked(
    environment: dict[str, str], start: Callable[[], QueueApprover], monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    monkeypatch.setattr(attending, "peer_of", lambda _: (os.getuid() + 1, 1))

    assert len(attend(environment)) == 0


def test_fence_that_does_not_answer_is_given_up(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attending, "_ANSWER_SECONDS", 0.3)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{make_folder(environment)}/mute1.sock")
        listener.listen()
        fences = Fences(environment, attends=False)
        fences.look_once()

        assert fences.say("mute1-1", Reply.APPROVE) == attending.NO_ANSWER
    fences.close()
