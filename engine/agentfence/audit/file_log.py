"""An audit log in a file: one line an event, one chain however many processes write.

Each append holds the file's lock, looks whether others wrote or the file was replaced, and writes
one whole line. A line that could not be written whole is taken back, so that the log never holds
half an event; one that a killed writer left is cut off with a record of it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING

from agentfence.audit.ends import first_event, is_log, last_line
from agentfence.core.errors import AuditError
from agentfence.core.record import LONGEST_LINE, LONGEST_SEAL, Chain, hash_of_line, timestamp
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agentfence.core.constraints.interface import Json
    from agentfence.core.effects import Event

_PATIENCE = 10.0
"""Seconds that a lock is waited for, which others hold for as long as they write a line."""
_POLL = 0.000_5


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
        self._begun: float | None = None
        self._owed: list[Event] = []
        """What is to be said of the file before anything else is written to it."""
        self._size = 0
        """Where the last line ends that the chain goes on from."""
        try:
            self._descriptor, self._identity = self._open()
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
                self._descriptor, self._identity = self._open()
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                _wait_for_lock(self._descriptor)
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

    def _open(self) -> tuple[int, tuple[int, int]]:
        """Give the file at the path, and which one it is."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, 0o600)
        try:
            opened = os.fstat(descriptor)
            if not stat.S_ISREG(opened.st_mode):
                raise OSError(f"{self._path} is no regular file")
            if self._upkeep.fsync:
                _sync_folder(self._path)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor, _identity(opened)

    # what others did

    def _catch_up(self) -> None:
        """See what happened to the file since the last line of ours, and say what is to be said of it."""
        size = _size_at(self._path, self._identity)
        if size is None:
            self._change_files()
        elif size != self._size:
            self._read_on(size)
        while self._owed:
            self._write(self._owed[0])
            del self._owed[0]

    def _change_files(self) -> None:
        """Go on in the file that is at the path now. The chain goes on too: what is gone shows."""
        self._chain = self._chain_at_end()
        before = first_event(self._descriptor)
        while True:
            descriptor, identity = self._open()
            try:
                _wait_for_lock(descriptor)
                is_next = _is_next(before, first_event(descriptor))
                size = _size_at(self._path, identity)
            except BaseException:
                os.close(descriptor)
                raise
            if size is not None:
                break
            os.close(descriptor)  # it was replaced once more
        os.close(self._descriptor)
        self._descriptor, self._identity, self._begun = descriptor, identity, None
        if not is_next:
            self._owe_loss("the file was removed or replaced")
        self._size = 0
        self._read_on(size)

    def _chain_at_end(self) -> Chain:
        """Give the chain after the last line of the file that we have, which others may have written."""
        size = os.fstat(self._descriptor).st_size
        if not self._is_whole(size):
            return self._chain
        last, _ = last_line(self._descriptor, size, self._size)
        return self._chain if last is None else self._chain.after(hash_of_line(last))

    def _read_on(self, size: int) -> None:
        """Take in what others wrote. A torn line is cut off: the call that it was about was never sent on."""
        is_lost = self._size > 0 and not self._is_whole(size)
        start = 0 if is_lost else self._size
        if not start and not is_log(self._descriptor):
            raise OSError("there is something in it that is no audit log")
        last, torn = last_line(self._descriptor, size, start)
        if torn:
            os.ftruncate(self._descriptor, size - len(torn))
        if is_lost:
            self._owe_loss("the file was cut short or rewritten")
            self._begun = None
        if torn:
            self._owe(
                "log_repaired",
                reason="the last line was not whole and was cut off",
                cut_bytes=len(torn),
                cut_sha256=sha256(torn).hexdigest(),
            )
        if last is not None:
            self._chain = self._chain.after(hash_of_line(last))
        self._size = size - len(torn)

    def _is_whole(self, size: int) -> bool:
        """Whether the last line that we know of is where it was: a file can be cut and grow again."""
        known = self._chain.last_hash
        if size < self._size or not self._size or known is None:
            return size >= self._size
        start = max(0, self._size - LONGEST_SEAL - 1)
        end = os.pread(self._descriptor, self._size - start, start)
        return end.endswith(b"}\n") and hash_of_line(end[:-1]) == known

    def _owe_loss(self, reason: str) -> None:
        self._owe("log_replaced", reason=reason, lost_hash=self._chain.last_hash)

    def _owe(self, kind: str, **members: str | int | None) -> None:
        self._owed.append(self._about_log(kind, members))

    # rotation

    def _keep_up(self) -> None:
        from pathlib import Path

        from agentfence.audit.rotation import is_due, rotate

        now, upkeep = self._clock(), self._upkeep
        if upkeep.max_age is not None and self._size > 0 and self._begun is None:
            self._begun = _begun_at(self._descriptor, now)
        if not is_due(self._size, self._begun, now, max_size=upkeep.max_size, max_age=upkeep.max_age):
            return
        new = rotate(Path(os.path.realpath(self._path)), self._chain, now)
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

        from agentfence.audit.retention import old_segments

        old, last_hash = old_segments(Path(os.path.realpath(self._path)), self._descriptor, keep)
        if not old:
            return
        removed: dict[str, Json] = {"segments": [segment.name for segment in old], "last_hash": last_hash}
        reason = "as many segments are kept as audit_keep says"
        self._write(self._about_log("segments_removed", {"reason": reason, **removed}))
        # The newest first: each one that is left still goes on from one that is there, or is the first.
        with suppress(OSError):  # one that stays is removed next time, with those before it
            for segment in reversed(old):
                segment.unlink()

    # writing

    def _about_log(self, kind: str, members: Mapping[str, Json]) -> Event:
        return {"kind": kind, "timestamp": timestamp(self._clock()), **members}

    def _write(self, event: Event) -> None:
        line, chain = self._chain.seal(event)
        size = len(line)
        if size > LONGEST_LINE:
            raise OSError(f"an event of {size} bytes is longer than a line may be")
        written = os.write(self._descriptor, line)
        if written != size:
            self._take_back()
            raise OSError(f"only {written} of {size} bytes could be written")
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
        os.ftruncate(self._descriptor, self._size)  # else the next append finds it

    def _error(self, error: OSError) -> AuditError:
        reason, folder = error.strerror or str(error), os.path.dirname(os.path.abspath(self._path))
        if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
            reason = f"there is no folder {folder}"
        return AuditError(f"the audit log {self._path} cannot be written: {reason}")


