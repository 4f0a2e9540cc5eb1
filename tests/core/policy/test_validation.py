"""Holding documents to the language: messages, advice and the user's own keys."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agentfence.core.policy.language import LANGUAGE
from agentfence.core.policy.nodes import plain
from agentfence.core.policy.reader import read_document
from agentfence.core.policy.shapes import Anything, Either, Flag, Key, Keys, ListOf, Number, Whole, join_words
from agentfence.core.policy.validation import validate

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "policy" / "validation.yaml").read_text())


def validated(text, shape=LANGUAGE):
    return validate(read_document("p.yaml", text.encode()), shape)


def problems(text, shape=LANGUAGE):
    return [(one.path, one.message, one.help) for one in validated(text, shape).problems]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"])
def test_problem_says_what_was_expected_and_what_came(case):
    assert problems(f'version: "1"\n{case["text"]}') == [(case["path"], case["message"], case.get("help"))]


def test_all_problems_are_found_at_once_in_order_of_place():
    found = validated('version: "1"\ntols: {}\ntools: {a: alow, b: {x: 1}}\nmode: 1\n').problems

    assert [f"{one.place.line}:{one.place.column}" for one in found] == ["2:1", "3:12", "3:21", "3:22", "4:7"]


def test_unknown_key_with_nothing_like_it_gets_the_known_ones():
    ((_, _, advice),) = problems('version: "1"\ndefaults: {zzz: 1}')

    assert advice == "known here: decision, methods"


def test_reserved_keys_are_never_offered():
    assert "when" not in str(problems('version: "1"\nzzz: 1'))


def test_long_values_are_cut_in_messages():
    ((_, message, _),) = problems(f'version: "1"\nmode: {"x" * 500}')

    assert len(message) < 120


def test_own_keys_are_left_out_wherever_the_language_has_keys():
    text = 'version: "1"\nx-a: 1\ntools: {x-b: 2, c: {decision: allow, x-d: 3}}\ndefaults: {x-e: }'
    result = validated(text)

    assert result.problems == ()
    assert plain(result.node) == {"version": "1", "tools": {"c": {"decision": "allow"}}, "defaults": {}}


def test_own_keys_inside_the_users_values_are_kept():
    schema = "{properties: {x-token: {}}}"
    text = f'version: "1"\ntools: {{c: {{decision: allow, constraints: {{schema: {schema}}}}}}}\n'
    text += "tests: [{id: t, tool: c, arguments: {x-token: 1}, expect: allow}]"

    assert "x-token" in str(plain(validated(text).node))
    assert str(plain(validated(text).node)).count("x-token") == 2


def test_own_key_among_names_is_a_doubt():
    doubts = validated('version: "1"\nx-a: 1\ntools: {x-rm: deny}').doubts

    assert [(doubt.path, doubt.code) for doubt in doubts] == [("tools.x-rm", "ignored_name")]
    assert "[x]-rm" in (doubts[0].help or "")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("groups: {x-g: [a]}", "if it is a group's name, choose another"),
        ("servers: {x-s: {command: [a]}}", "if it is a server's name, choose another"),
        ("methods: {x-m: deny}", "if it is a method, `defaults.methods` decides on it"),
        ("prompts: {x-p: deny, y: deny}", "if it is a pattern, write `[x]-p`"),
        (
            "tools: {a: {decision: deny, constraints: {args: {x-f: {equals: 1}, b: {equals: 1}}}}}",
            "if it is a field, write `'\"x-f\"'`",
        ),
    ],
)
def test_own_key_among_names_gets_advice_that_helps(text, advice):
    (doubt,) = validated(f'version: "1"\n{text}').doubts

    assert advice == doubt.help


def test_shapes_that_the_language_does_not_use_yet_work():
    shape = Keys({"a": Key(Number(), "", is_required=True), "b": Key(Either((Flag(), Whole(1, 2))), "")})

    assert problems("{a: 0.5, b: true}", shape) == []
    assert problems("{a: 3, b: 2}", shape) == []
    assert [message for _, message, _ in problems("{a: true, b: x}", shape)] == [
        "expected a number, got true",
        "expected true or false or a whole number of at least 1 and at most 2, got `x`",
    ]
    assert problems("[{}, 1, null]", ListOf(Anything(), least=0)) == []


def test_words_are_joined_as_in_a_sentence():
    assert [join_words(words) for words in ("a", "ab", "abc")] == ["a", "a or b", "a, b or c"]
