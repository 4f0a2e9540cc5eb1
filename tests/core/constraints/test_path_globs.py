"""Arguments that are patterns: no meeting of two patterns is missed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.constraints.path_globs import NamePattern, expand_pattern, is_pattern, read_names

patterns = (
    st.lists(
        st.sampled_from(["a", "b", "ab", "*", "?", "**", "/", "[ab]", "a*b", "[!a]", "**/"]),
        min_size=1,
        max_size=5,
    )
    .map("".join)
    .filter(lambda pattern: not pattern.startswith("/") and "//" not in pattern)
)
paths = st.lists(st.text("ab", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@settings(max_examples=200, deadline=None)
@given(patterns, patterns, st.lists(paths, min_size=1, max_size=30))
def test_two_patterns_that_match_one_path_meet(argument, denied, candidates):
    ours, theirs = compile_glob(denied), compile_glob(argument)
    if any(ours.matches(path) and theirs.matches(path) for path in candidates):
        assert NamePattern(denied).may_meet(read_names(argument))


@pytest.mark.parametrize(
    ("argument", "denied"),
    [
        ("src/*.py", "**/.env"),
        ("app/[slug]/page.tsx", "**/secrets/**"),
        ("app/[slug]", "secrets"),
        ("{{cookiecutter.name}}/x", "**/secrets/**"),
        ("s?crets", "secret"),
        ("docs/*", "secrets/**"),
        ("*.md", "secrets/**"),
        ("a*c", "ab"),
        (r"s\*", "secrets"),
        ("[", "a"),
        ("[!", "a"),
        ("[id]{1..3}{4..6}.java", "**/.env"),
    ],
)
def test_patterns_that_name_nothing_in_common_do_not_meet(argument, denied):
    assert not NamePattern(denied).may_meet(read_names(argument))


@pytest.mark.parametrize(
    ("argument", "denied"),
    [
        ("*", ".env"),
        ("**/*.py", "**/.env*"),
        ("**", "secrets/**"),
        ("s?crets", "secrets/**"),
        ("S[aeiou]CRETS/k", "secrets/**"),
        ("[]x]ecrets", "?ecrets"),
        ("file{1..3}", "file2"),
        ("a**b", "x"),
        ("x/**/.env", "**/.env"),
    ],
)
def test_patterns_that_may_name_the_same_meet(argument, denied):
    assert is_pattern(argument)
    assert NamePattern(denied).may_meet(read_names(argument))


@pytest.mark.parametrize(
    ("argument", "expanded"),
    [
        ("a/b", set()),
        ("{a,b}", {"a", "b"}),
        ("x{,y}", {"x", "xy"}),
        ("{a,{b,c}}{d,e}", {"ad", "ae", "bd", "be", "cd", "ce"}),
        ("{{a},b}", {"{a}", "b"}),
        ("{a/b,../c}/d", {"a/b/d", "../c/d"}),
        ("{{cookiecutter.name}}/x", set()),
        ("{1..3}", set()),
        (".?/x", {"../x"}),
        ("a/.[.]/.*", {"a/../.."}),
        ("{.,x}{.,y}", {"..", ".y", "x.", "xy"}),
        ("??/*.*/.git*/..a?", set()),
    ],
)
def test_pattern_stands_for_these_paths(argument, expanded):
    assert expanded == set(expand_pattern(argument))
