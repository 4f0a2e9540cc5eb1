"""What a command may run where nobody can say for certain. Most cases are in the tables of test_command.py."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.constraints.command_guesses import find_guesses, is_interpreter
from agentfence.core.constraints.command_known import INTERPRETERS
from agentfence.core.constraints.shell_words import Word


def guesses(name, *texts):
    return find_guesses(name, [Word(text) for text in texts], [])


def test_program_that_is_known_runs_nothing():
    assert guesses("grep", "-r", "rm x", ".") is None
    assert guesses("gcc-13", "rm") is None


@pytest.mark.parametrize(
    ("words", "texts"),
    [
        (["a", "b c"], ["b c"]),
        (["-x", "b c"], ["b c"]),
        (["--x=b c"], ["--x=b c", "b c", "x=b c"]),
        (["-xb c"], ["-xb c", "b c"]),
        (["a;b"], ["a;b"]),
        (["!a b"], ["!a b", "a b"]),
        ([".shell a b"], [".shell a b", "a b"]),
        (["--message", "b c"], []),
        (["--title=b c"], []),
    ],
)
def test_text_for_an_unknown_program_may_be_a_line(words, texts):
    assert texts == [text for text in guesses("foo", *words).texts if text]


def test_words_of_an_unknown_program_may_be_programs():
    assert guesses("foo", "a", "b c", "d").line == " a b\x1fc d"


@pytest.mark.parametrize(
    ("code", "texts"),
    [
        ("os.system('a b')", ["a b"]),
        ('run(["a", "b"])', ["a", "a b"]),
        ("x('a'); y('b')", []),
        ("d['a']", []),
        ("popen('a')", ["a"]),
        ("f('''a b\n''')", ["a b\n"]),
        ("`a b`", ["a b"]),
        ("qx{a b}", ["a b"]),
        ("system(%w[a b])", ["a b"]),
        ("# don't\nf('a b')", ["a b"]),
        (r"f('\x61 \u0062 \143 \'d')", ["a b c 'd"]),
        ("'a", []),
    ],
)
def test_texts_in_code_may_be_lines(code, texts):
    assert texts == list(guesses("python3.12", "-c", code).texts)


def test_words_behind_code_may_be_programs():
    assert " -c\x1f" not in guesses("awk", "{ print }", "a").line
    assert guesses("perl", "-e", "x", "a", "b").line == " -e x a b"
    assert guesses("python", "x.py", "a", "b").line == ""


def test_code_on_standard_input_is_read():
    assert find_guesses("python", [Word("-")], [Word("os.system('a b')")]).texts == ("a b",)


def test_code_of_an_interpreter_behind_an_unknown_program_is_read():
    assert "a b" in guesses("foo", "/usr/bin/python3", "-c", "f('a b')").texts
    assert is_interpreter("/usr/bin/python3.12")
    assert not is_interpreter("ls")


@given(st.sampled_from([*INTERPRETERS, "foo"]), st.lists(st.text("a ;\"'`\\x{[(q!", max_size=12), max_size=4))
def test_any_words_are_looked_through(name, texts):
    assert all(isinstance(text, str) for text in guesses(name, *texts).texts)


@pytest.mark.parametrize(
    "piece", ["'", '"', "`", "'''a", "q(", "%w[", "'a b',", "\\", "'\"", '"""', "system "]
)
def test_time_is_bounded_for_hostile_code(piece):
    started = process_time()
    guesses("python", "-c", (piece * 65_536)[:65_536])

    assert process_time() - started < 1
