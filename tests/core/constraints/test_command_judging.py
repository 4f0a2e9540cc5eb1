"""Judging command lines: bounds, and what a mix of lists may not do. The cases are in test_command.py."""

from __future__ import annotations

import string
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.command import build
from agentfence.core.constraints.interface import BuildContext, Circumstances

SPECS = (
    {"allow": ["git status", "ls **", "sh -c *", "a* ** b* **"]},
    {"allow_executables": ["git", "ls", "sh"], "syntax": "pipes"},
    {"allow": ["git status", "ls **", "sh -c *"], "syntax": "any"},
    {"deny_patterns": ["rm **", "**sudo**x**"]},
)
CONSTRAINTS = [build(spec, BuildContext()) for spec in SPECS]
PIECES = [
    *(string.punctuation + " \n\tab"),
    *[
        "ls ",
        "git status",
        "rm x",
        "sh -c ",
        "sudo ",
        "$(",
        "<<E\n",
        "\nE\n",
        "if ",
        "; then ",
        "; fi",
        "&&",
        "eval ",
    ],
]
lines = st.one_of(st.lists(st.sampled_from(PIECES), max_size=20).map("".join), st.text(max_size=50))


def check(constraint, value):
    return constraint.check({"command": value}, Circumstances())


@given(st.one_of(lines, st.lists(lines, max_size=5), st.none() | st.booleans() | st.integers()))
def test_any_value_is_judged(value):
    for constraint in CONSTRAINTS:
        failure = check(constraint, value)

        assert failure is None or (failure.code.startswith("command_") and failure.field == "command")


@settings(max_examples=200)
@given(lines)
def test_a_deny_pattern_never_allows_more(line):
    for spec, constraint in zip(SPECS, CONSTRAINTS, strict=True):
        stricter = build({**spec, "deny_patterns": [*spec.get("deny_patterns", []), "ls *"]}, BuildContext())

        if check(constraint, line) is not None:
            assert check(stricter, line) is not None


@settings(max_examples=200)
@given(lines)
def test_more_syntax_never_refuses_what_less_allows(line):
    for spec in ({"allow": ["git status", "ls **"]}, {"allow_executables": ["git", "ls"]}):
        allowed = [
            check(build({**spec, "syntax": syntax}, BuildContext()), line) is None
            for syntax in ("none", "pipes", "any")
        ]

        assert allowed == sorted(allowed)


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda constraint: str(constraint.rules.syntax))
def test_length_is_bounded(constraint):
    for value in ("(" * 1_048_576, ["ls", "a" * 65_536], ["a"] * 40_000):
        assert check(constraint, value).code == "command_syntax"
        assert check(constraint, value).allow_list is False


HOSTILE = [
    *(
        [
            "(",
            "{",
            "$(",
            '"',
            "'",
            "`",
            "<(",
            "((",
            "[[",
            "${",
            "${x:-",
            "$((",
            "a=(",
            "x{",
            '"$(',
            '"`',
            "#",
            "[",
            "a[",
            "$[",
            "$'",
            ")",
            "}",
            "`\\`",
            "[a]",
            '${a:-"',
            "$((a[",
            '"',
            "\\",
            "*",
            "%a%",
        ]
    ),
    *[
        "if ",
        "case x in ",
        "case x in a) ",
        "<<A\n",
        "a;",
        "a|",
        "a&&",
        "! ",
        " ",
        "a\n",
        "> ",
        "<<<a ",
        "f(){ ",
        "\n",
    ],
    *[
        "a b ",
        "for x in ",
        "while ",
        "x() ",
        "sudo ",
        "env ",
        "eval ",
        "sh -c ",
        "sh -c '",
        "xargs ",
        "find -exec ",
    ],
    *[
        "git -c alias.x=",
        "a'b'",
        'a"b"',
        "$a",
        "a=b ",
        "2>a ",
        "{a,",
        "a * ",
        "time ",
        "a && \\\n",
        '"a" ',
        "é",
        "[x] ",
    ],
]


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_time_is_bounded_for_hostile_text(piece):
    started = process_time()
    check(CONSTRAINTS[0], (piece * 65_536)[:65_536])

    assert process_time() - started < 5
