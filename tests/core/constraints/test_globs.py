"""Patterns: the table, a slow reference matcher, and time."""

from __future__ import annotations

import functools
import string
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core.constraints import globs
from agentfence.core.constraints.folding import fold_text
from agentfence.core.constraints.globs import compile_glob, compile_globs, literal_pattern

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "globs" / "matches.yaml").read_text())
SEPARATORS = {"slash": "/", "blank": " ", "none": None}


def reference_matches(pattern: str, text: str, separator: str | None) -> bool:
    """Match by trying everything; brackets are not known here."""
    end = separator or "/"

    @functools.cache
    def fits(i: int, j: int) -> bool:
        rest = pattern[i:]
        later = range(j, len(text) + 1)
        if not rest:
            return j == len(text)
        if rest.startswith("**" + end):
            return fits(i + 3, j) or any(fits(i + 3, k) for k in later if k > j and text[k - 1] == end)
        if rest.startswith("**") and not rest.startswith("***" + end):
            return any(fits(i + 2, k) for k in later)
        if rest.startswith("*"):
            return any(fits(i + 1, k) for k in later if separator is None or separator not in text[j:k])
        if j == len(text):
            return False
        if rest.startswith("?"):
            return text[j] != separator and fits(i + 1, j + 1)
        if rest.startswith("\\"):
            return text[j] == rest[1] and fits(i + 2, j + 1)
        return text[j] == rest[0] and fits(i + 1, j + 1)

    return fits(0, 0)


@pytest.mark.parametrize("case", CASES["matches"], ids=lambda case: case["pattern"])
def test_pattern_matches_exactly_what_the_table_says(case):
    glob = compile_glob(
        case["pattern"], separator=SEPARATORS[case.get("separator", "slash")], fold=case.get("fold", False)
    )

    assert [text for text in case["hits"] if not glob.matches(text)] == []
    assert [text for text in case.get("misses", []) if glob.matches(text)] == []
    assert glob.pattern == case["pattern"]


@pytest.mark.parametrize("case", CASES["malformed"], ids=lambda case: repr(case["pattern"]))
def test_malformed_pattern_is_an_error_that_says_how(case):
    with pytest.raises(ValueError, match=case["says"]):
        compile_glob(case["pattern"])


pieces = st.sampled_from(["*", "**", "**/", "***", "?", "/", "a", "b", ".", "\\*", "ab", " ", "\n", "é"])
texts = st.text(alphabet="ab/. *\né", max_size=10)


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=7).map("".join), texts, st.sampled_from([*SEPARATORS.values()]))
@example("**/a", "ba", "/")
@example("a**/b", "ab", "/")
@example("ab**bc", "abc", "/")
@example("*a/**/b*", "xa/q/bz", "/")
def test_matcher_agrees_with_one_that_tries_everything(pattern, text, separator):
    expected = reference_matches(pattern, text, separator)

    assert expected == compile_glob(pattern, separator=separator).matches(text)


@settings(max_examples=500, deadline=None)
@given(st.text("ab*?[]\\-!/\n", max_size=8), st.sampled_from([*SEPARATORS.values()]))
@example("a]**?", None)
@example("***/", "/")
def test_a_pattern_is_refused_at_once_or_never(pattern, separator):
    with suppress(ValueError):
        glob = compile_glob(pattern, separator=separator)
        try:
            glob.matches("ab/")
        except ValueError as error:
            raise AssertionError("it was refused when it was asked") from error


@settings(max_examples=200, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=6).map("".join), texts)
def test_pattern_without_separator_matches_whatever_one_with_separator_does(pattern, text):
    if compile_glob(pattern).matches(text):
        assert compile_glob(pattern, separator=None).matches(text)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(pieces, st.sampled_from(["[!a]", "[a-c]", "A", "ß"])), min_size=1).map("".join), texts
)
def test_folded_pattern_matches_whatever_the_plain_one_does(pattern, text):
    if compile_glob(pattern).matches(text):
        assert compile_glob(pattern, fold=True).matches(text)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
