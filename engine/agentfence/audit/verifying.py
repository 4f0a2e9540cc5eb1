"""Reads the files of a log and has them verified."""

from __future__ import annotations

import fcntl
import io
import os
import stat
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from agentfence.audit.ends import first_event
from agentfence.audit.segments import files_of, logs_of, segments_of
from agentfence.core.audit.reports import join_files
from agentfence.core.audit.verification import FileVerification
from agentfence.core.errors import AuditError
from agentfence.core.record import LONGEST_LINE
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentfence.audit.segments import Log
    from agentfence.core.audit.anchors import Anchor
    from agentfence.core.audit.reports import FileReport, LogReport
    from agentfence.core.audit.verification import CheckSignature

    type Advance = Callable[[int], None]

_MOST_ATTEMPTS = 1_000


def verify_log(
    place: Path,
    *,
    check_signature: CheckSignature | None = None,
    anchor: Anchor | None = None,
    advance: Advance = lambda _size: None,
) -> LogReport:
    """Give what the log at `place` is: a file with its segments, or a folder of logs.

    Raises:
        AuditError: It cannot be read.

    """
    wanted = {anchor.last_hash} if anchor is not None else set[str]()

    def report_on(part: Part) -> FileReport:
        verification = FileVerification(str(part.path), check_signature, wanted)
        verification.report.log = str(part.log)
        for line in part.lines:
            verification.feed(line)
            if verification.is_over:
                break
            advance(len(line or b""))
        return verification.end()

    reports: list[FileReport] = []
    for log in logs_of(place):
        reports += _read_whole(log, report_on)
    return join_files(tuple(reports), anchor)


def _read_whole(log: Log, report_on: Callable[[Part], FileReport]) -> list[FileReport]:
    for _ in range(_MOST_ATTEMPTS):
        with suppress(_ThinnedOutError):
            return [report_on(part) for part in parts_of(log, is_whole=True)]
    raise AuditError(f"`{log.path}` is rotated faster than it can be read")


def size_of(place: Path) -> int:
    """Give how many bytes there are to read.

    Raises:
        AuditError: It cannot be looked at.

    """
    size = 0
    for file in files_of(place):
        with suppress(FileNotFoundError):  # retention was faster
            size += file.stat().st_size
    return size


@frozen
class Part:
    """One file of a log, as it was when the log was opened."""

    path: Path
    log: Path
    lines: Iterator[bytes | None]
    """With their ends; None for one that is too long. They are read while they are asked for."""


class _ThinnedOutError(Exception):
    """Retention removed a file before it was read."""


def parts_of(log: Log, *, is_whole: bool = False) -> Iterator[Part]:
    """Give the files of a log, oldest first; the lines of each are asked for before the next one is.

    What a writer appends meanwhile is left out, with the files that it begins, and a line that it is
    just writing is waited for. A closed file that retention removes meanwhile is left out as well,
    unless all are wanted (`is_whole`).

    Raises:
        AuditError: A file cannot be read.
        _ThinnedOutError: One of them was removed, and all are wanted.

    """
    path = log.path
    with ExitStack() as opened:
        try:
            before = log.files()
            # Opened before the others are listed: what is closed by then is older, or is this file, or newer.
            newest = opened.enter_context(open_regular(path)) if path.exists() else None
            end = 0 if newest is None else _size_between_lines(newest.fileno())
            segments = _segments_before(newest, before, is_whole=is_whole)
        except OSError as error:
            raise _unreadable(path, error) from error
        for segment in segments:
            try:
                file = open_regular(segment)
            except FileNotFoundError:
                if is_whole:
                    raise _ThinnedOutError from None
                continue
            except OSError as error:
                raise _unreadable(segment, error) from error
            with file:
                yield Part(segment, path, _lines(segment, file, _size_between_lines(file.fileno())))
        if newest is not None:
            yield Part(path, path, _lines(path, newest, end))


def _segments_before(newest: io.BufferedReader | None, before: list[Path], *, is_whole: bool) -> list[Path]:
    """Give the segments that `newest` goes on from; `before` it was opened, these were the log's files."""
    *older, path = before
    if newest is not None and not older and first_event(newest.fileno()).get("kind") != "log_rotated":
        return []
    segments = segments_of(path)
    if newest is None:
        return segments
    status = os.fstat(newest.fileno())
    if is_whole and not (status.st_nlink and {*older} <= {*segments}):
        raise _ThinnedOutError  # what says so may be too new to be read
    same = [number for number, segment in enumerate(segments) if _is_file(segment, status)]
    return segments[: same[0]] if same else segments


def _is_file(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except FileNotFoundError:
        return False


def _lines(path: Path, file: io.BufferedReader, left: int) -> Iterator[bytes | None]:
    try:
        while left > 0 and (line := file.readline(min(left, LONGEST_LINE))):
            left -= len(line)
            if line.endswith(b"\n") or left <= 0 or len(line) < LONGEST_LINE:
                yield line
                continue
            yield None
            return
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> AuditError:
    return AuditError(f"`{path}` cannot be read: {error.strerror or error}")


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file for reading; never waits for who writes to a pipe.

    Raises:
        OSError: It cannot be read, or is no regular file.

    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file")
    return io.BufferedReader(io.FileIO(descriptor), 1 << 18)


def _size_between_lines(descriptor: int) -> int:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:  # a file system without locks, where nobody writes a log either
        return os.fstat(descriptor).st_size
    try:
        return os.fstat(descriptor).st_size
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
