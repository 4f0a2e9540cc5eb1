"""An audit log in a file: one line an event, one chain however many processes write.

Each append holds the file's lock, looks whether others wrote or the file was replaced, and writes
one whole line. A line that could not be written whole is taken back, so that the log never holds
half an event; one that a killed writer left is cut off with a record of it.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError
from agentfence.core.record import Chain, hash_of_line, timestamp
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agentfence.core.effects import Event

_BLOCK = 65_536
_NEVER_A_SIZE = -1


@frozen
class Upkeep:
    """What is done about the file besides appending."""

    fsync: bool = False
    """Have each event on the disk before its message goes on."""
    max_size: int | None = None
    """Bytes from which on a new file is begun."""
    max_age: float | None = None
    """Seconds from its first event after which a new file is begun."""
    keep: int | None = None
    """How many closed segments stay; None: all."""


PLAIN = Upkeep()


class FileLog:
    """Appends to one file."""

    def __init__(
        self, path: str | os.PathLike[str], chain: Chain, clock: Callable[[], float], upkeep: Upkeep = PLAIN
    ) -> None:
        """Open or create `path` (readable by its owner alone).

        Raises:
            AuditError: It cannot be opened for appending, or is no regular file.

        """
        self._path = os.fspath(path)
        self._chain = chain
        self._clock = clock
        self._upkeep = upkeep
        self._descriptor = -1
        self._identity = (-1, -1)
        self._size = _NEVER_A_SIZE
        self._begun: float | None = None
        try:
            self._open()
        except OSError as error:
            raise self._error(error) from error
        self.description = self._path

    def append(self, event: Event) -> None:
        """Write one event, whole, before returning.

        Raises:
            AuditError: It is not written.

        """
        try:
            if self._descriptor < 0:
                self._open()
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            try:
                self._catch_up()
                if self._upkeep.max_size is not None or self._upkeep.max_age is not None:
                    self._keep_up()
                self._write(event)
            finally:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        except OSError as error:
            raise self._error(error) from error

    def close(self) -> None:
        """End the log."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode):
            os.close(descriptor)
            raise OSError(f"{self._path} is no regular file")
        self._descriptor, self._identity = descriptor, _identity(opened)
        self._size = _NEVER_A_SIZE  # the first append looks what is there
        self._begun = None
        if self._upkeep.fsync:
            _sync_folder(self._path)

    # what others did

    def _catch_up(self) -> None:
        """See what happened to the file since the last line of ours."""
        size, was_replaced = self._size_at_path(), False
        if size == self._size:
            return
        known, known_size = self._chain.last_hash, self._size
        while size is None:
            self._reopen()
            size, was_replaced = self._size_at_path(), True
        if size != self._size:
            was_cut = not was_replaced and size < known_size
            self._read_tail(size)
            lost = known is not None and (known != self._chain.last_hash or not size)
            if was_cut and lost:
                self._write_loss("the file was cut short", known)
        if was_replaced and not (size and _first_event(self._descriptor).get("kind") == "log_rotated"):
            self._write_loss("the file was removed or replaced", known)

    def _size_at_path(self) -> int | None:
        """Give the size of the file at the path; None when that is another one than ours."""
        try:
            there = os.stat(self._path)
        except FileNotFoundError:
            return None
        return there.st_size if _identity(there) == self._identity else None

    def _reopen(self) -> None:
        """Go on in the file that is at the path now. The chain goes on too: what is gone shows."""
        previous = self._descriptor
        self._open()
        os.close(previous)
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def _read_tail(self, size: int) -> None:
        last, torn = _last_line(self._descriptor, size)
        if last is not None:
            self._chain = self._chain.after(hash_of_line(last))
        self._size = size
        if torn:
            self._repair(size, torn)

    def _repair(self, size: int, torn: bytes) -> None:
        """Cut off what a killed writer left; the call that it was about was never sent on."""
        self._size = _NEVER_A_SIZE
        os.ftruncate(self._descriptor, size - len(torn))
        self._size = size - len(torn)
        self._note(
            "log_repaired",
            reason="the last line was not whole and was cut off",
            cut_bytes=len(torn),
            cut_sha256=sha256(torn).hexdigest(),
        )

    def _write_loss(self, reason: str, known: str | None) -> None:
        self._note("log_replaced", reason=reason, lost_hash=known)

    # rotation

    def _keep_up(self) -> None:
        from pathlib import Path

        from agentfence.audit.rotation import is_due, rotate

        now, upkeep = self._clock(), self._upkeep
        if upkeep.max_age is not None and self._size > 0 and self._begun is None:
            self._begun = _begun_at(self._descriptor, now)
        if not is_due(self._size, self._begun, now, max_size=upkeep.max_size, max_age=upkeep.max_age):
            return
        new = rotate(Path(self._path), self._chain, now)
        previous, self._descriptor = self._descriptor, new.descriptor
        self._identity = _identity(os.fstat(new.descriptor))
        os.close(previous)
        self._chain, self._size, self._begun = new.chain, new.size, now
        if upkeep.fsync:
            os.fsync(self._descriptor)
            _sync_folder(self._path)
        if upkeep.keep is not None:
            self._remove_segments(upkeep.keep)

    def _remove_segments(self, keep: int) -> None:
        """Remove the oldest segments, and say so before: what is missing is then known to be."""
        from pathlib import Path

        from agentfence.audit.segments import segments_of

        segments = segments_of(Path(self._path))
        old = segments[: max(0, len(segments) - keep)]
        if not old:
            return
        descriptor = os.open(old[-1], os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            last, _ = _last_line(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)
        self._note(
            "segments_removed",
            reason="as many segments are kept as audit_keep says",
            segments=[segment.name for segment in old],
            last_hash=None if last is None else hash_of_line(last),
        )
        for segment in old:
            with suppress(OSError):  # one that stays is removed next time
                segment.unlink()

    # writing

    def _note(self, kind: str, **members: str | int | list[str] | None) -> None:
        """Write an event about the log itself."""
        self._write({"kind": kind, "timestamp": timestamp(self._clock()), **members})  # type: ignore[dict-item]

    def _write(self, event: Event) -> None:
        line, chain = self._chain.seal(event)
        written = os.write(self._descriptor, line)
        if written != len(line):
            self._take_back()
            raise OSError(f"only {written} of {len(line)} bytes could be written")
        if self._upkeep.fsync:
            try:
                os.fdatasync(self._descriptor)
            except OSError:
                self._take_back()
                raise
        self._size += written
        self._chain = chain

    def _take_back(self) -> None:
        """Cut off a line that does not count."""
        size, self._size = self._size, _NEVER_A_SIZE
        os.ftruncate(self._descriptor, size)  # else the next append finds it torn
        self._size = size

    def _error(self, error: OSError) -> AuditError:
        reason = error.strerror or str(error)
        return AuditError(f"the audit log {self._path} cannot be written: {reason}")


def _identity(file: os.stat_result) -> tuple[int, int]:
    return file.st_ino, file.st_dev


def _begun_at(descriptor: int, now: float) -> float:
    """Give the time of the file's first event, so that a restart does not make it younger."""
    try:
        return datetime.fromisoformat(str(_first_event(descriptor).get("timestamp"))).timestamp()
    except ValueError:
        return now


def _first_event(descriptor: int) -> dict[str, Any]:
    from agentfence.audit.rotation import first_event

    return first_event(descriptor)


def _sync_folder(path: str) -> None:
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _last_line(descriptor: int, size: int) -> tuple[bytes | None, bytes]:
    """Give the last whole line without its end, and what follows it without one."""
    tail = b""
    position = size
    while position > 0 and tail.count(b"\n") < 2:
        start = max(0, position - _BLOCK)
        tail = os.pread(descriptor, position - start, start) + tail
        position = start
    whole, newline, torn = tail.rpartition(b"\n")
    if not newline:
        return None, torn
    return whole.rpartition(b"\n")[2], torn
