"""A cancellation in a POST of its own finds the question about the request that it cancels."""

from __future__ import annotations

import json
from typing import Any

import pytest
from talking import ASK, Talk, call

from agentfence.core.effects import Ask
from agentfence.core.values import replace
from agentfence.mitm.asked_calls import AskedCalls, Place

PLACE: Place = ("user:a", "mcp.example.com", 443, "session")


def asked(id_: int | str = 1) -> Ask:
    (ask,) = Talk(ASK).agent(call("send", id_))
    assert isinstance(ask, Ask)
    return ask


def cancelling(id_: Any, method: str = "notifications/cancelled") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": {"requestId": id_}}).encode()


@pytest.mark.parametrize("id_", [1, "x"])
def test_cancellation_finds_the_question(id_: int | str) -> None:
    calls, ask = AskedCalls(), asked(id_)
    with calls.waiting(ask, PLACE):
        assert calls.cancelled_by(cancelling(id_), PLACE) == (ask.question.call_id,)

    assert calls.cancelled_by(cancelling(id_), PLACE) == ()


@pytest.mark.parametrize(
    "place",
    [
        ("user:b", *PLACE[1:]),
        (PLACE[0], "other.example.com", *PLACE[2:]),
        (*PLACE[:2], 80, PLACE[3]),
        (*PLACE[:3], None),
        (*PLACE[:3], "other"),
    ],
)
def test_cancellation_of_somebody_else_finds_nothing(place: Place) -> None:
    calls = AskedCalls()
    with calls.waiting(asked(), PLACE):
        assert calls.cancelled_by(cancelling(1), place) == ()


@pytest.mark.parametrize(
    "body",
    [
        cancelling(2),
        cancelling(True),
        cancelling(None),
        cancelling(1, "notifications/progress"),
        b"[" + cancelling(1) + b"]",
        b"nonsense",
        b"",
        b" " * 70_000 + cancelling(1),
    ],
)
def test_other_bodies_cancel_nothing(body: bytes) -> None:
    calls = AskedCalls()
    with calls.waiting(asked(), PLACE):
        assert calls.cancelled_by(body, PLACE) == ()


def test_nothing_waits_any_more_when_asking_failed() -> None:
    calls = AskedCalls()
    with pytest.raises(KeyError), calls.waiting(asked(), PLACE):
        raise KeyError

    assert calls.cancelled_by(cancelling(1), PLACE) == ()


def test_what_two_programs_ask_under_one_id_is_taken_back_together() -> None:
    calls, first, second = AskedCalls(), asked(), asked()
    ids = {first.question.call_id, "call-2"}
    second = replace(second, question=replace(second.question, call_id="call-2"))
    with calls.waiting(first, PLACE):
        with calls.waiting(second, PLACE):
            assert set(calls.cancelled_by(cancelling(1), PLACE)) == ids
            assert calls.is_about(PLACE, "1")
        assert calls.cancelled_by(cancelling(1), PLACE) == (first.question.call_id,)

    assert calls.cancelled_by(cancelling(1), PLACE) == ()
    assert not calls.is_about(PLACE, 1)


def test_call_is_asked_about_in_its_own_place() -> None:
    calls = AskedCalls()
    with calls.waiting(asked("x"), PLACE):
        assert calls.is_about(PLACE, "x")
        assert not calls.is_about(PLACE, "y")
        assert not calls.is_about(("user:b", *PLACE[1:]), "x")
