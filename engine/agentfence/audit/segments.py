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
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from pathlib import Path

_STAMP = r"\.[0-9]{8}T[0-9]{6}\.[0-9]{6}Z"
_STAMP_LENGTH = len("20270131T120000.000000Z")
_SUFFIX_LENGTH = _STAMP_LENGTH + 1
_GO_STAMP = r"\.[0-9]{8}T[0-9]{6}\.[0-9]{9}Z(?:\.[0-9]+)?"
_SEGMENT = late_regex(rf".+{_STAMP}\Z")
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
    found = (entry for entry in path.parent.iterdir() if name.match(entry.name))
    return sorted(entry for entry in found if _is_time(entry) and _is_segment(entry))


@frozen
class Log:
    """A log, by the file that is written."""

    path: Path
    has_segments: bool = True
    """Whether there were any, or may have been, when it was looked at."""

    def files(self) -> list[Path]:
        """Give its files, oldest first."""
        return [*(segments_of(self.path) if self.has_segments else ()), self.path]


def logs_of(place: Path) -> list[Log]:
    """Give the log at `place`, or of a folder every log in it, also one that has nothing but segments.

    Raises:
        AuditError: There is none, or it cannot be looked at.

    """
    try:
        if not place.is_dir():
            return [Log(place.resolve() if place.is_symlink() else place)]
        entries = sorted(entry for entry in place.iterdir() if _LOG.match(entry.name) and entry.is_file())
        named: dict[Path, bool] = {}
        for entry in entries:
            file = entry.resolve() if entry.is_symlink() else entry
            is_segment = _SEGMENT.match(file.name) is not None
            path = file.with_name(file.name[:-_SUFFIX_LENGTH]) if is_segment else file
            named[path] = named.get(path, False) or is_segment or entry.is_symlink()
        logs = {_identity(path): Log(path, has_segments) for path, has_segments in named.items()}
    except OSError as error:
        raise AuditError(f"`{place}` cannot be read: {error.strerror or error}") from error
    if not logs:
        raise AuditError(f"there is no audit log in `{place}`: expected files that end in `.jsonl`")
    return [*logs.values()]


def files_of(place: Path) -> list[Path]:
    """Give the files of the log at `place`, oldest first; of a folder, those of every log in it.

    Raises:
        AuditError: There is none, or it cannot be looked at.

    """
    try:
        files = {_identity(file): file for log in logs_of(place) for file in log.files()}
    except OSError as error:
        raise AuditError(f"`{place}` cannot be read: {error.strerror or error}") from error
    return [file for identity, file in files.items() if identity != file]


def _identity(path: Path) -> object:
    """Give which file is at a path: a writer that is killed may leave one with two; the path when none is."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return path
    return status.st_dev, status.st_ino


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
