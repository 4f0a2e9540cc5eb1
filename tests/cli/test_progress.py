"""The bar: on a terminal, and for what takes long alone."""

from __future__ import annotations

import io

from agentfence.cli import progress
from agentfence.cli.progress import ByteProgress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch, seconds: float, *, term: str = "xterm", stream=None, is_wanted: bool = True) -> str:
    """What is on the screen after two megabytes that took so long."""
    screen = Terminal() if stream is None else stream
    now = [0.0]
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with ByteProgress(10_000_000, is_wanted=is_wanted) as bar:
        now[0] = seconds
        bar.advance(1_000_000)
        bar.advance(1_000_000)
    return screen.getvalue()


def test_long_run_shows_how_far_it_is(monkeypatch):
    text = shown(monkeypatch, 5.0)

    assert "checking" in text
    assert "2.0/10.0 MB" in text


def test_short_run_shows_nothing(monkeypatch):
    assert shown(monkeypatch, 0.5) == ""


def test_nothing_is_shown_where_it_is_unwanted_or_there_is_no_terminal(monkeypatch):
    assert shown(monkeypatch, 5.0, is_wanted=False) == ""
    assert shown(monkeypatch, 5.0, term="dumb") == ""
    assert shown(monkeypatch, 5.0, stream=io.StringIO()) == ""
