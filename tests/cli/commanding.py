"""The command line run in this process: what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import io
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentfence.cli.main import main

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True)
class Ended:
    """One run."""

    status: int | str | None
    out: str
    err: str


def run(*arguments: str) -> Ended:
    """Run a command line that reads nothing from stdin."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status: int | str | None = main(arguments)
        except SystemExit as ended:
            status = ended.code
    return Ended(status, out.getvalue(), err.getvalue())


def run_with_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes, *arguments: str) -> Ended:
    """Run a command line that reads `content` from stdin."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        return run(*arguments)
