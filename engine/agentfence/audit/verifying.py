"""Reads the files of a log and has them verified."""

from __future__ import annotations

import fcntl
import io
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING

from agentfence.audit.segments import files_of, identified_files_of, log_of
from agentfence.core.audit.reports import join_files
from agentfence.core.audit.verification import FileVerification
from agentfence.core.errors import AuditError
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from agentfence.core.audit.anchors import Anchor
    from agentfence.core.audit.reports import LogReport
    from agentfence.core.audit.verification import CheckSignature

    type Advance = Callable[[int], None]

LONGEST_LINE = 67_108_864
_BEGINNING = 128
"""Bytes at the start of a file in which its first line names its run and its number in it."""


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
    verifications: dict[int, FileVerification] = {}
    rounds: dict[int, int] = {}
    for part in parts_of(place):
        rounds[part.number] = part.round
        verification = verifications.get(part.number)
        if verification is None:
            verification = FileVerification("", check_signature, wanted)
            verifications[part.number] = verification
        verification.report.name, verification.report.log = str(part.path), log_of(part.path)
        for line in part.lines:
            verification.feed(line)
            if verification.is_over:
                break
            advance(len(line or b""))
    last = max(rounds.values(), default=0)  # what retention removed meanwhile is no part of the log any more
    there = (verification for number, verification in verifications.items() if rounds[number] == last)
    return join_files(tuple(verification.end() for verification in there), anchor)


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
    """Lines of one file that follow one another."""

    number: int
    """Of the file: rotation gives it another name while it is read."""
    round: int
    """How often all files were gone through before: until they stay the same."""
    path: Path
    lines: Iterator[bytes | None]
    """With their ends; None for one that is too long. They are read while they are asked for."""


def parts_of(place: Path) -> Iterator[Part]:
    """Give every line of the files of a log, and of those that rotation begins meanwhile.

    What a writer appends meanwhile to the last of them is left out, and a line that it is just writing
    is waited for. The lines of a part are asked for before the next part is.

    Raises:
        AuditError: A file cannot be read.

    """
    ends: dict[bytes, tuple[int, int]] = {}  # by how a file begins: its number, and where reading stopped
    read: dict[tuple[int, int], Path] = {}
    rounds = -1
    while (files := identified_files_of(place)) != read:
        read, rounds = files, rounds + 1
        for path in files.values():
            try:
                file = open_regular(path)
            except FileNotFoundError:  # retention was faster, and said so in a file that is read later
                continue
            except OSError as error:
                raise _unreadable(path, error) from error
            with file:
                end, beginning = _size_between_lines(file.fileno()), os.pread(file.fileno(), _BEGINNING, 0)
                key = b"%d %s" % (os.fstat(file.fileno()).st_ino, beginning)
                number, start = ends.get(key, (len(ends), 0))
                ends[key] = number, max(start, end)
                file.seek(start)
                yield Part(number, rounds, path, _lines(path, file, end - start))


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
