"""Options before the command that a program runs."""

from __future__ import annotations

import pytest

from agentfence.core.constraints.command_options import known_text, options
from agentfence.core.constraints.shell_words import UnreadableError, Word

OPTIONS = options("ab:", "flag value=")


def words(line):
    return [Word(text, is_known="$" not in text) for text in line.split(" ")]


@pytest.mark.parametrize(
    ("line", "position"),
    [("x", 0), ("-a x", 1), ("-b v x", 2), ("-bv x", 1), ("-ab v x", 2), ("-- -a", 1), ("- x", 0)],
)
def test_options_that_are_known_are_skipped(line, position):
    assert position == OPTIONS.skip(words(line))


@pytest.mark.parametrize("line", ["--flag x", "--value=v x", "--help x", "--version x"])
def test_long_options_are_skipped(line):
    assert OPTIONS.skip(words(line)) == 1


@pytest.mark.parametrize("line", ["-c x", "--odd x", "$x y", "-b $x y"])
def test_options_that_hide_what_follows_are_refused(line):
    with pytest.raises(UnreadableError):
        OPTIONS.skip(words(line))


@pytest.mark.parametrize(
    ("line", "starts"),
    [
        ("x y", [0]),
        ("-a x", [1]),
        ("-b v x", [2]),
        ("--odd v x", [1, 2]),
        ("--odd=v x", [1]),
        ("-- x", [1]),
        ("$x y", [0, 1]),
        ("-a", []),
    ],
)
def test_option_that_is_not_known_is_read_both_ways(line, starts):
    assert starts == OPTIONS.find_starts(words(line))


@pytest.mark.parametrize("line", ["$x " * 9 + "y", "-a " * 300 + "y"])
def test_number_of_readings_is_bounded(line):
    with pytest.raises(UnreadableError):
        OPTIONS.find_starts(words(line))


def test_text_of_a_word_that_the_shell_puts_together_is_not_known():
    assert known_text(Word("a")) == "a"
    with pytest.raises(UnreadableError):
        known_text(Word("$a", is_known=False))
