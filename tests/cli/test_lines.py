"""Lines of a stream: each as it is, those that are too long skipped."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.cli.lines import read_lines


def read(content: bytes, longest: int) -> list[bytes | None]:
    return list(read_lines(io.BytesIO(content), longest))


def test_lines_are_given_with_their_ends():
    assert read(b"a\n\nbc\r\nd", 10) == [b"a\n", b"\n", b"bc\r\n", b"d"]
    assert read(b"", 10) == []


def test_line_of_exactly_the_limit_is_given_and_a_longer_one_is_not():
    assert read(b"abc\nabcd\nab\n", 3) == [b"abc\n", None, b"ab\n"]
    assert read(b"abcd", 3) == [None]
    assert read(b"abc", 3) == [b"abc"]


def test_rest_of_a_long_line_is_skipped_whole():
    assert read(b"x" * 200_000 + b"\nnext\n" + b"y" * 70_000, 1_000) == [None, b"next\n", None]


@settings(max_examples=200)
@given(
    st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=6), st.integers(1, 8)
)
def test_every_line_is_given_or_skipped_and_none_is_split(lines, longest):
    found = read(b"".join(line + b"\n" for line in lines), longest)

    assert found == [line + b"\n" if len(line) <= longest else None for line in lines]
