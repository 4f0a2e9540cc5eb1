"""Closes the file of a log and begins the next, which goes on with the chain.

The path is never without a file, and the new one has its first line before anybody can open it: so
a process that starts in between neither waits nor begins a chain of its own.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from agentfence.audit.segments import closed_at, segment_path, segments_of
from agentfence.core.record import timestamp
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from pathlib import Path

    from agentfence.core.record import Chain


@frozen
class NewFile:
    """The file that was begun; its lock is held."""

    descriptor: int
    chain: Chain
    size: int


def is_due(
    size: int, begun: float | None, now: float, *, max_size: int | None, max_age: float | None
) -> bool:
    """Whether a file of `size` bytes, whose first event is of the time `begun`, is to be closed."""
    if size <= 0:
        return False
    is_full = max_size is not None and size >= max_size
    return is_full or (max_age is not None and begun is not None and now - begun >= max_age)


def rotate(path: Path, chain: Chain, now: float) -> NewFile:
    """Close the file at `path`, whose lock the caller holds, and begin the next.

    Raises:
        OSError: It cannot be done; the file stays as it is.

    """
    new_path = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):  # whoever holds the lock is alone here: one that was killed left it
        new_path.unlink()
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(new_path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        segment = _link_as_segment(path, now)
        try:
            line, chain = chain.seal(
                {"kind": "log_rotated", "timestamp": timestamp(now), "previous": segment.name}
            )
            if os.write(descriptor, line) != len(line):
                raise OSError("the first line of the next file could not be written whole")
            new_path.replace(path)
        except OSError:
            segment.unlink()
            raise
    except OSError:
        os.close(descriptor)
        with suppress(OSError):
            new_path.unlink()
        raise
    return NewFile(descriptor, chain, len(line))


def _link_as_segment(path: Path, now: float) -> Path:
    """Give the file its second name, after those of all segments, also when the clock went back."""
    segments = segments_of(path)
    if segments:
        if segments[-1].samefile(path):  # a writer that was killed here named it
            return segments[-1]
        now = max(now, closed_at(segments[-1]) + 0.000_002)
    while True:
        try:
            segment = segment_path(path, now)
        except (ValueError, OverflowError):
            raise OSError(f"no name of a segment comes after {segments[-1].name}") from None
        try:
            segment.hardlink_to(path)
        except FileExistsError:
            now += 0.000_002  # one microsecond could be lost in rounding
        else:
            return segment
