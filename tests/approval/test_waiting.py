"""Each question is answered once, its time begins when it is shown, and only so many wait."""

from __future__ import annotations

import threading

import pytest
from approval.questions import Asker, ask_about

from agentfence.approval.prompt import Reply
from agentfence.approval.waiting import MAX_WAITING, Waiting, carry_reply
from agentfence.core.effects import Approval


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waiting(clock: Clock) -> Waiting:
    return Waiting("tty", 50, clock)


def add(waiting: Waiting, asker: Asker, *numbers: int) -> None:
    for number in numbers:
        question = ask_about(number)
        waiting.add(question, asker.answered(question))


def test_answer_tells_who_gave_it_and_how_long_it_took(waiting: Waiting, clock: Clock) -> None:
    asker = Asker()
    add(waiting, asker, 1)
    clock.now += 1.5

    assert waiting.settle("call-1", "approved", by="eva", remember=True)
    assert asker.next() == ("call-1", Approval("approved", "tty", "eva", 1500, remember=True))


def test_second_answer_counts_for_nothing(waiting: Waiting) -> None:
    asker = Asker()
    add(waiting, asker, 1, 2)
    waiting.settle("call-1", "denied")

    assert not waiting.settle("call-1", "approved")
    assert not waiting.settle("call-9", "approved")
    assert asker.next()[1].outcome == "denied"
    assert asker.has_none
    assert [opened.question.call_id for opened in waiting.questions()] == ["call-2"]


def test_each_question_has_an_id_of_its_own(clock: Clock) -> None:
    runs = [Waiting("tty", 50, clock) for _ in "12"]
    ids = []
    for waiting in runs:
        for number in (1, 1, 3, 2, 3, 1, 4):
            opened = waiting.add(ask_about(number), lambda _: None)
            assert opened is not None
            assert waiting.find_question(opened.id) is opened
            ids.append(opened.id)
            waiting.settle(f"call-{number}", "denied")
            assert waiting.find_question(opened.id) is None

    assert len(set(ids)) == len(ids)
    assert [id_.removeprefix(runs[0].run) for id_ in ids[:4]] == ["-1", "-1.2", "-3", "-2.3"]


def test_answer_to_one_question_counts_for_no_later_one_about_the_call(waiting: Waiting) -> None:
    asker = Asker()
    add(waiting, asker, 1)
    first = waiting.find("call-1")
    waiting.settle("call-1", "denied")
    add(waiting, asker, 1)

    assert not waiting.settle("call-1", "approved", only=first)
    assert carry_reply(first, Reply.APPROVE, "eva", waiting.settle) is not None
    assert asker.next()[1].outcome == "denied"
    assert asker.has_none


def test_time_begins_when_the_question_is_shown(waiting: Waiting, clock: Clock) -> None:
    add(waiting, Asker(), 1, 2)
    clock.now += 49
    waiting.show("call-2")
    clock.now += 49
    waiting.show("call-2")  # to a second person: that does not begin it anew

    assert waiting.expired() == []
    assert waiting.remaining() == 1
    clock.now += 1
    assert waiting.expired() == ["call-2"]
    assert waiting.remaining() == 0


def test_question_that_nobody_is_shown_runs_out_as_well(waiting: Waiting, clock: Clock) -> None:
    add(waiting, Asker(), 1)
    clock.now += 50 * MAX_WAITING

    assert waiting.expired() == ["call-1"]


def test_nothing_runs_out_where_nothing_waits(waiting: Waiting) -> None:
    waiting.show("call-1")

    assert waiting.remaining() is None
    assert waiting.expired() == []


def test_too_many_questions(waiting: Waiting) -> None:
    asker = Asker()
    add(waiting, asker, *range(MAX_WAITING))
    add(waiting, asker, 99)

    assert asker.next() == ("call-99", Approval("queue_full", "tty"))
    waiting.settle("call-3", "denied")
    add(waiting, asker, 100)
    assert waiting.find("call-100") is not None


@pytest.mark.parametrize(
    ("owners", "comes", "goes"),
    [
        ("a" * 20, "b", 19),
        ("a" * 11 + "b" * 9, "b", 10),
        ("b" * 9 + "a" * 11, "b", 19),
        ("a" * 10 + "b" * 10, "b", None),
        ("a" * 10 + "b" * 10, "c", 19),
        ("a" * 12 + "b" * 8, "c", 11),
        ("a" * 20, "a", None),
        ("abcdefghijklmnopqrst", "u", None),
        ("a" * 19, "b", None),
    ],
)
def test_agent_with_the_most_questions_makes_room_for_one_with_fewer(
    owners: str, comes: str, goes: int | None, waiting: Waiting
) -> None:
    asker = Asker()
    for number, owner in enumerate(owners + comes):
        question = ask_about(number, owner=owner)
        waiting.add(question, asker.answered(question))

    full = len(owners) if goes is None else goes
    assert asker.has_none if len(owners) < MAX_WAITING else asker.next()[0] == f"call-{full}"
    assert asker.has_none
    assert len(waiting.questions()) == 20


def test_all_questions_are_taken_back(waiting: Waiting) -> None:
    asker = Asker()
    add(waiting, asker, 1, 2)
    waiting.settle_all("no_approver", "do this")

    assert [asker.next()[1] for _ in "12"] == [Approval("no_approver", "tty", advice="do this")] * 2
    assert waiting.questions() == []


def test_many_threads_answer_one_question(waiting: Waiting) -> None:
    asker = Asker()
    add(waiting, asker, 1)
    start = threading.Barrier(8)
    counted = []

    def settle() -> None:
        start.wait()
        counted.append(waiting.settle("call-1", "approved"))

    threads = [threading.Thread(target=settle) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(counted) == [False] * 7 + [True]
    asker.next()
    assert asker.has_none
