"""Problems as text and as JSON."""

from __future__ import annotations

import json

import pytest

from agentfence.core.errors import Place, PolicyError, Problem
from agentfence.core.policy.rendering import render_json, render_text

PROBLEM = Problem(
    Place("dev.yaml", 5, 5),
    "unknown_key",
    "unknown key `efect`",
    "did you mean `effect`?",
    "a.efect",
    "    efect: x",
    5,
)


def test_text_shows_place_line_and_help():
    assert render_text([PROBLEM]) == (
        "dev.yaml:5:5: unknown key `efect`\n    efect: x\n    ^^^^^\nhelp: did you mean `effect`?"
    )


def test_text_of_several_problems_is_one_after_the_other():
    bare = Problem(Place("a.yaml", 1, 1), "unreadable_file", "no such file")

    assert render_text([bare, bare]) == "a.yaml:1:1: no such file\na.yaml:1:1: no such file"


def test_json_says_the_same():
    assert json.loads(render_json([PROBLEM])) == [
        {
            "file": "dev.yaml",
            "line": 5,
            "column": 5,
            "width": 5,
            "code": "unknown_key",
            "path": "a.efect",
            "message": "unknown key `efect`",
            "help": "did you mean `effect`?",
        }
    ]


@pytest.mark.parametrize(
    ("line", "column", "width", "shown", "carets"),
    [
        ("a: b", 4, 1, "a: b", "   ^"),
        ("\ta: b", 5, 1, " a: b", "    ^"),
        ("目: 付け", 4, 2, "目: 付け", "    ^^^^"),
        ("e\u0301: b", 5, 1, "e\u0301: b", "   ^"),
        ("a: \u202eb", 4, 2, "a: \\u{202e}b", "   ^^^^^^^^^"),
        ("a: \x1b[31m", 4, 1, "a: \\u{1b}[31m", "   ^^^^^^"),
        ("a:", 3, 1, "a:", "  ^"),
        ("a:   ", 1, 0, "a:", "^"),
    ],
)
def test_carets_stand_under_what_is_meant(line, column, width, shown, carets):
    problem = Problem(Place("a", 1, column), "c", "m", None, "", line, width)

    assert ["a:1:" + f"{column}: m", shown, carets] == render_text([problem]).split("\n")


def test_long_lines_are_cut_around_what_is_meant():
    line = "a" * 300 + "WRONG" + "b" * 300
    problem = Problem(Place("a", 1, 301), "c", "m", None, "", line, 5)
    _, shown, carets = render_text([problem]).split("\n")

    assert len(shown) <= 122
    assert (shown[0], shown[-1]) == ("…", "…")
    assert shown[len(carets) - 5 :][:5] == "WRONG"
    assert carets.strip() == "^^^^^"


def test_message_cannot_act_on_the_terminal():
    problem = Problem(Place("a", 1, 1), "c", "key `\x1b]0;x\x07`", "did you mean `\u202e`?")

    assert "\x1b" not in render_text([problem])
    assert "\u202e" not in render_text([problem])


def test_pattern_that_fills_a_file_is_cut():
    problem = Problem(Place("a", 1, 1), "c", f"pattern `{'*a' * 10_000}`", f"write `{'*b' * 10_000}`")

    assert all(len(line) <= 2_001 for line in render_text([problem]).split("\n"))


def test_very_many_problems_fit_a_line_of_a_log():
    problem = Problem(Place("a", 1, 1), "c", "m")

    assert str(PolicyError([problem] * 9)) == "; ".join(["a:1:1: m"] * 9)
    assert str(PolicyError([problem] * 99)) == "; ".join(["a:1:1: m"] * 10 + ["and 89 more"])
