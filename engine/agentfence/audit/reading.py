"""Reads the events of logs, in order, and those that come."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from agentfence.audit.segments import files_of
from agentfence.audit.verifying import parts_of
from agentfence.core.audit.verification import read_event
from agentfence.core.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    type ReadLine = tuple[bytes, dict[str, Any] | None]
    """A line with its end, and the event in it; None where it is none."""

_PATIENCE = 0.2


def read_events(place: Path, advance: Callable[[int], None]) -> Iterator[ReadLine]:
    """Give every line of the log at `place`, or of the logs in that folder.

    Raises:
        AuditError: It cannot be read.

    """
    for part in parts_of(place):
        for line in part.lines:
            advance(len(line or b""))
            yield line or b"", read_event(line) if line and line.endswith(b"\n") else None


def newest_log(place: Path) -> Path:
    """Give the log at `place`, or of a folder the one that was written last.

    Raises:
        AuditError: There is none.

    """
    if not place.is_dir():
        return place
    return max(files_of(place), key=lambda file: file.stat().st_mtime)


class Tail:
    """The lines of one file, and those that come after."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            AuditError: It cannot be opened.

        """
        self._path = path
        self._partial = b""
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise AuditError(f"`{path}` cannot be read: {error.strerror}") from error

    def lines(self) -> Iterator[ReadLine]:
        """Give the whole lines that are there and were not given yet."""
        while line := self._file.readline():
            self._partial += line
            if line.endswith(b"\n"):
                whole, self._partial = self._partial, b""
                yield whole, read_event(whole)

    def follow(self) -> Iterator[ReadLine]:
        """Give the lines that come, over rotations, until it is stopped."""
        while True:
            was_replaced = _is_replaced(self._path, self._file.fileno())  # asked first: its last lines count
            yield from self.lines()
            if not was_replaced:
                time.sleep(_PATIENCE)
                continue
            with suppress(FileNotFoundError):
                following = self._next_file().open("rb")
                self._file.close()
                self._file, self._partial = following, b""

    def _next_file(self) -> Path:
        """Give the file that goes on from the one that was closed: the next segment, or the log itself."""
        files = files_of(self._path)
        number = os.fstat(self._file.fileno()).st_ino
        for file, following in pairwise(files):
            if file.stat().st_ino == number:
                return following
        return self._path


def _is_replaced(path: Path, descriptor: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:  # it may come again
        return False
    here = os.fstat(descriptor)
    return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino)
