"""What a shell makes of the words that it puts together, as far as the line says it."""

from __future__ import annotations

from time import process_time

import pytest

from agentfence.core.constraints.command_rewording import reword
from agentfence.core.constraints.shell_words import UnreadableError, Word


def reworded(line, **values):
    first, *rest = line.split(" ")
    words = [Word(first), *(Word(text, is_known="$" not in text and "{" not in text) for text in rest)]
    return sorted(" ".join(word.text for word in each) for each in reword(words, values))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a b", []),
        ("a $x", ["a", "a 1", "a 2"]),
        ("a -${x}", ["a -1", "a -2"]),
        ("a $z", ["a"]),
        ("a b$z c", ["a b c"]),
        ("a $@b", ["a b"]),
        ("a $z/b", []),
        ("a b$z/c", ["a b/c"]),
        ("a ${z:-b}", ["a b"]),
        ("a ${z-b}", ["a b"]),
        ("a {b,c}d", ["a bd cd"]),
        ("a {b,{c,d}}", ["a b c b d"]),
        ("a {b}", []),
    ],
)
def test_words_become_what_the_line_says(line, expected):
    values = {"x": ["1", "2"]}

    assert set(expected) - {"a"} <= set(reworded(line, **values))
    assert not set(reworded(line, **values)) - {*expected, "a"}


def test_many_alternatives_stay_as_they_are():
    started = process_time()

    assert len(reworded("a " + "{b,c}" * 1000)) == 1
    assert process_time() - started < 1


def test_very_long_command_is_refused():
    with pytest.raises(UnreadableError):
        reworded("a " + "$x " * 2000)
