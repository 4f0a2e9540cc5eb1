from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.pieces import Overlong, Pieces


def test_what_came_whole_is_not_copied() -> None:
    whole = b"0123456789"

    assert Pieces(10).complete(whole) is whole


def test_pieces_are_put_together() -> None:
    pieces = Pieces(10)
    assert pieces.is_empty
    pieces.add(b"012")
    assert not pieces.is_empty
    pieces.add(b"")

    assert pieces.complete(b"3456789") == b"0123456789"
    assert pieces.is_empty


def test_of_what_is_too_long_the_ends_are_kept() -> None:
    whole = bytes(range(256)) * 64
    pieces = Pieces(10)
    for start in range(0, len(whole), 1_000):
        pieces.add(whole[start : start + 1_000])

    assert pieces.complete(b"") == Overlong(whole[:4_096] + whole[-4_096:])
    assert pieces.complete(b"next") == b"next"


def test_the_ends_of_what_is_too_long_are_not_taken_for_a_whole() -> None:
    pieces = Pieces(100_000)
    for _ in range(200):
        pieces.add(b"x" * 1_000)

    assert pieces.complete(b"x") == Overlong(b"x" * 8_192)
    assert pieces.is_empty


def test_little_is_kept_of_an_endless_line() -> None:
    pieces = Pieces(10_000)
    for _ in range(1_000):
        pieces.add(b"x" * 1_000)

    assert len(pieces._kept) + len(pieces._ending or b"") < 80_000


@given(
    st.binary(max_size=30_000),
    st.integers(0, 12_000),
    st.lists(st.integers(0, 30_000), max_size=5),
)
def test_how_it_was_cut_changes_nothing(whole: bytes, limit: int, cuts: list[int]) -> None:
    pieces = Pieces(limit)
    places = [0, *sorted(cuts)]
    for start, end in itertools.pairwise(places):
        pieces.add(whole[start:end])

    assert pieces.complete(whole[places[-1] :]) == Pieces(limit).complete(whole)
