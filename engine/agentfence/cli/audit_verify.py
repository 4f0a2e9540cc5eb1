"""`agentfence audit verify`: show that a log is as it was written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.verifying import size_of, verify_log
from agentfence.cli.audit_places import add_log, place_of
from agentfence.cli.progress import ByteProgress
from agentfence.cli.terminal import Paint
from agentfence.core.audit.anchors import read_anchor
from agentfence.core.audit.reports import Status
from agentfence.core.errors import AuditError, UsageError
from agentfence.core.values import as_dict
from agentfence.core.visible import visible

if TYPE_CHECKING:
    import argparse

    from agentfence.core.audit.anchors import Anchor
    from agentfence.core.audit.reports import Finding, LogReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = "Exit status: 0 when every line is as it was written and in its place, else 4; 2 usage."
    add_log(parser)
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="how the outcome is printed"
    )
    parser.add_argument("--pubkey", metavar="FILE", help="every event must be signed by this key")
    parser.add_argument(
        "--anchor", metavar="FILE", help="the event that `agentfence audit anchor` noted must be in it"
    )
    parser.add_argument("--anchor-pubkey", metavar="FILE", help="the anchor must be signed by this key")


def run(arguments: argparse.Namespace) -> int:
    """Verify; give 0 when all of it is shown to be as written, else 4."""
    anchor = _read_anchor(arguments)
    check_signature = None
    if arguments.pubkey:
        from agentfence.audit.keys import read_public_key

        check_signature = read_public_key(Path(arguments.pubkey).expanduser())
    place = place_of(arguments)
    with ByteProgress(size_of(place), is_wanted=True) as progress:
        report = verify_log(place, check_signature=check_signature, anchor=anchor, advance=progress.advance)
    if arguments.output == "json":
        print(json.dumps(_as_json(report, anchor)))  # in ASCII: names of files may be no Unicode
    else:
        _print(report, is_key_given=check_signature is not None, anchor=anchor)
    return 0 if report.status is Status.OK else AuditError.exit_status


def _read_anchor(arguments: argparse.Namespace) -> Anchor | None:
    """Give the anchor that was named.

    Raises:
        AuditError: It cannot be read, or is not signed by the key that was named.
        UsageError: A key for an anchor is named, and no anchor.

    """
    if not arguments.anchor:
        if arguments.anchor_pubkey:
            raise UsageError("--anchor-pubkey goes with --anchor")
        return None
    try:
        anchor = read_anchor(Path(arguments.anchor).expanduser().read_bytes())
    except OSError as error:
        raise AuditError(f"the anchor `{arguments.anchor}` cannot be read: {error.strerror}") from error
    if arguments.anchor_pubkey:
        from agentfence.audit.keys import read_public_key

        check = read_public_key(Path(arguments.anchor_pubkey).expanduser())
        if anchor.signature is None or not check(anchor.digest(), anchor.signature):
            raise AuditError("the anchor is not signed by this key")
    return anchor


def _as_json(report: LogReport, anchor: Anchor | None) -> dict[str, object]:
    return {
        "status": report.status,
        "events": report.events,
        "signed": sum(file.signed for file in report.files),
        "not_written": report.not_written,
        "anchored": anchor is not None and any(file.anchored for file in report.files),
        "files": [
            {"file": file.name, "events": file.events, "last_hash": file.last_hash} for file in report.files
        ],
        "findings": [as_dict(finding) for finding in report.findings],
    }


def _print(report: LogReport, *, is_key_given: bool, anchor: Anchor | None) -> None:
    paint = Paint(sys.stdout)
    for finding in report.findings:
        print(f"{paint(finding.status.upper(), 'red')}: {_place(finding)}: {finding.reason}")
    files = f"{len(report.files)} file" + ("s" if len(report.files) != 1 else "")
    if report.status is not Status.OK:
        print(f"{report.events} events read in {files}: {report.status}")
        return
    signed = sum(file.signed for file in report.files)
    notes = [f"{report.events} events in {files} are as they were written, in their order"]
    if is_key_given:
        notes.append("all signed by this key")
    elif signed:
        notes.append(f"{signed} signatures were not checked: name the key with --pubkey")
    if report.not_written:
        notes.append(f"it says itself that {report.not_written} could not be written")
    notes.append("the anchored event is in it" if anchor else "a cut end shows only with --anchor")
    print(f"{paint('OK', 'green')}: {'; '.join(notes)}")


def _place(finding: Finding) -> str:
    line = "" if finding.line is None else f":{finding.line}"
    byte = "" if finding.offset is None else f" (byte {finding.offset})"
    return visible(finding.file) + line + byte
