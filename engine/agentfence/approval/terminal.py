"""A terminal that a question is put on, and what is typed there."""

from __future__ import annotations

import os
import select
import termios
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_LONGEST_LINE: Final = 200
_INPUT, _OUTPUT, _LOCAL = 0, 1, 3
"""Where tcgetattr(3) has its flags."""


class TypedLines:
    """Puts together what is typed into lines."""

    def __init__(self) -> None:
        """Begin with nothing typed."""
        self._typed = b""

    def feed(self, typed: bytes) -> list[str]:
        """Give the lines that `typed` completes; a line that goes on for ever is cut."""
        *lines, self._typed = (self._typed + typed).split(b"\n")
        self._typed = self._typed[:_LONGEST_LINE]
        return [line[:_LONGEST_LINE].decode(errors="replace") for line in lines]

    def clear(self) -> None:
        """Forget a line that was begun."""
        self._typed = b""


def discard_typed(descriptor: int) -> bool:
    """Forget what was typed before a question could be read: it was no answer to it.

    Gives whether a line was.
    """
    has_line = bool(select.select([descriptor], [], [], 0)[0])
    termios.tcflush(descriptor, termios.TCIFLUSH)
    return has_line


def width_of(descriptor: int) -> int:
    """Give the columns of a terminal; 80 when it does not say."""
    try:
        return os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80


class Terminal:
    """The controlling terminal of this process; never the streams that carry the protocol.

    Whatever the program in front has made of the terminal, a question is read in lines and with echo,
    and afterwards everything is as before.
    """

    def __init__(self, device: str = "/dev/tty") -> None:
        """Open the terminal.

        Raises:
            OSError: There is none.

        """
        # A description of our own, so that not blocking on it is nobody else's affair.
        self.descriptor = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)

    @property
    def is_ours(self) -> bool:
        """Whether what is typed goes to this process's group, and not to a job in front of it."""
        return os.tcgetpgrp(self.descriptor) == os.getpgrp()

    def put(self, text: str, seconds: float) -> bool:
        """Write `text`; False when the terminal does not take it in time, as one that is stopped."""
        end = time.monotonic() + seconds
        left = memoryview(text.encode(errors="replace"))
        while left:
            if not select.select([], [self.descriptor], [], max(0.0, end - time.monotonic()))[1]:
                return False
            try:
                left = left[os.write(self.descriptor, left) :]
            except BlockingIOError:
                continue
        return True

    def wait(self, wake: int, seconds: float) -> bytes | None:
        """Give what is typed, empty when the terminal is at its end; None when something else happens first.

        That is: `wake` can be read, or the time is over.
        """
        readable = select.select([self.descriptor, wake], [], [], max(0.0, seconds))[0]
        if self.descriptor not in readable:
            return None
        try:
            return os.read(self.descriptor, 1024)
        except BlockingIOError:
            return None

    def in_lines(self) -> Callable[[], None]:
        """Have what is typed come in lines, with echo; give what brings the former state back."""
        former = termios.tcgetattr(self.descriptor)
        wanted = list(former)
        wanted[_INPUT] |= termios.ICRNL
        wanted[_OUTPUT] |= termios.OPOST | termios.ONLCR
        wanted[_LOCAL] |= termios.ICANON | termios.ECHO | termios.ISIG
        termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, wanted)
        # FLUSH: what is typed too late must not reach whoever reads next.
        return lambda: termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, former)

    def close(self) -> None:
        """Let go of the terminal."""
        os.close(self.descriptor)
