"""Reads the files of a log and has them verified."""

from __future__ import annotations

import fcntl
import io
import os
import stat
from contextlib import ExitStack
from typing import TYPE_CHECKING

from agentfence.audit.segments import files_of
from agentfence.core.audit.reports import join_files
from agentfence.core.audit.verification import FileVerification
from agentfence.core.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentfence.core.audit.anchors import Anchor
    from agentfence.core.audit.reports import FileReport, LogReport
    from agentfence.core.audit.verification import CheckSignature

    type Advance = Callable[[int], None]

LONGEST_LINE = 67_108_864


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
    reports: list[FileReport] = []
    for file in files_of(place):
        verification = FileVerification(str(file), check_signature, wanted)
        for line in lines_of(file):
            verification.feed(line)
            if verification.is_over:
                break
            advance(len(line or b""))
        reports.append(verification.end())
    return join_files(tuple(reports), anchor)


def size_of(place: Path) -> int:
    """Give how many bytes there are to read.

    Raises:
        AuditError: It cannot be looked at.

    """
    try:
        return sum(file.stat().st_size for file in files_of(place))
    except OSError as error:
        raise AuditError(f"`{place}` cannot be read: {error.strerror}") from error


def lines_of(path: Path) -> Iterator[bytes | None]:
    """Give the lines that a file has now, with their ends; None for one that is too long.

    What a writer appends meanwhile is left out, and a line that it is just writing is waited for.

    Raises:
        AuditError: It cannot be read.

    """
    try:
        with ExitStack() as opened:
            file = opened.enter_context(_open(path))
            left = _size_between_lines(file.fileno())
            while left > 0 and (line := file.readline(min(left, LONGEST_LINE))):
                left -= len(line)
                if line.endswith(b"\n") or left <= 0 or len(line) < LONGEST_LINE:
                    yield line
                    continue
                yield None
                return
    except OSError as error:
        raise AuditError(f"`{path}` cannot be read: {error.strerror or error}") from error


def _open(path: Path) -> io.BufferedReader:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no regular file")
    return io.BufferedReader(io.FileIO(descriptor), 1 << 18)


def _size_between_lines(descriptor: int) -> int:
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    try:
        return os.fstat(descriptor).st_size
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
