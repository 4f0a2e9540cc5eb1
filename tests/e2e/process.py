"""A child process that a test talks to line by line, and that never outlives the test."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from typing import IO, TYPE_CHECKING, Self, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

GRACE = 3.0
"""Seconds between asking a process to end and killing it."""


class ProcessFailedError(AssertionError):
    """A process ended, or said nothing, when the test needed a line from it."""


class Process:
    """A running command with pipes at its stdin and stdout; what it writes to stderr is kept.

    It leads a process group of its own: on leaving the `with` block the whole group is ended,
    first asked, then killed, whether the block succeeded or not.
    """

    def __init__(
        self, command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.command = [str(word) for word in command]
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._lines: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Self:
        self._stderr = cast("IO[bytes]", tempfile.TemporaryFile())
        self._child = subprocess.Popen(
            self.command,
            env=self._env,
            cwd=self._cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read_lines, daemon=True)
        self._reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(GRACE)
        self._signal(signal.SIGKILL)
        self._child.wait()
        self._reader.join(GRACE)
        self.close_stdin()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def stderr(self) -> str:
        """What it has written to stderr so far."""
        size = os.fstat(self._stderr.fileno()).st_size
        return os.pread(self._stderr.fileno(), size, 0).decode(errors="replace")

    @property
    def exit_status(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._child.poll()

    def write(self, octets: bytes) -> None:
        """Write to its stdin; raises BrokenPipeError if nobody reads there any more."""
        assert self._child.stdin is not None
        self._child.stdin.write(octets)
        self._child.stdin.flush()

    def write_line(self, line: str) -> None:
        self.write(line.encode() + b"\n")

    def close_stdin(self) -> None:
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which closes the pipe as well
            self._child.stdin.close()

    def read_line(self, timeout: float = 30.0) -> str:
        """The next line of its stdout; raises ProcessFailedError if none comes in time."""
        line = self.read_line_or_end(timeout)
        if line is None:
            raise self._failure("ended its output")
        return line

    def read_line_or_end(self, timeout: float = 30.0) -> str | None:
        """The next line of its stdout, None at its end; raises ProcessFailedError if neither comes."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            raise self._failure(f"wrote no line for {timeout:g} s") from None
        if line is None:
            self._lines.put(None)
        return line

    def wait(self, timeout: float = 30.0) -> int:
        """The exit status; raises ProcessFailedError if it goes on running."""
        try:
            return self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise self._failure(f"still runs after {timeout:g} s") from None

    def wait_for_stderr(self, text: str, timeout: float = 30.0) -> str:
        """All of its stderr, once that holds a text; raises ProcessFailedError if it never does."""
        deadline = time.monotonic() + timeout
        while text not in self.stderr:
            if self.exit_status is not None or time.monotonic() > deadline:
                raise self._failure(f"did not write {text!r} to stderr")
            time.sleep(0.02)
        return self.stderr

    def _read_lines(self) -> None:
        assert self._child.stdout is not None
        with self._child.stdout as stdout:
            for line in stdout:
                self._lines.put(line.decode(errors="replace").removesuffix("\n"))
        self._lines.put(None)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):  # the whole group has ended by itself
            os.killpg(self._child.pid, number)

    def _failure(self, what: str) -> ProcessFailedError:
        state = f"exit status {self._child.returncode}" if self.exit_status is not None else "running"
        return ProcessFailedError(
            f"{' '.join(self.command)}\n{what} ({state}); stderr:\n{self.stderr[-4000:]}"
        )
