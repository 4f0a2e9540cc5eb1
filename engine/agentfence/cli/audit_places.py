"""Which log a sub-verb of `agentfence audit` is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.opening import state_folder
from agentfence.core.errors import AuditError, UsageError

if TYPE_CHECKING:
    import argparse


def add_log(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the log: an operand, or an option."""
    parser.add_argument("place", nargs="?", metavar="PATH", help="the same as --log PATH")
    parser.add_argument(
        "--log",
        metavar="PATH",
        help="a log with its closed segments, or a folder of logs (default: those in your state folder)",
    )


def place_of(arguments: argparse.Namespace) -> Path:
    """Give the log that is meant.

    Raises:
        AuditError: It is not there.
        UsageError: It is named twice, or by nothing, as a variable that is not set does.

    """
    if None not in {arguments.log, arguments.place}:
        raise UsageError(f"name one log: got `{arguments.place}` and --log `{arguments.log}`")
    given: str | None = arguments.place if arguments.log is None else arguments.log
    if given == "":
        raise UsageError(
            "the name of the log is empty; without one it is the folder in which each run has its file"
        )
    place = Path(state_folder(os.environ), "audit") if given is None else Path(given).expanduser()
    if place.exists():
        return place
    if given is None:
        raise AuditError(f"there is no `{place}`: no run has written there yet; name another log with --log")
    raise AuditError(f"there is no `{place}`")
