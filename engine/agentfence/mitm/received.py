"""What has come over a connection of HTTP/1 and was not read yet, as the host and its readers ask for it.

The host reads a head of any size and any number of fields, looks at each of them some twenty times, and
hands each chunk of a body through all its layers. Here a head has bounds, told before anything in it is
looked at, and of a body in chunks all that has come is one piece.

This leans on what the host asks of its buffer (the methods of `Received`), and of what reads a body.
"""

from __future__ import annotations

import re
from typing import Any, Final, NoReturn

import h11
from h11._readers import ChunkedReader

MAX_HEAD: Final = 262_144
"""Bytes of a head, of trailers, and of what is said beside the size of a chunk."""
MOST_FIELDS: Final = 1_000
"""Lines of a head or of trailers; Python's own client takes 100 of a server, a server of Node.js 2,000."""

_EMPTY_LINES: Final = re.compile(rb"(?:\r?\n)*+")
_EMPTY_LINE: Final = re.compile(rb"\n\r?\n")
_SIZE: Final = rb"([0-9A-Fa-f]{1,16}+)(?:;[^\r\n]*+)?[ \t]*+\r\n"
_FIRST_SIZE: Final = re.compile(_SIZE)
_NEXT_SIZE: Final = re.compile(rb"\r\n" + _SIZE)
"""With the end of the chunk before it."""
_LINE_END: Final = b"\r\n"


class HeadTooLargeError(Exception):
    """A head, or trailers, of more bytes or lines than there may be."""

    def __init__(self, beginning: list[bytes]) -> None:
        """Take the lines that there may be."""
        super().__init__("the head is too large")
        self.beginning = beginning


class Received:
    """Bytes in the order in which they came."""

    __slots__ = ("_searched", "content")

    def __init__(self, content: bytes = b"") -> None:
        """Begin with `content`."""
        self.content = bytearray(content)
        self._searched = 0

    def __iadd__(self, more: bytes) -> Received:
        """Take what came."""
        self.content += more
        return self

    def __len__(self) -> int:
        """Give the number of bytes."""
        return len(self.content)

    def __bytes__(self) -> bytes:
        """Give all of them."""
        return bytes(self.content)

    def drop(self, count: int) -> None:
        """Forget the first `count` bytes."""
        del self.content[:count]
        self._searched = 0

    def drop_empty_lines(self) -> None:
        """Forget the empty lines that may stand before a head (RFC 9112, section 2.2)."""
        empty = _EMPTY_LINES.match(self.content)
        if empty is not None and empty.end():
            self.drop(empty.end())

    def maybe_extract_at_most(self, count: int) -> bytes | None:
        """Give up to `count` bytes; None when there are none."""
        taken = bytes(self.content[:count])
        self.drop(len(taken))
        return taken or None

    def maybe_extract_lines(self) -> list[bytes] | None:
        """Give the lines before the first empty one; None while that has not come.

        Raises:
            HeadTooLargeError: They are too long, or too many.

        """
        for empty in (b"\n", _LINE_END):
            if self.content.startswith(empty):
                self.drop(len(empty))
                return []
        end = _EMPTY_LINE.search(self.content, self._searched, MAX_HEAD)
        if end is None and len(self.content) <= MAX_HEAD:
            self._searched = max(0, len(self.content) - len(_LINE_END))
            return None
        head = bytes(self.content[: MAX_HEAD if end is None else end.end()])
        *lines, rest = head.split(b"\n", MOST_FIELDS + 2)  # beside them the first line and the empty one
        lines = [line.removesuffix(b"\r") for line in lines]
        if end is None or rest:
            raise HeadTooLargeError(lines[: MOST_FIELDS + 1])
        self.drop(len(head))
        return lines[:-1]


class ChunkedBody:
    """Reads a body in chunks (RFC 9112, section 7.1), as the host asks its reader to."""

    __slots__ = ("_is_at_trailers", "_left", "_size_line")

    def __init__(self) -> None:
        """Begin before the first chunk."""
        self._left = 0
        """Bytes of a chunk that are still to come."""
        self._size_line = _FIRST_SIZE
        self._is_at_trailers = False

    def __call__(self, received: Received) -> h11.Data | h11.EndOfMessage | None:
        """Give what `received` has of the body, or that it has ended; None when more must come.

        Raises:
            h11.RemoteProtocolError: There is no chunk where one must be.
            HeadTooLargeError: Of the trailers.

        """
        content = b"" if self._is_at_trailers else self._content(received)
        if content:
            return h11.Data(data=content)
        if not self._is_at_trailers:
            return None
        trailers = received.maybe_extract_lines()
        if trailers is None:
            return None
        return h11.EndOfMessage(headers=[("trailer", "unread")] if trailers else [])

    def read_eof(self) -> NoReturn:
        """Say that the body is not whole."""
        raise h11.RemoteProtocolError("the connection was closed inside a body")

    def _content(self, received: Received) -> bytes:
        """Take what came of chunks, and give what is in them."""
        content, position, left = received.content, 0, self._left
        pieces: list[bytearray] = []
        while True:
            if left:
                piece = content[position : position + left]
                pieces.append(piece)
                position, left = position + len(piece), left - len(piece)
            line = None if left else self._size_line.match(content, position)
            if line is None:
                break
            self._size_line = _NEXT_SIZE
            position, left = line.end(), int(line[1], 16)
            if left == 0:
                self._is_at_trailers = True
                break
        if not (pieces or left or self._is_at_trailers):
            self._check_beginning(content)
        received.drop(position)
        self._left = left
        return b"".join(pieces)

    def _check_beginning(self, content: bytearray) -> None:
        """Refuse what will never be the size of a chunk, however much comes."""
        before = b"" if self._size_line is _FIRST_SIZE else _LINE_END
        if not before.startswith(content[: len(before)]) or content.find(_LINE_END, len(before)) >= 0:
            raise h11.RemoteProtocolError("malformed chunk")


def merging(reader: Any) -> Any:
    """Give what reads a body as the host's `reader` does, and chunks together."""
    return ChunkedBody() if type(reader) is ChunkedReader else reader
