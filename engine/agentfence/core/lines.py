"""Newline framing: bytes in, whole lines out, whatever pieces they came in."""

from __future__ import annotations

from agentfence.core.pieces import Overlong, Pieces

__all__ = ["Line", "LineSplitter", "Overlong"]

type Line = bytes | Overlong


class LineSplitter:
    """Splits a stream at LF. A CR before the LF belongs to the line end.

    A line over the limit is given like the others when it ends.
    """

    __slots__ = ("_limit", "_pieces")

    def __init__(self, limit: int) -> None:
        """Take the longest line that is wanted whole, in bytes, without its end."""
        self._limit = limit
        self._pieces = Pieces(limit + 1)  # one more: it may be the CR of the line end

    def feed(self, received: bytes) -> list[Line]:
        """Give the lines that `received` completes."""
        lines: list[Line] = []
        start = 0
        while (end := received.find(b"\n", start)) >= 0:  # in large pieces several times as fast as `split`
            lines.append(self._complete(received[start:end]))
            start = end + 1
        self._pieces.add(received[start:])
        return lines

    def end(self) -> list[Line]:
        """Give a last line that came without its end."""
        return [] if self._pieces.is_empty else [self._complete(b"")]

    def _complete(self, last: bytes) -> Line:
        line = self._pieces.complete(last)
        if isinstance(line, Overlong):
            return line
        line = line.removesuffix(b"\r")
        return line if len(line) <= self._limit else Overlong.of(line)
