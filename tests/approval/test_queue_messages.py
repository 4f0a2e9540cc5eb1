"""Whatever the other side of the socket sends is one of few messages, or an error."""

from __future__ import annotations

import json

import pytest
from approval.questions import QUESTION
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.approval.prompt import Reply, prompt_for
from agentfence.approval.queue_messages import (
    MAX_FROM_ATTENDANT,
    MAX_FROM_FENCE,
    Asked,
    Attend,
    FromAttendant,
    FromFence,
    Heard,
    Hello,
    Look,
    Looked,
    Say,
    Settled,
    Shown,
    line_of,
    read_from_attendant,
    read_from_fence,
)
from agentfence.core.values import as_dict, replace

FROM_ATTENDANT: list[FromAttendant] = [Attend(), Look(), Shown("k-1"), Say("k-1", Reply.APPROVE_FOR_SESSION)]
FROM_FENCE: list[FromFence] = [
    Hello("k", 12, 50.0),
    Asked("k-1", 3, prompt_for(QUESTION)),
    Asked("k-1", 3, prompt_for(replace(QUESTION, server=None, message=None, remember="call"))),
    Settled("k-1", "denied", None),
    Settled("k-1", "denied", "eva"),
    Heard("k-1", None),
    Looked(),
]


@pytest.mark.parametrize("message", FROM_ATTENDANT)
def test_what_an_attendant_says_is_understood(message: FromAttendant) -> None:
    line = line_of(message)

    assert line.count(b"\n") == 1
    assert len(line) <= MAX_FROM_ATTENDANT
    assert read_from_attendant(line) == message


@pytest.mark.parametrize("message", FROM_FENCE)
def test_what_a_fence_says_is_understood(message: FromFence) -> None:
    assert read_from_fence(line_of(message)) == message


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"1",
        b"{}",
        b"{",
        b"\xff",
        b'{"type":"nothing"}',
        b'{"type":1}',
        b'{"type":["attend"]}',
        b'{"type":"attend","more":1}',
        b'{"type":"shown"}',
        b'{"type":"shown","id":1}',
        b'{"type":"shown","id":null}',
        b'{"type":"say","id":"k-1","reply":"allow"}',
        b'{"type":"say","id":"k-1","reply":true}',
        b'{"type":"say","id":"k-1","reply":null}',
        b'{"type":"say","id":["k-1"],"reply":"approve"}',
        b'{"type":"hello","fence":"k","process":1,"timeout":50}',
        b'{"type":"settled","id":"k-1","outcome":"approved","by":null}',
        b"[" * 500 + b"]" * 500,
        b'{"a":' * 200 + b"1" + b"}" * 200,
    ],
)
def test_attendant_says_what_is_no_message(line: bytes) -> None:
    with pytest.raises(ValueError):
        read_from_attendant(line)


@pytest.mark.parametrize(
    "wrong", [{"rule": 1}, {"rule": None}, {"hidden": "1"}, {"hidden": True}, {"extra": ""}]
)
def test_fence_asks_with_a_prompt_that_is_none(wrong: dict[str, object]) -> None:
    prompt = {**as_dict(prompt_for(QUESTION)), **wrong}

    with pytest.raises(ValueError):
        read_from_fence(json.dumps({"type": "asked", "id": "k-1", "waited_ms": 1, "prompt": prompt}).encode())


def test_timeout_may_be_a_whole_number() -> None:
    assert read_from_fence(b'{"type":"hello","fence":"k","process":1,"timeout":50}') == Hello("k", 1, 50)


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_bytes_are_a_message_or_an_error(line: bytes) -> None:
    for read in (read_from_attendant, read_from_fence):
        try:
            message = read(line)
        except ValueError:
            continue
        assert read(line_of(message)) == message  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(
    st.text(), st.text(), st.recursive(st.text(), lambda inner: st.lists(inner, max_size=40), max_leaves=60)
)
def test_the_largest_prompt_fits_into_a_line(tool: str, reason: str, arguments: object) -> None:
    big = replace(
        QUESTION, tool=tool * 99 or "t", reason=reason * 99, arguments=["\U0001f600" * 9_000, arguments]
    )  # type: ignore[list-item]
    asked = Asked("k-1", 3, prompt_for(big))

    assert len(line_of(asked)) <= MAX_FROM_FENCE
    assert read_from_fence(line_of(asked)) == asked
