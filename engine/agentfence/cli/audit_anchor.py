"""`agentfence audit anchor`: note the last line of a log, to be kept somewhere else."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.verifying import size_of, verify_log
from agentfence.cli.audit_places import add_log, place_of
from agentfence.cli.progress import ByteProgress
from agentfence.core.audit.anchors import Anchor, read_anchor
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
    place, out = place_of(arguments), Path(arguments.out).expanduser() if arguments.out else None
    before = None if out is None else _anchor_at(out)
    with ByteProgress(size_of(place), is_wanted=True) as progress:
        anchor = _anchor_of(verify_log(place, anchor=before, advance=progress.advance))
    if arguments.sign_key:
        from agentfence.audit.keys import read_private_key

        anchor = anchor.signed(read_private_key(Path(arguments.sign_key).expanduser()))
    if out is None:
        print(anchor.text())
    else:
        _write(out, anchor.text() + "\n")
    return 0


def _anchor_at(out: Path) -> Anchor | None:
    """Give the anchor that is to be written over: its event must still be in the log.

    Otherwise the next anchor would hide that the end was cut off.
    """
    if not out.is_file():
        return None
    try:
        return read_anchor(out.read_bytes())
    except AuditError as error:
        raise UsageError(f"`{out}` exists, and is not written over: {error}") from error
    except OSError as error:
        raise UsageError(f"cannot read `{out}`: {error.strerror}") from error


def _write(out: Path, text: str) -> None:
    """Write a file in one step, so that the anchor before is never lost for half a new one."""
    try:
        if out.exists() and not out.is_file():
            out.write_text(text, encoding="utf-8")
            return
        out = out.resolve()
        beside = out.with_name(f".{out.name}.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(out)
    except OSError as error:
        raise UsageError(f"cannot write `{out}`: {error.strerror}") from error


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
