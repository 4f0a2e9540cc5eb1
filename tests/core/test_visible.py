from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.visible import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("read_file docs/a.md", "read_file docs/a.md"),
        ("Zürich – 東京 🙂", "Zürich – 東京 🙂"),
        ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
        ("a\rb\nc\td\0", "a\\u{d}b\\u{a}c\\u{9}d\\u{0}"),
        ("\u202egnp.exe", "\\u{202e}gnp.exe"),
        ("pass\u200bword", "pass\\u{200b}word"),
        ("a\u00a0b\u3000c", "a\\u{a0}b\\u{3000}c"),
        ("\u3164\u2800\uffa0", "\\u{3164}\\u{2800}\\u{ffa0}"),
        ("\U000e0041\U000e0101", "\\u{e0041}\\u{e0101}"),
        ("\u2028\u0085\ud800\ue000", "\\u{2028}\\u{85}\\u{d800}\\u{e000}"),
        ("\u0378", "\\u{378}"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_shown_text_holds_no_invisible_character(text: str) -> None:
    shown = visible(text)

    assert not any(unicodedata.category(c)[0] in "CZ" and c != " " for c in shown)
    assert visible(shown) == shown
