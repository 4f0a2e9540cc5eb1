"""Which log a sub-verb of `agentfence audit` is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.opening import state_folder
from agentfence.core.errors import AuditError

if TYPE_CHECKING:
    import argparse


def add_log(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names the log."""
    parser.add_argument(
        "--log",
        metavar="PATH",
        help="a log with its closed segments, or a folder of logs (default: those in your state folder)",
    )


def place_of(arguments: argparse.Namespace) -> Path:
    """Give the log that is meant.

    Raises:
        AuditError: It is not there.

    """
    given: str | None = arguments.log
    place = Path(given).expanduser() if given else Path(state_folder(os.environ), "audit")
    if not place.exists():
        raise AuditError(f"there is no `{place}`")
    return place
