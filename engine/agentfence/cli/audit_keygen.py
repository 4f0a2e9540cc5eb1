"""`agentfence audit keygen`: make a pair of Ed25519 keys to sign logs and anchors with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--private", metavar="FILE", required=True, help="the key that signs; for its owner alone"
    )
    parser.add_argument("--public", metavar="FILE", required=True, help="the key that verifies")


def run(arguments: argparse.Namespace) -> int:
    """Write both keys; give 0.

    Raises:
        UsageError: A file exists, or cannot be written.

    """
    from agentfence.audit.keys import make_keys

    make_keys(Path(arguments.private).expanduser(), Path(arguments.public).expanduser())
    return 0
