"""Entries of `allow` and `deny_patterns`: what they cover, and which are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.command_patterns import compile_allowed, compile_denied

WORDS = ["a", "b", "ab", "-a", "-b", "a b", ""]
ENTRY_WORDS = ["a", "b", "*", "**", "a*", "-*", "-a", "?", '"a b"']


def covers(entry_words, words):
    """Match word by word in the plainest way, trying every length for `**`."""
    if not entry_words:
        return not words
    first, *rest = entry_words
    if first == "**":
        skippable = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
        return any(covers(rest, words[count:]) for count in range(skippable + 1))
    if not words or not covers_word(first, words[0]):
        return False
    return covers(rest, words[1:])


def covers_word(entry_word, word):
    if word.startswith("-") and not entry_word.startswith("-"):
        return False
    match entry_word:
        case "*":
            return True
        case "?":
            return len(word) == 1
        case '"a b"':
            return word == "a b"
        case _ if entry_word.endswith("*"):
            return word.startswith(entry_word[:-1])
        case _:
            return word == entry_word


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(ENTRY_WORDS), min_size=1, max_size=6),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=7),
)
def test_entry_covers_what_the_plain_rule_says(entry_words, words):
    allowed = compile_allowed([" ".join(entry_words)])

    covered = tuple(words) in allowed.commands or allowed.matches_pattern(words)

    assert covers(entry_words, words) == covered


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("", "allows no command"),
        ("  ", "allows no command"),
        ("ls 'a", "not closed"),
        ('ls "', "not closed"),
        ("ls \\", "backslash"),
        ("ls; id", "`;`"),
        ("ls && id", "`&`"),
        ("ls | wc", "`|`"),
        ("ls > x", "`>`"),
        ("echo $HOME", "`$`"),
        ("echo `id`", "`"),
        ("(ls)", "`(`"),
        ("ls\nid", "line break"),
        ("ls [a", "`[`"),
    ],
)
def test_entry_that_is_no_command_is_an_error(entry, reason):
    with pytest.raises(ValueError) as error:
        compile_allowed(["ls", entry])

    position, message = error.value.args
    assert position == 1
    assert reason in message


@pytest.mark.parametrize(
    "entry", ["echo ';'", 'echo "a && b"', "echo \\;", "echo '$x'", "find . -name '*.py'"]
)
def test_quoted_signs_are_themselves(entry):
    assert len(compile_allowed([entry]).commands) == 1


def test_wildcards_take_time_linear_in_the_command():
    allowed = compile_allowed(["** a ** a ** a ** a ** b"])

    assert not allowed.matches_pattern(["a"] * 20_000)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("rm -rf*", "rm -rf /", True),
        ("rm -rf*", "echo rm -rf /", False),
        ("**rm -rf**", "echo a\nrm -rf /", True),
        ("cat ?", "cat x", True),
        ("cat [ab]", "cat b", True),
        ("./x*", "./xy", True),
        ("./x*", "xy", False),
    ],
)
def test_denied_text_is_matched_across_words(pattern, text, expected):
    assert expected == any(glob.matches(text) for glob in compile_denied([pattern], original=False).patterns)


def test_malformed_denied_pattern_is_an_error():
    with pytest.raises(ValueError):
        compile_denied(["cat [a"], original=False)