@example(string.printable)
def test_literal_pattern_matches_its_text_and_nothing_longer(text):
    quoted = literal_pattern(text)

    assert compile_glob(quoted).matches(text)
    assert not compile_glob(quoted).matches(text + "\n")
    assert compile_glob(f"{quoted}*").matches(text)
    assert compile_glob(f"*x{quoted}*x").matches(f"x{text}x")
    assert compile_glob(f"**/a*/**{quoted}").matches(f"q/ab/{text}")


def test_every_character_stands_for_itself_in_each_kind_of_matcher():
    for character in map(chr, [*range(0x250), 0x2028, 0xFF0F, 0x1F600]):
        quoted = literal_pattern(character)

        assert compile_glob(f"a{quoted}b").matches(f"a{character}b")
        assert compile_glob(f"*a{quoted}*b?").matches(f"a{character}bb")
        assert compile_glob(f"**/a{quoted}*/**b").matches(f"a{character}/b")
        assert not compile_glob(f"**/a{quoted}*/**b").matches("ay/b") or character == "y"


def test_lone_surrogates_in_a_value_are_characters_like_others():
    assert all(compile_glob(pattern).matches("a\ud800/b") for pattern in ("a*/b", "a?/*b", "**/a*/**b"))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20))
def test_folding_twice_changes_nothing(text):
    assert fold_text(text) == fold_text(fold_text(text))


@pytest.mark.parametrize(
    "pattern", ["*a*a*a*a*b", "**a*a**a*b", "**/a*/a*/**/b*", "*?*?*?*b", "[!x]*[!y]*b**c"]
)
@pytest.mark.parametrize("unit", ["a", "a/", "/", "ab"])
def test_hostile_value_takes_time_in_proportion(pattern, unit):
    text = unit * (400_000 // len(unit))
    glob = compile_glob(pattern)
    started = time.process_time()
    glob.matches(text)

    assert time.process_time() - started < 10  # a tenth of a second; minutes where a pattern turns back


def test_set_gives_the_pattern_as_the_policy_has_it():
    patterns = compile_globs([("secrets/**", "secrets"), ("**/.env", "**/.env")], fold=True)

    assert patterns.find("SECRETS") == "secrets/**"
    assert patterns.find("a/.Env") == "**/.env"
    assert patterns.find("readme") is None
    assert compile_globs([]).find("") is None
    assert repr(compile_glob("a*")) == "Glob('a*')"


@given(st.text("ab/*?[]!\\", max_size=12), st.sampled_from(["/", None]), st.booleans())
@settings(max_examples=500, deadline=None)
@example("a**/b[c]", "/", False)
@example("**/a/**/b", "/", False)
@example("**/a*", None, False)
@example("**/*?*", "/", False)
def test_what_only_re2_can_refuse_is_compiled_when_it_is_read(pattern, separator, fold):
    asked = []

    def compile_regex(*arguments, **options):
        asked.append((arguments, options))
        return lambda _: True

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(globs, "compile_regex", compile_regex)
        try:
            glob = compile_glob(pattern, separator=separator, fold=fold)
        except ValueError:
            return
        at_once = [*asked]
        glob.matches("a")

    assert all(what in at_once for what in asked)


def test_a_pattern_that_re2_refuses_is_refused_when_it_is_read(monkeypatch):
    def refuse(*_, **__):
        raise ValueError("too large")

    monkeypatch.setattr(globs, "compile_regex", refuse)
    for fold in (False, True):
        with pytest.raises(ValueError, match="too large"):
            compile_glob("a*b**c", fold=fold)


@pytest.mark.parametrize("made", [compile_glob("a"), compile_globs([])])
def test_what_is_compiled_later_has_nothing_else(made):
    assert not hasattr(made, "other")
