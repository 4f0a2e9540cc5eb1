"""A prompt cannot lie: whatever a peer sends, a person sees all of it, and sees whose words they are."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml
from approval.questions import QUESTION
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from agentfence.approval.prompt import MAX_ARGUMENTS, MAX_TEXT, Reply, choices, prompt_for, read_reply, render
from agentfence.core.values import replace

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "prompts" / "shown.yaml").read_text())
LABELS = {"server", "tool", "method", "client", "rule", "reason", "policy says", "arguments"}


def shown(value: Any) -> str:
    return prompt_for(replace(QUESTION, arguments=value)).arguments


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_text_is_shown_as_it_is(case: dict[str, str]) -> None:
    assert shown({"a": case["text"]}) == '{\n  "a": ' + case["shown"] + "\n}"
    assert shown({case["text"]: 1}) == "{\n  " + case["shown"] + ": 1\n}"


def test_whole_prompt() -> None:
    assert render(prompt_for(QUESTION), 80, "k3f9q-7") == (
        "AgentFence asks whether this may run: k3f9q-7\n"
        "  server       files\n"
        "  tool         write_file\n"
        "  client       stdio:4711\n"
        "  rule         write_file\n"
        "  reason       tool `write_file` has its own rule: ask\n"
        "  policy says  writes need a person\n"
        "  arguments\n"
        "  | {\n"
        '  |   "path": "docs/a.md"\n'
        "  | }\n"
    )


def test_method_stands_where_no_tool_is_called() -> None:
    prompt = prompt_for(
        replace(QUESTION, tool=None, method="sampling/createMessage", server=None, message=None)
    )

    assert "  method       sampling/createMessage\n" in render(prompt, 80)
    assert (prompt.subject, prompt_for(QUESTION).subject) == ("sampling/createMessage", "files/write_file")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ([], "[]"),
        (None, "null"),
        ({"a": [1, 2.5, True, None]}, '{\n  "a": [\n    1,\n    2.5,\n    true,\n    null\n  ]\n}'),
        ({"a": {"b": [[]]}}, '{\n  "a": {\n    "b": [\n      []\n    ]\n  }\n}'),
        (12345678901234567890, "12345678901234567890"),
    ],
)
def test_values_are_shown_as_json(value: Any, text: str) -> None:
    assert shown(value) == text


def test_long_text_does_not_hide_what_comes_after_it() -> None:
    text = shown({"note": "x" * (MAX_TEXT + 5), "path": "/etc/passwd"})

    end = MAX_TEXT // 4
    assert f'"{"x" * (MAX_TEXT - end)}"… 5 more characters …"{"x" * end}",' in text
    assert '"path": "/etc/passwd"' in text


def test_long_text_does_not_hide_what_it_ends_with() -> None:
    assert 'rm -rf ~"' in shown({"command": "git status" + " " * 5_000 + "; rm -rf ~"})


def test_many_long_texts_do_not_hide_what_comes_after_them() -> None:
    prompt = prompt_for(
        replace(QUESTION, arguments={**{f"note{n}": "x" * 3_000 for n in range(40)}, "path": "/etc/passwd"})
    )

    assert '"path": "/etc/passwd"' in prompt.arguments
    assert prompt.hidden == 0


def test_text_cannot_say_that_it_was_cut() -> None:
    assert shown("a… 5 more characters") == '"a… 5 more characters"'


def test_what_is_left_out_at_the_end_is_said() -> None:
    prompt = prompt_for(replace(QUESTION, arguments=["y" * MAX_TEXT] * 1_000))

    assert len(prompt.arguments) == MAX_ARGUMENTS
    assert f"\n  {prompt.hidden:,} more characters of the arguments are not shown\n" in render(prompt, 80)
    assert prompt.hidden > MAX_ARGUMENTS


def test_long_names_and_reasons_are_cut_and_say_so() -> None:
    prompt = prompt_for(replace(QUESTION, reason="r" * 1_003))

    assert prompt.reason.endswith("r… 3 more characters")


def test_subject_is_one_short_name() -> None:
    subject = prompt_for(replace(QUESTION, tool="t" * 500)).subject

    assert (len(subject), subject[-2:]) == (80, "t…")
    assert prompt_for(QUESTION).subject == "files/write_file"
    for where in ("https://a.example:443", "[serve it]"):
        assert prompt_for(replace(QUESTION, server=None, origin=where)).subject == "write_file"


def test_argument_cannot_look_like_the_prompt_by_being_wide() -> None:
    blanks = " " * 64
    lines = render(prompt_for(replace(QUESTION, arguments={"a": f"{blanks}rule  other"})), 80).splitlines()

    assert [line for line in lines if line.strip().startswith("rule")] == ["  rule         write_file"]


def test_wide_characters_wrap_where_the_terminal_would() -> None:
    lines = render(prompt_for(replace(QUESTION, arguments="東" * 100)), 60).splitlines()

    assert max(map(cell_len, lines)) < 60


TEXTS = st.text(max_size=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(arguments=JSON, name=TEXTS, reason=TEXTS, message=st.none() | TEXTS, width=st.integers(0, 200))
def test_nothing_that_a_peer_chose_begins_a_line_or_is_obeyed(
    arguments: Any, name: str, reason: str, message: str | None, width: int
) -> None:
    question = replace(
        QUESTION, arguments=arguments, tool=name or "t", client=name, reason=reason, message=message
    )
    prompt = prompt_for(question)
    lines = render(prompt, width, "k3f9q-7").split("\n")

    assert all(unicodedata.category(c) not in {"Cc", "Cf", "Zl", "Zp"} for line in lines for c in line)
    for line in lines[1:-1]:
        assert line[:4] == "  | " or line[2:13].strip() in LABELS | {""}
    together = "".join(line[4:] for line in lines if line[:4] == "  | ")
    assert together == prompt.arguments.replace("\n", "")


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_json_that_is_shown_whole_is_the_argument(value: Any) -> None:
    text = prompt_for(replace(QUESTION, arguments=value)).arguments
    if text.isascii() and "\\u{" not in text and "more characters" not in text:
        assert json.loads(text) == value


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("y", Reply.APPROVE),
        (" Yes \r", Reply.APPROVE),
        ("n", Reply.DENY),
        ("NO", Reply.DENY),
        ("", Reply.DENY),
        ("s", None),
        ("yy", None),
        ("y\x1b[A", None),
        ("ok", None),
        ("у", None),  # Cyrillic
    ],
)
def test_reply(typed: str, reply: Reply | None) -> None:
    assert read_reply(typed, prompt_for(QUESTION)) is reply


@pytest.mark.parametrize("remember", ["call", "tool"])
def test_reply_for_the_session_where_the_policy_lets_it(remember: str) -> None:
    prompt = prompt_for(replace(QUESTION, remember=remember))

    assert read_reply("s", prompt) is Reply.APPROVE_FOR_SESSION
    assert "s = yes, and for the session" in choices(prompt, 50)
    assert "session" not in choices(prompt_for(QUESTION), 50)
    assert "50 s" in choices(prompt, 50)
