"""Colours: on a terminal alone, and not where they are unwanted."""

from __future__ import annotations

import io

import pytest

from agentfence.cli.terminal import Paint, say


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_words_are_coloured_on_a_terminal():
    paint = Paint(Terminal())

    assert paint.decision("deny") == "\x1b[31mdeny\x1b[0m"
    assert paint.decision("allow") != paint.decision("ask").replace("ask", "allow")
    assert paint("x", "bold") == "\x1b[1mx\x1b[0m"


def test_nothing_is_coloured_elsewhere(monkeypatch):
    assert Paint(io.StringIO()).decision("deny") == "deny"
    monkeypatch.setenv("NO_COLOR", "1")
    assert Paint(Terminal()).decision("deny") == "deny"
    monkeypatch.setenv("NO_COLOR", "")
    assert Paint(Terminal()).is_on
    monkeypatch.setenv("TERM", "dumb")
    assert not Paint(Terminal()).is_on


def test_what_is_said_goes_to_stderr_and_drives_no_terminal(capsys):
    say("a \x1b[2J b")
    captured = capsys.readouterr()

    assert (captured.out, captured.err) == ("", "agentfence: a \\u{1b}[2J b\n")