def _size_at(path: str, identity: tuple[int, int]) -> int | None:
    """Give the size of the file at a path; None when that is another one."""
    try:
        there = os.stat(path)
    except FileNotFoundError:
        return None
    return there.st_size if _identity(there) == identity else None


def _identity(file: os.stat_result) -> tuple[int, int]:
    return file.st_ino, file.st_dev


def _begun_at(descriptor: int, now: float) -> float:
    """Give the time of the file's first event, so that a restart does not make it younger."""
    try:
        return datetime.fromisoformat(str(first_event(descriptor).get("timestamp"))).timestamp()
    except ValueError:
        return now


def _is_next(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether rotation put a file that begins with the event `now` in the place of one that began so.

    An older state of the log that somebody put back was begun by rotation as well, but not by a later one.
    """
    if now.get("kind") != "log_rotated":
        return False
    return str(now.get("previous")) > (str(before.get("previous")) if "previous" in before else "")


def _wait_for_lock(descriptor: int) -> None:
    """Take the lock of a file.

    Raises:
        OSError: It is held too long: whoever holds it must not bring every message to a stop.

    """
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OSError(f"another process has had it locked for {_PATIENCE:.0f} seconds") from None
            time.sleep(_POLL)
        else:
            return


def _sync_folder(path: str) -> None:
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
