from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_patterns import compile_host_pattern, compile_url_pattern

CASES = Path(__file__).parents[2] / "cases" / "urls"
PATTERNS = yaml.safe_load((CASES / "patterns.yaml").read_text(encoding="utf-8"))["patterns"]
BAD = yaml.safe_load((CASES / "bad_patterns.yaml").read_text(encoding="utf-8"))
PIECES = st.sampled_from(
    [
        *(
            "https",
            "http",
            "foo",
            "*",
            "**",
            "://",
            ":",
            "/",
            "//",
            "?",
            "#",
            "[",
            "]",
            "\\",
            ".",
            "..",
            "%2f",
        ),
        *("@", "h.example", "*.h.example", "10.0.0.0", "/8", "[::1]", "8080", "é", "ß", "\n", " ", "\0"),
        "\ud800",
    ]
)


@pytest.mark.parametrize("case", PATTERNS, ids=lambda case: case["pattern"])
def test_pattern_covers_what_its_case_says(case: dict[str, Any]) -> None:
    pattern = compile_url_pattern(case["pattern"], deny=case.get("deny", False))

    assert not [url for url in case["covers"] if not pattern.matches(url)]
    assert not [url for url in case["leaves"] if pattern.matches(url)]


@pytest.mark.parametrize(
    ("case", "deny"),
    [*((case, False) for case in BAD["allow"]), *((case, True) for case in BAD["deny"])],
    ids=lambda value: value["pattern"] if isinstance(value, dict) else ("deny" if value else "allow"),
)
def test_bad_pattern_is_refused_with_its_reason(case: dict[str, str], deny: bool) -> None:
    with pytest.raises(ValueError) as caught:
        compile_url_pattern(case["pattern"], deny=deny)

    assert case["words"] in str(caught.value)


@pytest.mark.parametrize("text", ["a/b", "a?b", "a#b", "*a", "a b", "", "*.", "127.1"])
def test_host_pattern_is_a_host_and_no_more(text: str) -> None:
    with pytest.raises(ValueError):
        compile_host_pattern(text)


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=8).map("".join), st.lists(PIECES, max_size=8).map("".join), st.booleans())
def test_any_text_is_a_pattern_or_a_value_error_and_then_matches_any_text(
    pattern: str, url: str, deny: bool
) -> None:
    try:
        compiled = compile_url_pattern(pattern, deny=deny)
    except ValueError:
        return

    assert compiled.matches(url) in (True, False)


@settings(max_examples=200)
@given(
    st.sampled_from([case for case in PATTERNS if not case.get("deny")]),
    st.lists(PIECES | st.text(max_size=3), max_size=6).map("".join),
)
def test_deny_pattern_covers_all_that_the_same_allow_pattern_covers(case: dict[str, Any], tail: str) -> None:
    allow = compile_url_pattern(case["pattern"], deny=False)
    deny = compile_url_pattern(case["pattern"], deny=True)

    for url in [*case["covers"], *(url + tail for url in case["covers"])]:
        assert deny.matches(url) or not allow.matches(url)
