"""Covering of patterns: held to the matcher itself."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.policy.globs_covering import common, covers, samples

TEXTS = ["".join(text) for length in range(5) for text in product("ab/", repeat=length)]
PATTERNS = st.lists(
    st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "[ab]", "[!a]", "[a-c]", r"\*"]),
    min_size=1,
    max_size=4,
).map("".join)


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("*", "list_*", True),
        ("**", "*", True),
        ("*", "**", False),
        ("*", "a/*", False),
        ("**/x", "x", True),
        ("**/x", "a/*/x", True),
        ("**/*", "**", True),
        ("read_*", "read_file", True),
        ("read_file", "read_*", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[a-z]*", "q", True),
        ("[a-y]*", "?", False),
        ("a*", "a[b-d]*", True),
        ("*a*", "*b*", False),
        (r"\*", "*", False),
        (r"\*", r"\*", True),
    ],
)
def test_pattern_covers_another(outer, inner, expected):
    assert covers(outer, inner) is expected


def test_without_a_separator_a_star_crosses_everything():
    assert covers("a*", "a/b") is False
    assert covers("a*", "a/b", separator=None)


@settings(max_examples=200, deadline=None)
@given(PATTERNS, PATTERNS, st.sampled_from(["/", None]))
def test_covering_is_what_the_matcher_says(outer, inner, separator):
    outside, inside = (compile_glob(pattern, separator=separator).matches for pattern in (outer, inner))
    if covers(outer, inner, separator=separator):
        assert [text for text in TEXTS if inside(text) and not outside(text)] == []


@settings(max_examples=100, deadline=None)
@given(PATTERNS, st.sampled_from(["/", None]))
def test_pattern_covers_itself_and_everything_covers_it(pattern, separator):
    assert covers(pattern, pattern, separator=separator)
    assert covers("**", pattern, separator=separator)


@settings(max_examples=100, deadline=None)
@given(PATTERNS, st.sampled_from(["/", None]))
def test_samples_fit_their_pattern_and_there_is_one_for_each(pattern, separator):
    found = samples(pattern, separator=separator)

    assert found
    assert all(map(compile_glob(pattern, separator=separator).matches, found))


def test_walk_of_patterns_that_are_too_odd_is_given_up():
    assert not covers("*a" + "?" * 25, "*" + "[ab]" * 25 + "*")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("*_file", "delete_*", "delete_file"),
        ("get_*", "*_secret", "get_secret"),
        ("[ln]*_x", "delete_*", None),
        ("a*", "*/b", None),
        ("a**", "*/b", "a/b"),
        ("a", "a**/", "a"),
        ("ab", "a**/b", "ab"),
        ("*", "**", "*"),
    ],
)
def test_text_that_fits_both_is_given(one, other, expected):
    assert common(one, other) == expected


@settings(max_examples=200, deadline=None)
@given(PATTERNS, PATTERNS, st.sampled_from(["/", None]))
def test_common_text_is_what_the_matcher_says(one, other, separator):
    first, second = (compile_glob(pattern, separator=separator).matches for pattern in (one, other))
    found = common(one, other, separator=separator)
    if found is None:
        assert [text for text in TEXTS if text and first(text) and second(text)] == []
    else:
        assert first(found)
        assert second(found)
