"""Why a command cannot be run, and what to do about it."""

from __future__ import annotations

import os

CANNOT_RUN = 126
NOT_FOUND = 127
"""As env(1) and nohup(1) have them."""


def status_of(error: OSError) -> int:
    """Give the exit status for a command that could not be started."""
    return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN


def describe_failure(program: str, error: OSError) -> str:
    """Say in one sentence why `program` could not be started; `error` is what starting it raised."""
    return f"cannot run `{program}`: {_reason(program, error)}"


def _reason(program: str, error: OSError) -> str:
    if not program:
        return "expected a program, got an empty name"
    if isinstance(error, FileNotFoundError) and "/" not in program:
        return "there is no such program on the PATH, which may be another than yours: write its full path"
    if isinstance(error, FileNotFoundError):
        is_there = os.path.exists(program)
        return "what its first line says to run it with is not there" if is_there else "there is no such file"
    if os.path.isdir(program):
        return "it is a folder"
    if isinstance(error, PermissionError) and os.path.isfile(program) and not os.access(program, os.X_OK):
        return "it is not executable: `chmod +x` makes it so, or begin the command with what runs it"
    return (error.strerror or str(error)).lower()
