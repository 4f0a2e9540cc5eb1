"""The files of one log: the one that is written, and its segments, which rotation closed.

A segment of `audit.jsonl` is called `audit.jsonl.20270131T120000.000000Z`; nothing else is one, so
that retention never touches a file that rotation did not make.
"""

from __future__ import annotations

import re
import stat
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError
from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from pathlib import Path

_STAMP = r"\.[0-9]{8}T[0-9]{6}\.[0-9]{6}Z"
_STAMP_LENGTH = len("20270131T120000.000000Z")
_GO_STAMP = r"\.[0-9]{8}T[0-9]{6}\.[0-9]{9}Z(?:\.[0-9]+)?"
_ANY_STAMP = late_regex(rf"(?:{_STAMP}|{_GO_STAMP})\Z")
_LOG = late_regex(rf".*\.(?:jsonl|ndjson|log)(?:{_STAMP}|{_GO_STAMP})?\Z")


def segment_path(path: Path, time: float) -> Path:
    """Give the name of a segment that is closed at `time`."""
    stamp = datetime.fromtimestamp(time, UTC).strftime("%Y%m%dT%H%M%S.%f")
    return path.with_name(f"{path.name}.{stamp}Z")


def closed_at(segment: Path) -> float:
    """Give the time in the name of a segment."""
    stamp = segment.name[-_STAMP_LENGTH:]
    return datetime.strptime(stamp, "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC).timestamp()


def log_of(file: Path) -> str:
    """Give the log that a file is, or is a segment of."""
    return _ANY_STAMP.sub("", str(file))


def segments_of(path: Path) -> list[Path]:
    """Give the segments of the log at `path`, oldest first.

    Raises:
        OSError: The folder cannot be read.

    """
    name = re.compile(rf"{re.escape(path.name)}{_STAMP}\Z")
    found = (entry for entry in path.parent.iterdir() if name.match(entry.name))
    return sorted(entry for entry in found if _is_time(entry) and _is_segment(entry))


def files_of(place: Path) -> list[Path]:
    """Give the files of the log at `place`, oldest first; of a folder, those of every log in it.

    Raises:
        AuditError: There is none, or it cannot be looked at.

    """
    return list(identified_files_of(place).values())


def identified_files_of(place: Path) -> dict[tuple[int, int], Path]:
    """Give such files by their device and number.

    Raises:
        AuditError: There is none, or it cannot be looked at.

    """
    try:
        if not place.is_dir():
            log = place.resolve() if place.is_symlink() else place
            return _identified([*segments_of(log), log])
        entries = [entry for entry in place.iterdir() if _LOG.match(entry.name) and entry.is_file()]
        found = [files_of(entry) if entry.is_symlink() else [entry] for entry in sorted(entries, key=_order)]
        files = _identified([file for files in found for file in files])
    except OSError as error:
        raise AuditError(f"`{place}` cannot be read: {error.strerror or error}") from error
    if not files:
        raise AuditError(f"there is no audit log in `{place}`: expected files that end in `.jsonl`")
    return files


def _order(file: Path) -> tuple[str, bool, str]:
    log = log_of(file)
    return log, str(file) == log, file.name  # a log goes on from its segments


def _identified(files: list[Path]) -> dict[tuple[int, int], Path]:
    """Give files without second names, as a writer leaves one that is killed while it closes a file."""
    by_number: dict[tuple[int, int], Path] = {}
    for file in files:
        with suppress(FileNotFoundError):  # retention was faster
            status = file.stat()
            by_number[status.st_dev, status.st_ino] = file
    return by_number


def _is_segment(entry: Path) -> bool:
    try:
        return stat.S_ISREG(entry.lstat().st_mode)
    except FileNotFoundError:
        return False


def _is_time(segment: Path) -> bool:
    try:
        closed_at(segment)
    except ValueError:
        return False
    return True
