"""Questions at a socket: answered by whoever attends, denied when nobody does, and hostile peers get nothing."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from approval.questions import Asker, ask_about

from agentfence.approval import desk
from agentfence.approval.queue import ADVICE, QueueApprover
from agentfence.approval.waiting import MAX_WAITING
from agentfence.core.effects import Approval

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Peer:
    """A raw connection to a fence."""

    def __init__(self, path: Path) -> None:
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.settimeout(10)
        self.connection.connect(str(path))
        self._file = self.connection.makefile("rb")
        self.hello = self.read()

    def send(self, **members: Any) -> None:
        self.connection.sendall(json.dumps(members).encode() + b"\n")

    def read(self) -> Any:
        line = self._file.readline()
        return json.loads(line) if line else None

    def attend(self) -> Peer:
        self.send(type="attend")
        self.send(type="look")  # its answer says that the fence has heard both
        while self.read() != {"type": "looked"}:
            pass
        return self

    def close(self) -> None:
        self._file.close()
        self.connection.close()


@contextmanager
def attended(folder: Path, timeout: float = 50) -> Iterator[tuple[QueueApprover, Peer, Asker]]:
    approver = QueueApprover(folder, timeout)
    peer = connect(approver, folder).attend()
    try:
        yield approver, peer, Asker()
    finally:
        peer.close()
        approver.close()


def connect(approver: QueueApprover, folder: Path) -> Peer:
    return Peer(folder / f"{approver.fence}.sock")


def ask(approver: QueueApprover, asker: Asker, number: int = 7, **changes: Any) -> str:
    """Ask, and give the id that the question gets."""
    question = ask_about(number, **changes)
    approver.ask(question, asker.answered(question))
    opened = approver.waiting.find(question.call_id)
    return "" if opened is None else opened.id


def test_nobody_attends(tmp_path: Path) -> None:
    approver, asker = QueueApprover(tmp_path, 50), Asker()
    ask(approver, asker)

    assert asker.next() == ("call-7", Approval("no_approver", "queue", advice=ADVICE))
    approver.close()


def test_whoever_only_looks_does_not_attend(tmp_path: Path) -> None:
    approver, asker = QueueApprover(tmp_path, 50), Asker()
    peer = connect(approver, tmp_path)
    peer.send(type="look")
    assert peer.read() == {"type": "looked"}
    ask(approver, asker)

    assert asker.next()[1].outcome == "no_approver"
    peer.close()
    approver.close()


@pytest.mark.parametrize(("reply", "outcome"), [("approve", "approved"), ("deny", "denied")])
def test_attendant_answers(reply: str, outcome: str, tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        id_ = ask(approver, asker)
        asked = peer.read()
        peer.send(type="say", id=id_, reply=reply)

        call_id, approval = asker.next()
        assert (asked["type"], asked["id"], asked["prompt"]["tool"]) == ("asked", id_, "write_file")
        assert (call_id, approval.outcome, approval.approver, approval.remember) == (
            "call-7",
            outcome,
            "queue",
            False,
        )
        assert approval.by is not None
        assert f"(process {os.getpid()})" in approval.by
        assert peer.read() == {"type": "heard", "id": id_, "problem": None}
        assert peer.read() == {"type": "settled", "id": id_, "outcome": outcome, "by": approval.by}


def test_approval_for_the_session_where_the_policy_lets_it(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        once, often = ask(approver, asker, 1), ask(approver, asker, 2, remember="tool")
        peer.read(), peer.read()
        peer.send(type="say", id=once, reply="approve_for_session")
        assert "does not let" in peer.read()["problem"]
        assert asker.has_none
        peer.send(type="say", id=often, reply="approve_for_session")

        call_id, approval = asker.next()
        assert (call_id, approval.outcome, approval.remember) == ("call-2", "approved", True)


def test_answer_that_comes_late_counts_for_nothing(tmp_path: Path) -> None:
    with attended(tmp_path, timeout=0.05) as (approver, peer, asker):
        id_ = ask(approver, asker)
        peer.read()
        peer.send(type="shown", id=id_)
        assert asker.next()[1].outcome == "timeout"
        assert peer.read()["outcome"] == "timeout"
        other = ask(approver, asker, 8)
        peer.read()
        peer.send(type="say", id=id_, reply="approve")

        assert "answered already" in peer.read()["problem"]
        assert asker.has_none
        peer.send(type="say", id=other, reply="approve")
        assert asker.next()[0] == "call-8"


def test_time_does_not_begin_before_the_question_is_shown(tmp_path: Path) -> None:
    with attended(tmp_path, timeout=0.05) as (approver, peer, asker):
        id_ = ask(approver, asker)
        peer.read()
        time.sleep(0.3)

        assert asker.has_none
        peer.send(type="say", id=id_, reply="approve")
        assert asker.next()[1].outcome == "approved"


def test_last_attendant_leaves(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        second = connect(approver, tmp_path).attend()
        ask(approver, asker)
        peer.read(), second.read()
        peer.close()
        time.sleep(0.1)
        assert asker.has_none
        second.close()

        approval = asker.next()[1]
        assert (approval.outcome, approval.advice) == ("no_approver", ADVICE)


def test_question_is_withdrawn(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        id_ = ask(approver, asker)
        peer.read()
        approver.withdraw("call-7")

        assert asker.next()[1].outcome == "cancelled"
        assert peer.read() == {"type": "settled", "id": id_, "outcome": "cancelled", "by": None}


def test_attendant_who_comes_later_is_told_what_waits(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, _, asker):
        id_ = ask(approver, asker)
        second = connect(approver, tmp_path)
        second.send(type="attend")

        assert second.read()["id"] == id_
        second.close()


def test_two_attendants_answer_at_once(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        second = connect(approver, tmp_path).attend()
        id_ = ask(approver, asker)
        peer.send(type="say", id=id_, reply="deny")
        second.send(type="say", id=id_, reply="approve")

        asker.next()
        problems = [heard(peer, id_)["problem"], heard(second, id_)["problem"]]
        assert problems.count(None) == 1
        assert asker.has_none
        second.close()


def heard(peer: Peer, id_: str) -> Any:
    while (message := peer.read())["type"] != "heard":
        pass
    assert message["id"] == id_
    return message


def test_too_many_questions_wait(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, _, asker):
        for number in range(MAX_WAITING + 1):
            ask(approver, asker, number)

        assert asker.next() == (f"call-{MAX_WAITING}", Approval("queue_full", "queue"))
        assert asker.has_none


def test_attendants_are_told_of_a_question_that_had_to_make_room(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        for number in range(MAX_WAITING):
            ask(approver, asker, number)
        asked = [peer.read()["id"] for _ in range(MAX_WAITING)]
        ask(approver, asker, 99, owner="another")

        call_id, approval = asker.next()
        assert (call_id, approval.outcome) == (f"call-{MAX_WAITING - 1}", "queue_full")
        told = [peer.read() for _ in range(2)]
        assert told[0] == {"type": "settled", "id": asked[-1], "outcome": "queue_full", "by": None}
        assert (told[1]["type"], told[1]["id"][-3:]) == ("asked", "-99")


def test_fence_ends(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        ask(approver, asker)
        peer.read()
        approver.close()

        assert asker.next()[1].outcome == "cancelled"
        assert peer.read() is None
        assert list(tmp_path.iterdir()) == []
        ask(approver, asker, 8)
        assert asker.next()[1].outcome == "no_approver"
        approver.withdraw("call-8")
        approver.close()


GARBAGE = {
    "nothing": b"\n",
    "no JSON": b"hello\n",
    "another message": b'{"type":"settled","id":"x","outcome":"approved","by":null}\n',
    "more members": b'{"type":"attend","admin":true}\n',
    "deep JSON": b"[" * 900 + b"\n",
    "a long line": b'{"type":"shown","id":"' + b"x" * 2_000 + b'"}\n',
    "a line without end": b"x" * 200_000 + b"\n",
    "HTTP": b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
    "binary": bytes(range(256)) + b"\n",
}


@pytest.mark.parametrize("garbage", GARBAGE)
def test_peer_sends_garbage(garbage: str, tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        hostile = connect(approver, tmp_path)
        try:
            hostile.connection.sendall(GARBAGE[garbage])
            assert hostile.read() is None
        except ConnectionError:
            pass
        hostile.close()
        id_ = ask(approver, asker)
        peer.send(type="say", id=id_, reply="approve")

        assert asker.next()[1].outcome == "approved"


def test_garbage_after_an_answer_does_not_undo_it(tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        id_ = ask(approver, asker)
        peer.connection.sendall(
            json.dumps({"type": "say", "id": id_, "reply": "deny"}).encode() + b"\ngarbage\n"
        )

        assert asker.next()[1].outcome == "denied"


@pytest.mark.parametrize(
    "guess", ["", "-7", "call-7", "7", "xxxxx-7", "{fence}", "{fence}-", "{fence}-07", "{fence}-7 "]
)
def test_peer_answers_by_another_id(guess: str, tmp_path: Path) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        ask(approver, asker)
        peer.read()
        peer.send(type="say", id=guess.format(fence=approver.fence), reply="approve")

        assert peer.read()["problem"] is not None
        assert asker.has_none


def test_peer_that_reads_nothing_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.approval.attendant._MAX_UNREAD", 100_000)
    with attended(tmp_path) as (approver, peer, asker):
        lazy = connect(approver, tmp_path).attend()
        for number in range(200):
            ask(approver, asker, number, arguments="x" * 100_000)
            while peer.read()["type"] != "asked":
                continue
            peer.send(type="say", id=f"{approver.fence}-{number}", reply="deny")
            asker.next()
            heard(peer, f"{approver.fence}-{number}")
        received = 0
        while piece := lazy.connection.recv(1 << 20):
            received += len(piece)

        assert received < 1_000_000
        lazy.close()


def test_another_user_is_not_let_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    approver, asker = QueueApprover(tmp_path, 50), Asker()
    monkeypatch.setattr(desk, "peer_of", lambda _: (os.getuid() + 1, 1))
    stranger = connect(approver, tmp_path)

    assert stranger.hello is None
    ask(approver, asker)
    assert asker.next()[1].outcome == "no_approver"
    stranger.close()
    approver.close()


def test_user_that_the_system_does_not_tell_is_not_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError

    approver = QueueApprover(tmp_path, 50)
    monkeypatch.setattr(desk, "peer_of", fail)
    stranger = connect(approver, tmp_path)

    assert stranger.hello is None
    stranger.close()
    approver.close()


def test_too_many_connections(tmp_path: Path) -> None:
    approver = QueueApprover(tmp_path, 50)
    peers = [connect(approver, tmp_path) for _ in range(17)]

    assert [peer.hello is None for peer in peers] == [False] * 16 + [True]
    for peer in peers:
        peer.close()
    approver.close()


def test_thread_that_fails_denies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with attended(tmp_path) as (approver, peer, asker):
        ask(approver, asker)
        peer.read()
        failures: list[object] = []
        monkeypatch.setattr(threading, "excepthook", lambda failure: failures.append(failure.exc_type))
        monkeypatch.setattr(desk, "carry_reply", lambda *_: 1 / 0)
        peer.send(type="say", id=f"{approver.fence}-7", reply="approve")

        assert asker.next()[1].outcome == "io_error"
        approver._thread.join(5)
        assert failures == [ZeroDivisionError]
        ask(approver, asker, 8)
        assert asker.next()[1].outcome == "no_approver"


def test_socket_is_private_to_its_folder(tmp_path: Path) -> None:
    approver = QueueApprover(tmp_path, 50)

    assert [path.name for path in tmp_path.iterdir()] == [f"{approver.fence}.sock"]
    approver.close()


def test_no_socket_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        QueueApprover(tmp_path / "nowhere", 50)
