"""Plain command lines: what passes is the same words for every reader at hand."""

from __future__ import annotations

import shlex
import string

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from shell_stub import SHELLS, Stub

from agentfence.core.constraints.plain_words import UNSAFE_CHARACTER, read_plain_commands

BARE = [
    "a",
    "b1",
    "README.md",
    "-x",
    "--y",
    "x=y",
    "HEAD~1",
    "user@h",
    "%s",
    "50%",
    "./c/..",
    "+",
    "é",
    "日本",
    "a:",
    "2",
]
SPECIAL = [
    *"~@,=:#*?[]{}!$`\\()|&;<>^'\"“ｘ\t\n\r\0\x1b\u00a0\u200b",
    "a=~",
    "-a.b",
    "$x",
    "{a,b}",
    "9>",
    "''",
]
signs = st.sampled_from([*string.printable, *"é日👍—“ｘ"])
quoted = st.text(signs, min_size=1, max_size=6)
single_quoted = quoted.map("'{}'".format)
plain_words = st.one_of(
    st.sampled_from(BARE),
    quoted.map('"{}"'.format),
    quoted.map('--x="{}"'.format),
    st.sampled_from(["'a#'", "'*'", "'{$x}'", "'README.md'"]),
)
plain_lines = st.lists(plain_words, max_size=4).map(" ".join)
lines = st.lists(st.sampled_from([*BARE, *SPECIAL, " ", '"', "'"]), max_size=8).map("".join)


@pytest.fixture(scope="module")
def stub(tmp_path_factory):
    stub = Stub(tmp_path_factory.mktemp("plain"), ["tool"])
    (stub.work / "README.md").touch()
    return stub


@given(st.one_of(lines, st.text(max_size=40), st.text(string.printable, max_size=40)))
@example("\ud800")
def test_any_text_is_words_or_a_reason(text):
    for pipes in (False, True):
        commands = read_plain_commands(text, pipes=pipes)

        assert isinstance(commands, str) or (commands and all(commands) and all(map(all, commands)))


@settings(max_examples=200)
@given(plain_lines)
def test_shlex_reads_the_same_words(line):
    commands = read_plain_commands(f"tool {line}")
    assume(not isinstance(commands, str))

    assert [tuple(shlex.split(f"tool {line}"))] == commands


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_runs_the_same_words(shell, stub):
    @settings(max_examples=80, deadline=None)
    @given(lines)
    @example('HEAD~1 a@b x=1 50% "a b" \'a#\' --x="a b"')
    @example('"* ~ # { } ( ) ; & | < > [ ] ? , ^ \' é 日本語 👍 —"')
    def runs_the_same_words(line):
        commands = read_plain_commands(f"tool {line}")

        assert isinstance(commands, str) or commands == stub.run(shell, f"tool {line}")

    runs_the_same_words()


@pytest.mark.parametrize("shell", SHELLS)
def test_every_posix_shell_runs_the_same_words(shell, stub):
    @settings(max_examples=80, deadline=None)
    @given(st.one_of(lines, st.lists(st.one_of(plain_words, single_quoted), max_size=4).map(" ".join)))
    @example("'a; b' a,b @x x#y --x='$(a) `b`' 50% '\\w+ \"c\" !x' ',' ,a a^b")
    def runs_the_same_words(line):
        commands = read_plain_commands(f"tool {line}", posix=True)

        assert isinstance(commands, str) or commands == stub.run(shell, f"tool {line}")

    runs_the_same_words()


@given(st.lists(st.one_of(plain_words, st.sampled_from(BARE)), max_size=4).map(" ".join))
def test_what_is_plain_for_any_shell_is_so_for_posix(line):
    commands = read_plain_commands(f"tool {line}")
    assume(not isinstance(commands, str))

    assert commands == read_plain_commands(f"tool {line}", posix=True)


@given(plain_lines)
def test_a_pipeline_is_its_commands(line):
    command = read_plain_commands(f"tool {line}")
    assume(not isinstance(command, str))

    assert [*command, *command] == read_plain_commands(f"tool {line}|tool {line}", pipes=True)
    assert isinstance(read_plain_commands(f"tool {line}|tool {line}"), str)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ls\nid", "a line break"),
        ("ls;id", "a command separator"),
        ('"ls";id', "a command separator"),
        ("ls | id", "a pipe"),
        ("ls > x", "a redirection"),
        ('ls "a $x"', "a variable or substitution"),
        ("ls *", "a file pattern"),
        ("ls {a,b}", "a brace"),
        ("(ls)", "a group"),
        ("ls \\", "a backslash"),
        ("ls #", "a comment"),
        ('ls "a #1 (b)\\."', "a backslash"),
        ('ls "!"', "a negation or history reference"),
        ("ls a^b", "a character that cmd.exe reads"),
        ("X=1 ls", "an assignment"),
        ("ls ~", "a character that some shell reads (double quotes around the word help)"),
        ("", "no command"),
        ("ls \x1b", UNSAFE_CHARACTER),
        ("ls\t-l", UNSAFE_CHARACTER),
        ("ls \u2019", UNSAFE_CHARACTER),
    ],
)
def test_reason_names_what_stands_in_the_way(line, reason):
    assert reason in read_plain_commands(line)
