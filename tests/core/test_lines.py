from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentfence.core.lines import LineSplitter, Overlong


def split(stream: bytes, limit: int = 100, *, size: int | None = None) -> list[bytes | Overlong]:
    splitter = LineSplitter(limit)
    size = size or len(stream) or 1
    lines = [line for at in range(0, len(stream), size) for line in splitter.feed(stream[at : at + size])]
    return [*lines, *splitter.end()]


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        (b"", []),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\r\r\n", [b"a\r"]),
        (b"\n\na\n", [b"", b"", b"a"]),
        (b"a\nlast", [b"a", b"last"]),
        (b"a\nlast\r", [b"a", b"last"]),
        (b"0123456789\n", [b"0123456789"]),
        (b"0123456789\r\n", [b"0123456789"]),
        (b"0123456789x\nnext\n", [Overlong(b"0123456789x"), b"next"]),
        (b"0123456789xy\r\nnext\n", [Overlong(b"0123456789xy\r"), b"next"]),
        (b"0123456789xyz", [Overlong(b"0123456789xyz")]),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 3])
def test_stream_is_split_at_its_line_ends(stream: bytes, lines: list[object], size: int | None) -> None:
    assert split(stream, 10, size=size) == lines


def test_line_over_the_limit_is_given_when_it_ends() -> None:
    splitter = LineSplitter(10)

    assert splitter.feed(b"x" * 50_000) == []
    assert splitter.feed(b"y\nz\n") == [Overlong(b"x" * 4_096 + b"x" * 4_095 + b"y"), b"z"]


@given(st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"{}"]) | st.binary(max_size=12)), st.data())
@example([b"0123456789", b"\r", b"\n"], None)
def test_how_the_stream_is_cut_changes_nothing(parts: list[bytes], data: st.DataObject | None) -> None:
    stream = b"".join(parts)
    size = 1 if data is None else data.draw(st.integers(1, max(1, len(stream))))

    assert split(stream, 10, size=size) == split(stream, 10)


@given(st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"").rstrip(b"\r")), max_size=9))
def test_lines_are_what_was_written(lines: list[bytes]) -> None:
    written = b"".join(line + b"\n" for line in lines)

    assert split(written, size=2) == lines
