"""Programs that run programs: what is seen of it. Most cases are in the tables of test_command.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.constraints import command_launching
from agentfence.core.constraints.command_launchers import INSIDE, INSIDE_AT_ONCE, OPTION_SCRIPTS
from agentfence.core.constraints.command_launching import Launched, find_launched, program_name
from agentfence.core.constraints.shell_words import UnreadableError, Word


def launched(line, *inputs):
    return find_launched([Word(text) for text in line.split(" ")], inputs)


def commands_of(line):
    return [" ".join(word.text for word in command) for command in launched(line).commands]


@pytest.mark.parametrize(
    ("executable", "name"),
    [
        ("git", "git"),
        ("/usr/bin/git", "git"),
        ("C:\\Git\\git.EXE", "git"),
        ("GIT.cmd", "git"),
        ("./git.sh", "git.sh"),
        ("dir/", ""),
        ("", ""),
    ],
)
def test_program_is_named_without_folder_suffix_and_case(executable, name):
    assert name == program_name(executable)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sudo a b", ["a b"]),
        ("sudo", []),
        ("sudo -n -u x -- a", ["a"]),
        ("sudo -nux a", ["a"]),
        ("sudo --user=x --login a", ["a"]),
        ("env -i -u X A=1 B= a c=d", ["a c=d"]),
        ("env A=1", []),
        ("timeout -k 5 10 a", ["a"]),
        ("timeout 5", []),
        ("nice -5 a", ["a"]),
        ("xargs -0 -n1 -I {} a {}", ["a {}"]),
        ("find . -exec a {} ; -ok b + c {} + -print", ["a {}", "b + c {}"]),
        ("fd x -x a b", ["a b"]),
        ("git bisect run a b", ["a b"]),
        ("- a", ["a"]),
    ],
)
def test_command_behind_options_is_found(line, expected):
    assert expected == commands_of(line)


@pytest.mark.parametrize(
    "line",
    [
        "sudo -Z a",
        "sudo --odd a",
        "env -S a",
        "timeout 5 -x a",
        "sh -c",
        "sh +x -c a",
        "find . -exec ;",
        "pwsh -enc A",
    ],
)
def test_what_cannot_be_seen_is_refused(line):
    with pytest.raises(UnreadableError):
        launched(line)


@pytest.mark.parametrize(
    "name", ["sudo", "env", "sh -c", "eval", "timeout", "ssh", "trap", "su -c", "cmd /c"]
)
def test_word_that_the_shell_puts_together_hides_what_is_run(name):
    words = [*map(Word, name.split(" ")), Word("$x", is_known=False), Word("a")]

    with pytest.raises(UnreadableError):
        find_launched(words)


def test_shell_without_a_script_runs_its_input():
    assert launched("bash", Word("a")) == Launched(scripts=["a"])
    assert launched("bash -s x", Word("a")) == Launched(scripts=["a"])
    assert launched("bash script.sh", Word("a")) == Launched(inside=[(Word("script.sh"),)])
    with pytest.raises(UnreadableError):
        launched("bash", Word("$x", is_known=False))


def test_other_programs_run_only_themselves():
    assert launched("ls -la") is None
    assert find_launched([]) is None


NAMES = [
    *command_launching.PREFIXES,
    *INSIDE,
    *INSIDE_AT_ONCE,
    *OPTION_SCRIPTS,
    *command_launching._SHELLS,
    *command_launching._OTHERS,
]
ARGUMENTS = [
    "-c",
    "-x",
    "-exec",
    ";",
    "+",
    "{}",
    "--",
    "-",
    "-o",
    "run",
    "bisect",
    "foreach",
    "submodule",
    "A=1",
    "/c",
    "a",
]


@given(st.sampled_from(NAMES), st.lists(st.sampled_from(ARGUMENTS) | st.text(max_size=4), max_size=6))
def test_any_arguments_are_read_or_refused(name, arguments):
    try:
        launched = find_launched(list(map(Word, [name, *arguments])))
    except UnreadableError:
        return

    if launched is None:
        return
    assert all(command for command in [*launched.commands, *launched.inside])
    assert all(isinstance(script, str) for script in launched.scripts)
