"""JSON is shown in lines of visible characters, and reads back where nothing was left out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.shown_json import json_lines

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
PLAIN = st.recursive(
    st.none() | st.integers() | st.text(alphabet='abc "\\é'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='ab"'), inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(PLAIN)
def test_plain_values_read_back(value: Any) -> None:
    assert json.loads("\n".join(json_lines(value, 100))) == value


@settings(deadline=None)
@given(VALUES)
def test_no_line_has_what_cannot_be_seen(value: Any) -> None:
    assert all(line.isprintable() for line in json_lines(value, 100))


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ({}, ["{}"]),
        ([], ["[]"]),
        ({"a": [1, "x"], "b": None}, ["{", '  "a": [', "    1,", '    "x"', "  ],", '  "b": null', "}"]),
        ("a\u202e\x1b", ['"a\\u{202e}\\u001b"']),
        (
            {"k" * 12: "x" * 11 + "y"},
            [
                "{",
                '  "kkkkkkkk"… 2 more characters …"kk": "xxxxxxxx"… 2 more characters …"xy"',
                "}",
            ],
        ),
    ],
)
def test_value_is_shown(value: Any, lines: list[str]) -> None:
    assert list(json_lines(value, 10)) == lines
