"""The files of one log: the one that is written, and its segments, which rotation closed.

A segment of `audit.jsonl` is called `audit.jsonl.20270131T120000.000000Z`; nothing else is one, so
that retention never touches a file that rotation did not make.
"""

from __future__ import annotations

import re
import stat
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError
from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    import os
    from pathlib import Path

_STAMP = r"\.[0-9]{8}T[0-9]{6}\.[0-9]{6}Z"
_STAMP_LENGTH = len("20270131T120000.000000Z")
_GO_STAMP = r"\.[0-9]{8}T[0-9]{6}\.[0-9]{9}Z(?:\.[0-9]+)?"
_LOG = late_regex(rf".*\.(?:jsonl|ndjson|log)(?:{_STAMP}|{_GO_STAMP})?\Z")


def segment_path(path: Path, time: float) -> Path:
    """Give the name of a segment that is closed at `time`."""
    stamp = datetime.fromtimestamp(time, UTC).strftime("%Y%m%dT%H%M%S.%f")
    return path.with_name(f"{path.name}.{stamp}Z")


def closed_at(segment: Path) -> float:
    """Give the time in the name of a segment."""
    stamp = segment.name[-_STAMP_LENGTH:]
    return datetime.strptime(stamp, "%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC).timestamp()


def segments_of(path: Path) -> list[Path]:
    """Give the segments of the log at `path`, oldest first.

    Raises:
        OSError: The folder cannot be read.

    """
    name = re.compile(rf"{re.escape(path.name)}{_STAMP}\Z")
    found = [entry for entry in path.parent.iterdir() if name.match(entry.name)]
    return sorted(entry for entry in found if stat.S_ISREG(entry.lstat().st_mode))


def files_of(place: Path) -> list[Path]:
    """Give the files of the log at `place`, oldest first; of a folder, those of every log in it.

    Raises:
        AuditError: There is none, or it cannot be looked at.

    """
    try:
        if not place.is_dir():
            return [*segments_of(place), place]
        entries = sorted(entry for entry in place.iterdir() if _LOG.match(entry.name))
        files = {
            (status.st_dev, status.st_ino): entry for entry in entries if _is_file(status := entry.stat())
        }
    except OSError as error:
        raise AuditError(f"`{place}` cannot be read: {error.strerror}") from error
    if not files:
        raise AuditError(f"there is no audit log in `{place}`: expected files that end in `.jsonl`")
    return list(files.values())


def _is_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)
