"""`agentfence audit anchor`: note the last line of a log, to be kept somewhere else."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.verifying import verify_log
from agentfence.cli.audit_places import add_log, place_of
from agentfence.core.audit.anchors import Anchor
from agentfence.core.audit.reports import Status, chain_of
from agentfence.core.errors import AuditError, UsageError
from agentfence.core.record import timestamp

if TYPE_CHECKING:
    import argparse

    from agentfence.core.audit.reports import LogReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    parser.add_argument("--out", metavar="FILE", help="where the anchor is written (default: stdout)")
    parser.add_argument("--sign-key", metavar="FILE", help="sign the anchor with this key")


def run(arguments: argparse.Namespace) -> int:
    """Verify the log and write its anchor; give 0.

    Raises:
        AuditError: The log is not fine, so nothing can be said of its last line.
        UsageError: There are several logs, or the anchor cannot be written.

    """
    anchor = _anchor_of(verify_log(place_of(arguments)))
    if arguments.sign_key:
        from agentfence.audit.keys import read_private_key

        anchor = anchor.signed(read_private_key(Path(arguments.sign_key).expanduser()))
    if not arguments.out:
        print(anchor.text())
        return 0
    try:
        Path(arguments.out).expanduser().write_text(anchor.text() + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write `{arguments.out}`: {error.strerror}") from error
    return 0


def _anchor_of(report: LogReport) -> Anchor:
    if report.status is not Status.OK:
        finding = report.findings[0]
        raise AuditError(f"the log is {finding.status} and cannot be anchored: {finding.reason}")
    try:
        last, count = chain_of(report.files)
    except ValueError as error:
        raise UsageError(str(error)) from error
    (session_id, *more) = last.session_ids
    return Anchor(
        count or last.events,
        last.last_seq,
        last.last_hash or "",
        timestamp(time.time()),
        session_id if not more and len(report.files) == 1 else None,
    )
