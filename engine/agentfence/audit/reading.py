"""Reads the events of logs, in order, and those that come."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from agentfence.audit.segments import files_of, logs_of
from agentfence.audit.verifying import open_regular, parts_of
from agentfence.core.audit.verification import read_event as read_object
from agentfence.core.errors import AuditError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedReader
    from pathlib import Path

    type ReadLine = tuple[bytes, dict[str, Any] | None]
    """A line with its end, and the event in it; None where it is none."""

_PATIENCE = 0.2
_BLOCK = 262_144


def read_event(line: bytes) -> dict[str, Any] | None:
    """Give the event in a line; None where it is none, as JSON of something else is."""
    event = read_object(line)
    return event if event is not None and "schema_version" in event else None


def read_events(place: Path, advance: Callable[[int], None]) -> Iterator[ReadLine]:
    """Give every line of the log at `place`, or of the logs in that folder.

    Raises:
        AuditError: It cannot be read.

    """
    for part in chain.from_iterable(map(parts_of, logs_of(place))):
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
    return max(files_of(place), key=_last_change)


def _last_change(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:  # retention was faster
        return 0.0


class Tail:
    """The last lines of one log, and those that come after."""

    def __init__(self, path: Path) -> None:
        """Open the file.

        Raises:
            AuditError: It cannot be opened.

        """
        self._path = path
        try:
            self._file = open_regular(path)
        except OSError as error:
            raise AuditError(f"`{path}` cannot be read: {error.strerror or error}") from error

    def last(
        self, count: int, is_wanted: Callable[[dict[str, Any]], bool]
    ) -> list[tuple[bytes, dict[str, Any]]]:
        """Give the last events of those that are there; what `follow` gives comes after them.

        Raises:
            AuditError: A closed file cannot be read.

        """
        end = os.fstat(self._file.fileno()).st_size
        unfinished, lines = _backwards(self._file, end)
        self._file.seek(end - len(unfinished))
        found: list[tuple[bytes, dict[str, Any]]] = []
        lines = chain(lines, self._lines_before())
        while len(found) < count and (line := next(lines, None)) is not None:
            event = read_event(line)
            if event is not None and is_wanted(event):
                found.append((line + b"\n", event))
        return found[::-1]

    def follow(self) -> Iterator[ReadLine]:
        """Give the lines that come, over rotations, until it is stopped."""
        while True:
            was_replaced = _is_replaced(self._path, self._file.fileno())  # asked first: its last lines count
            yield from self._lines()
            if not was_replaced:
                time.sleep(_PATIENCE)
                continue
            with suppress(FileNotFoundError):
                following = open_regular(self._next_file())
                if os.path.samestat(os.fstat(following.fileno()), self._next_file().stat()):
                    self._file, following = following, self._file
                following.close()  # the one before; or one that came later, when rotation was faster

    def _lines(self) -> Iterator[ReadLine]:
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)  # it was cut short: what is there now is new
        while line := self._file.readline():
            if not line.endswith(b"\n"):
                self._file.seek(-len(line), os.SEEK_CUR)  # it is just being written
                return
            yield line, read_event(line)

    def _lines_before(self) -> Iterator[bytes]:
        """Give the lines of the closed files, the last one first."""
        for segment in reversed(files_of(self._path)[:-1]):
            with suppress(FileNotFoundError), segment.open("rb") as file:  # retention may be faster
                yield from _backwards(file, os.fstat(file.fileno()).st_size)[1]

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


def _backwards(file: BufferedReader, end: int) -> tuple[bytes, Iterator[bytes]]:
    """Give what follows the last line end before `end`, and the lines before that, the last one first."""
    lines = _split_backwards(file.fileno(), end)
    return next(lines), lines


def _split_backwards(descriptor: int, position: int) -> Iterator[bytes]:
    later: list[bytes] = []  # of the line that is being put together, its end first
    while position:
        start = max(0, position - _BLOCK)
        first, *lines = os.pread(descriptor, position - start, start).split(b"\n")
        position = start
        if lines:
            yield b"".join([lines.pop(), *reversed(later)])
            yield from reversed(lines)
            later = []
        later.append(first)
    yield b"".join(reversed(later))
