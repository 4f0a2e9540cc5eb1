"""Line breaks and here-documents: what is text stays text. The tables are test_shell_reading.py's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.constraints.shell_reading import read_shell

line_texts = st.text(st.sampled_from("ab $`'\"\\();|&<#\t"), max_size=8)


@given(st.lists(line_texts.filter(lambda line: line != "END"), max_size=5))
def test_quoted_here_document_is_text_whatever_it_holds(body):
    script = read_shell("\n".join(["a <<'END'; b", *body, "END", "c"]))

    assert [[word.text for word in command.words] for command in script.commands] == [["a"], ["b"], ["c"]]
    assert "".join(f"{line}\n" for line in body) == script.commands[0].inputs[0].text


@given(st.lists(st.sampled_from(["", " ", "\t", "# x", "# 'x", "\\\n"]), max_size=6))
def test_blank_lines_and_comments_hold_no_command(blank_lines):
    script = read_shell("\n".join(["a", *blank_lines, "b"]))

    assert [[word.text for word in command.words] for command in script.commands] == [["a"], ["b"]]
