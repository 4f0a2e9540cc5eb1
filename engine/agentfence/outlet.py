"""Bytes on their way to a descriptor that takes them when it can."""

from __future__ import annotations

import os
from collections import deque
from itertools import islice
from typing import Final

_MOST_AT_ONCE: Final = 256
"""Pieces in one write; systems take 1,024 at least (POSIX demands 16)."""
_LINE_END: Final = memoryview(b"\n")


class Outlet:
    """A queue of whole lines for one descriptor, which must not block."""

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor; it stays the caller's to close."""
        self.descriptor = descriptor
        self.is_open = True
        self.size = 0
        """Bytes that wait."""
        self._queue: deque[memoryview] = deque()

    def put(self, line: bytes) -> None:
        """Send one line; its end is added here. Without effect once the reader is gone."""
        if self.is_open:
            self._queue += (memoryview(line), _LINE_END)  # put together it would be copied
            self.size += len(line) + 1

    def flush(self) -> None:
        """Write what the descriptor takes now."""
        try:
            while self._queue:
                self._take_off(os.writev(self.descriptor, [*islice(self._queue, _MOST_AT_ONCE)]))
        except BlockingIOError:
            pass
        except OSError:
            self.drop()

    def drop(self) -> None:
        """Forget everything, now and later: nobody reads it."""
        self.is_open = False
        self._queue.clear()
        self.size = 0

    def _take_off(self, written: int) -> None:
        self.size -= written
        while written:
            first = self._queue.popleft()
            if written < len(first):
                self._queue.appendleft(first[written:])
                break
            written -= len(first)
