"""Whether two patterns may fit one text: a table, and every short text tried."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.policy.globs_overlap import may_overlap

TEXTS = ["".join(letters) for length in range(5) for letters in product("ab/", repeat=length)]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("/mcp", "/mcp", True),
        ("/mcp", "/mcp/", False),
        ("/mcp*", "/mcp", True),
        ("/*/mcp", "/a/*", True),
        ("/*", "/a/b", False),
        ("/**", "/a/b", True),
        ("/a/**", "/b/**", False),
        ("**/a", "**/b", False),
        ("/[ab]", "/a", True),
        ("/?", "//", False),
        (r"/\*", "/a", False),
        (r"/\*", "/*", True),
        ("a" * 200 + "*", "*" + "a" * 200, True),
    ],
)
def test_patterns_overlap(left, right, expected):
    assert expected is may_overlap(left, right)
    assert expected is may_overlap(right, left)


@given(st.text("ab/*?", min_size=1, max_size=5), st.text("ab/*?", min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
def test_patterns_that_fit_one_text_are_never_held_apart(left, right):
    one, other = compile_glob(left), compile_glob(right)
    shared = [text for text in TEXTS if one.matches(text) and other.matches(text)]

    assert may_overlap(left, right) or not shared
    assert shared or not may_overlap(left, right) or "**/" in left + right or len(left + right) > 4
