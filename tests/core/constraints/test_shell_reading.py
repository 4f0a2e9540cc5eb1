"""Shell scripts: every command that a shell would run is found, or the script is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_stub import SHELLS, Stub

from agentfence.core.constraints.shell_reading import Script, read_shell

FOLDER = Path(__file__).parents[2] / "cases" / "command" / "shell"
COMMANDS, REFUSED, SCRIPTS = (
    yaml.safe_load((FOLDER / name).read_text("utf-8"))
    for name in ("commands.yaml", "refused.yaml", "scripts.yaml")
)
POSIX_SHELLS = [shell for shell in SHELLS if shell != "fish"]


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: ascii(case["text"]))
def test_commands_are_those_in_the_table(case):
    script = read_shell(case["text"])

    assert isinstance(script, Script), script
    assert case["commands"] == [
        ["="] * command.assigns + ["?" * (not word.is_known) + word.text for word in command.words]
        for command in script.commands
    ]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: ascii(case["text"]))
def test_ambiguous_text_is_refused_with_its_reason(case):
    assert case["reason"] in read_shell(case["text"])


def test_pipelines_are_given_whole_and_in_pairs():
    script = read_shell("a 'b  c' | d |\n e; f | g; h; $(i | j)")

    assert script.pipelines == ["a b  c | d | e", "a b  c | d", "d | e", "f | g", "f | g", "i | j", "i | j"]


def test_input_belongs_to_its_command():
    script = read_shell("a <<X $y <<'Z' | b <<< 'c d'\n1\nX\n$2\nZ\nc <<< $(d <<< e)")

    inputs = {command.words[0].text: [word.text for word in command.inputs] for command in script.commands}
    assert inputs == {"a": ["1\n", "$2\n"], "b": ["c d"], "d": ["e"], "c": ["$(d <<< e)"]}


def test_input_that_the_shell_changes_is_not_known():
    script = read_shell("a <<X\n$1\nX\nb <<'X'\n$1\nX\nc <<< $1")

    assert [command.inputs[0].is_known for command in script.commands] == [False, True, False]


@pytest.mark.parametrize("opening", ["$(", "${x:-", "<(", "$((", "((", '"$('])
def test_nesting_is_bounded(opening):
    assert isinstance(read_shell(f"a {opening * 1000}"), str)


def test_nesting_of_here_documents_is_bounded():
    text = "a"
    for number in range(25):
        text = f"a <<X{number}\n$({text}\n)\nX{number}"

    assert "deeply nested" in read_shell(text)


def test_number_of_commands_is_bounded():
    assert isinstance(read_shell("a;" * 2000), Script)
    assert isinstance(read_shell("a;" * 2001), str)


@given(st.text(max_size=60))
def test_any_text_is_a_script_or_a_reason(text):
    assert isinstance(read_shell(text), Script | str)


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    return Stub(tmp_path_factory.mktemp("shell"), [f"w{number}" for number in range(10)])


def missed_commands(text, shell, stub):
    """Give what the shell ran although the reader saw nothing like it."""
    script = read_shell(text)
    if isinstance(script, str):
        return []
    if any(command.words and not command.words[0].is_known for command in script.commands):
        return []
    commands = [command.words for command in script.commands if command.words]
    exact = {tuple(word.text for word in words) for words in commands}
    changed = {words[0].text for words in commands if not all(word.is_known for word in words)}
    runs_others = bool({words[0].text for words in commands} & {"eval", "time", "-"})
    return [
        command
        for command in stub.run(shell, text)
        if command not in exact and command[0] not in changed and not runs_others
    ]


@pytest.mark.parametrize("shell", POSIX_SHELLS)
@pytest.mark.parametrize("text", SCRIPTS, ids=ascii)
def test_no_shell_runs_what_was_not_found(text, shell, stub):
    assert missed_commands(text, shell, stub) == []


words = st.sampled_from(
    [
        *(f"w{number}" for number in range(10)),
        *["'a;w1'", '"a', '$(w2)"', "$(w3)", "`w4`", "$x", "x=1", "{a,b}", "\\;"],
    ]
)
TOKENS = [
    "w0",
    "w1 a",
    "w2",
    ";",
    "\n",
    "|",
    "||",
    "&&",
    "'",
    '"',
    "`",
    "$(",
    ")",
    "(",
    "{ ",
    "; }",
    "}",
    ">f",
    "<",
    "<<E\n",
]
TOKENS += [
    "\nE\n",
    "\\",
    "\\\n",
    "#",
    "!",
    "$",
    "=",
    "[",
    "]",
    "[[ ",
    " ]]",
    "((",
    "))",
    ",",
    "*",
    "if ",
    "; then ",
    "; fi",
]
TOKENS += [
    "for x in ",
    "; do ",
    "; done",
    "case a in ",
    " esac",
    ";;",
    "${x:-",
    "$'",
    "<(",
    "<<<",
    "2>&1",
    "x=(",
    "time ",
    " ",
]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_no_mix_of_syntax_hides_a_command(shell, stub):
    @settings(max_examples=100, deadline=None)
    @given(
        st.lists(st.one_of(words, st.sampled_from(TOKENS), st.just(" ")), min_size=2, max_size=12).map(
            "".join
        )
    )
    def hides_nothing(text):
        assert missed_commands(text, shell, stub) == []

    hides_nothing()
