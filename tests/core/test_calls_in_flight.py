from __future__ import annotations

import time

import pytest

from agentfence.core import calls_in_flight
from agentfence.core.calls_in_flight import CallInFlight, CallsInFlight, Stage
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import ASSUMED
from agentfence.core.values import replace


def call(id_: int | str, stage: Stage = Stage.SENT, call_id: str = "call-1") -> CallInFlight:
    return CallInFlight(id_, call_id, "tools/call", ASSUMED, "rule", Verdict.ALLOW, stage)


@pytest.fixture
def calls() -> CallsInFlight:
    return CallsInFlight()


def test_call_is_found_by_its_id_in_either_type(calls: CallsInFlight) -> None:
    calls.put(call(7))

    assert 7 in calls
    assert "7" in calls
    assert calls.find("7") == call(7)
    assert 8 not in calls
    assert calls.find(8) is None


@pytest.mark.parametrize(
    ("stage", "is_answerable"),
    [
        (Stage.ASKED, False),
        (Stage.SENT, True),
        (Stage.HELD, False),
        (Stage.CANCELLED, True),
        (Stage.WITHDRAWN, False),
    ],
)
def test_only_what_was_sent_can_be_answered(calls: CallsInFlight, stage: Stage, is_answerable: bool) -> None:
    calls.put(call(1, stage))

    assert (calls.find_sent(1) is not None) is is_answerable
    assert calls.find_sent(2) is None
    assert calls.find_sent(None) is None
    assert [c.id for c in calls.sent()] == ([1] if stage is Stage.SENT else [])


@pytest.mark.parametrize(
    ("id_", "is_meant"),
    [
        *((id_, True) for id_ in (1, "1", "01", " 1.0 ", "1e0", "", "0x1", "0B1", " 0o1", "\ufeff1")),
        *((id_, False) for id_ in ("1.5", "x", "nan", "inf", 2, "2", "0x2", "0x", "-0x1", "0xg")),
    ],
)
def test_call_may_be_meant_by_what_javascript_takes_for_its_id(
    calls: CallsInFlight, id_: int | str, is_meant: bool
) -> None:
    calls.put(call(1))
    calls.put(call(0))

    assert calls.may_be_meant_by(id_) is is_meant


@pytest.mark.parametrize(
    ("stage", "cancelled"),
    [
        (Stage.ASKED, Stage.WITHDRAWN),
        (Stage.HELD, Stage.WITHDRAWN),
        (Stage.SENT, Stage.CANCELLED),
        (Stage.CANCELLED, Stage.CANCELLED),
        (Stage.WITHDRAWN, Stage.WITHDRAWN),
    ],
)
def test_cancelling_moves_a_call_as_the_table_says(
    calls: CallsInFlight, stage: Stage, cancelled: Stage
) -> None:
    calls.put(call(1, stage))

    moved = calls.cancel(1)
    assert moved is not None
    assert moved.stage is cancelled
    assert calls.find(1) == moved


def test_no_id_is_not_the_word_for_it(calls: CallsInFlight) -> None:
    calls.put(call("None"))
    calls.end(None)
    calls.give_up(None, "call-1")

    assert calls.find_sent(None) is None
    assert calls.find_sent("None") == call("None")


def test_cancelling_an_unknown_call_does_nothing(calls: CallsInFlight) -> None:
    assert calls.cancel(1) is None
    assert len(calls) == 0


def test_cancelled_calls_are_not_wanted(calls: CallsInFlight) -> None:
    calls.put(call(1))
    calls.put(call(2, Stage.CANCELLED))

    assert len(calls) == 1


def test_ended_call_is_forgotten(calls: CallsInFlight) -> None:
    calls.put(call(1))

    calls.end(None)
    calls.end(2)
    assert 1 in calls
    calls.end("1")
    assert 1 not in calls


def test_given_up_is_only_the_call_that_is_named(calls: CallsInFlight) -> None:
    calls.put(call(1, call_id="call-1"))

    calls.give_up(None, "call-1")
    calls.give_up(2, "call-1")
    calls.give_up(1, "call-2")
    assert 1 in calls
    calls.give_up(1, "call-1")
    assert 1 not in calls


def test_server_that_goes_ends_what_it_owes(calls: CallsInFlight) -> None:
    for id_, stage in enumerate(Stage):
        calls.put(call(id_, stage))

    ended = calls.end_unanswerable()
    assert {c.stage for c in ended} == {Stage.ASKED, Stage.SENT}
    left = [calls.find(id_) for id_ in range(len(Stage))]
    assert [c.stage for c in left if c is not None] == [Stage.HELD, Stage.WITHDRAWN]


def test_room_ends_at_the_number_of_calls(calls: CallsInFlight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_in_flight, "_MAX_CALLS", 2)
    calls.put(call(1))
    assert calls.make_room_for(2, evicts=False)
    calls.put(call(2))

    assert not calls.make_room_for(3, evicts=False)
    assert 1 in calls


def test_room_ends_at_the_length_of_all_ids(calls: CallsInFlight, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls_in_flight, "_MAX_CHARACTERS", 5)
    calls.put(call("abc"))
    calls.put(replace(call("abc"), stage=Stage.CANCELLED))

    assert calls.make_room_for("de", evicts=False)
    assert calls.make_room_for("def", evicts=False), "cancelled ones give way"
    assert "abc" not in calls
    assert not calls.make_room_for("abcdef", evicts=True)


@pytest.mark.parametrize(("id_", "fits"), [("f", True), ("fg", False)])
def test_ids_of_all_that_waits_count(id_: str, fits: bool) -> None:
    calls = CallsInFlight(most_characters=6)
    calls.put(call("abc"))
    calls.put(call("de"))

    assert calls.takes(id_) is fits
    assert calls.make_room_for(id_, evicts=False) is fits


def test_cancelled_call_that_was_answered_makes_no_room() -> None:
    calls = CallsInFlight(most=1)
    calls.put(call(1))
    calls.cancel(1)
    calls.end(1)
    calls.put(call(2))

    assert not calls.make_room_for(3, evicts=False)


def test_oldest_calls_give_way_where_nobody_misses_them(
    calls: CallsInFlight, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_in_flight, "_MAX_CALLS", 2)
    calls.put(call(1))
    calls.put(call(2))

    assert calls.make_room_for(3, evicts=True)
    assert 1 not in calls
    assert 2 in calls


def test_request_that_waits_again_under_a_cancelled_id_makes_no_room() -> None:
    calls = CallsInFlight(most=1)
    calls.put(call(1))
    calls.cancel(1)
    calls.put(call(1))

    assert not calls.make_room_for(2, evicts=False)
    assert 1 in calls


def test_many_requests_that_nobody_answers_cost_little() -> None:
    calls = CallsInFlight()
    for number in range(10_000):
        calls.put(call(number))

    began = time.process_time()
    for number in range(10_000, 12_000):
        assert calls.make_room_for(number, evicts=True)
        calls.put(call(number))

    assert time.process_time() - began < 0.3
