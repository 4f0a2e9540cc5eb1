"""A bar for what takes long."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

_PATIENCE = 1.0
"""Seconds before it appears."""
_STEP = 1 << 18
"""Bytes between two looks at the clock."""


class ByteProgress:
    """A bar on stderr that appears when reading takes longer than a second, on a terminal alone."""

    def __init__(self, total: int | None, *, is_wanted: bool) -> None:
        """Take the number of bytes to come; None: not known."""
        self._total = total
        self._is_wanted = is_wanted and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._done = 0
        self._next_look = _STEP if self._is_wanted else sys.maxsize
        self._began = time.monotonic()
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, size: int) -> None:
        """Say that `size` bytes more are done."""
        self._done += size
        if self._done >= self._next_look:
            self._next_look = self._done + _STEP
            self._show()

    def _show(self) -> None:
        if self._bar is None:
            if time.monotonic() - self._began < _PATIENCE:
                return
            self._bar = _make_bar()
            self._bar.add_task("checking", total=self._total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=self._done)


def _make_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True, refresh_per_second=5)
