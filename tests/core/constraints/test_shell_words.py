"""Words of the shell language: what was quoted comes back. The tables are test_shell_reading.py's."""

from __future__ import annotations

import re
import shlex

from hypothesis import assume, given
from hypothesis import strategies as st

from agentfence.core.constraints.shell_reading import read_shell
from agentfence.core.constraints.shell_words import Word

texts = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=["C", "Z"]) | st.just(" ")
)


def words_of(text):
    script = read_shell(text)
    assume(not isinstance(script, str))
    return [command.words for command in script.commands]


@given(texts)
def test_single_quotes_hold_any_text(text):
    assert words_of(f"a {shlex.quote(text)}; b") == [(Word("a"), Word(text)), (Word("b"),)]


@given(texts)
def test_double_quotes_hold_any_text_with_escapes(text):
    escaped = re.sub(r'(["$`\\])', r"\\\1", text)

    assert words_of(f'a "{escaped}"; b') == [(Word("a"), Word(text)), (Word("b"),)]


@given(texts)
def test_backslashes_hold_any_text(text):
    escaped = re.sub(r"([^\w])", r"\\\1", text)

    assert words_of(f"a x{escaped}; b") == [(Word("a"), Word(f"x{text}")), (Word("b"),)]
