"""What is typed comes in lines, whatever state the terminal was in, and afterwards it is in that state again."""

from __future__ import annotations

import os
import pty
import termios
import time
import tty
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.approval.terminal import Terminal, TypedLines, discard_typed, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def keyboard() -> Iterator[tuple[int, Terminal]]:
    """The side of the person, and the terminal."""
    person, device = pty.openpty()
    terminal = Terminal(os.ttyname(device))
    yield person, terminal
    terminal.close()
    os.close(person)
    os.close(device)


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"y\n"], ["y"]),
        ([b"y", b"es\nno", b"\n"], ["yes", "no"]),
        ([b"\n\n"], ["", ""]),
        ([b"no end"], []),
        ([b"\xff\n"], ["\N{REPLACEMENT CHARACTER}"]),
        ([b"y" * 500 + b"\n"], ["y" * 200]),
        ([b"x" * 500, b"\n"], ["x" * 200]),
    ],
)
def test_lines_are_put_together(pieces: list[bytes], lines: list[str]) -> None:
    typed = TypedLines()

    assert [line for piece in pieces for line in typed.feed(piece)] == lines


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=20)))
def test_pieces_do_not_matter(pieces: list[bytes]) -> None:
    in_pieces, whole = TypedLines(), TypedLines()
    typed = [line for piece in pieces for line in in_pieces.feed(piece)]
    if len(b"".join(pieces)) <= 200:
        assert typed == whole.feed(b"".join(pieces))


def test_line_that_was_begun_is_forgotten() -> None:
    typed = TypedLines()
    typed.feed(b"y")
    typed.clear()

    assert typed.feed(b"n\n") == ["n"]


def test_raw_terminal_gives_lines_and_is_raw_again(keyboard: tuple[int, Terminal]) -> None:
    person, terminal = keyboard
    tty.setraw(terminal.descriptor)
    raw = termios.tcgetattr(terminal.descriptor)
    restore = terminal.in_lines()
    read, write = os.pipe()
    os.write(person, b"yes")
    assert terminal.wait(read, 0.1) is None
    os.write(person, b"\r")

    assert terminal.wait(read, 5) == b"yes\n"
    restore()
    assert termios.tcgetattr(terminal.descriptor) == raw
    os.close(read)
    os.close(write)


def test_something_else_happens_first(keyboard: tuple[int, Terminal]) -> None:
    _, terminal = keyboard
    read, write = os.pipe()
    assert terminal.wait(read, 0) is None
    os.write(write, b"x")
    began = time.monotonic()

    assert terminal.wait(read, 30) is None
    assert time.monotonic() - began < 5
    os.close(read)
    os.close(write)


def test_what_was_typed_before_is_discarded(keyboard: tuple[int, Terminal]) -> None:
    person, terminal = keyboard
    read, write = os.pipe()
    os.write(person, b"y\ny")
    time.sleep(0.1)
    discard_typed(terminal.descriptor)
    os.write(person, b"n\n")

    assert terminal.wait(read, 5) == b"n\n"
    os.close(read)
    os.close(write)


def test_terminal_that_takes_nothing(keyboard: tuple[int, Terminal]) -> None:
    _, terminal = keyboard
    termios.tcflow(terminal.descriptor, termios.TCOOFF)

    assert not terminal.put("x" * 100_000, 0.2)


def test_width(keyboard: tuple[int, Terminal]) -> None:
    person, terminal = keyboard
    termios.tcsetwinsize(person, (24, 101))
    read, write = os.pipe()

    assert width_of(terminal.descriptor) == 101
    assert width_of(read) == 80
    os.close(read)
    os.close(write)


def test_there_is_no_terminal() -> None:
    with pytest.raises(OSError):
        Terminal("/nowhere/tty")
