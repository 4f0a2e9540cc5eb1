"""Server-sent events: bytes in, whole events out, as WHATWG HTML §9.2.6 reads them.

Lines end with CRLF, LF or a lone CR, also mixed; an event ends with an empty line. Each event comes
with its exact bytes, so that what was judged can go on unchanged, but without lines that only some
readers take for data. What is no whole event at the end
of a stream is dropped, as every reader drops it.
"""

from __future__ import annotations

import re

from agentfence.core.json_text import without_line_separators
from agentfence.core.pieces import Overlong, Pieces
from agentfence.core.values import frozen

__all__ = ["MOST_LINES", "EventSplitter", "Overlong", "ServerEvent", "harmless_event", "message_event"]

_LINE_END = re.compile(rb"\r\n|\r|\n")
_LINE = re.compile(rb"([^\r\n:]*+)[^\r\n]*+(?:\r\n|\r|\n)")
_LIKE_DATA = re.compile(rb"[^a-z]*+data[^a-z]*+", re.IGNORECASE)
"""What some clients take for the field `data`, as they trim lines or fold case."""
_OTHER_LINE_ENDS = b"\x0b\x0c\x1c\x1d\x1e"
_BLANKED = bytes.maketrans(_OTHER_LINE_ENDS, b" " * len(_OTHER_LINE_ENDS))
_BOM = b"\xef\xbb\xbf"
_MESSAGE = b"message"
MOST_LINES = 100_000
"""Of one event: to split 64 MiB of nothing else would take seconds, and gigabytes."""


@frozen
class ServerEvent:
    """One event, up to and with its empty line."""

    raw: bytes
    name: bytes
    """`message` where the server named none."""
    data: bytes | None
    """The data lines joined with LF; None for an event without any, as comments that keep alive."""
    resuming: bytes = b""
    """Its lines that say from where, and when, a client resumes the stream."""


class EventSplitter:
    """Splits an event stream, whatever pieces it comes in.

    Of an event over the limit, or of very many lines, the ends of its data are given when it ends. No byte is
    searched twice.
    """

    __slots__ = ("_ends_with_cr", "_is_first", "_line_is_empty", "_lines", "_pieces")

    def __init__(self, limit: int) -> None:
        """Take the largest event, in bytes."""
        self._pieces = Pieces(limit)
        self._line_is_empty = True
        self._lines = 0
        self._ends_with_cr = False
        self._is_first = True

    @property
    def is_inside_event(self) -> bool:
        """Whether something came that is no whole event yet."""
        return not self._pieces.is_empty

    def feed(self, received: bytes) -> list[ServerEvent | Overlong]:
        """Give the events that `received` completes."""
        if not received:
            return []
        events: list[ServerEvent | Overlong] = []
        event_start = line_start = 0
        if self._ends_with_cr and received.startswith(b"\n"):
            line_start = 1  # the second half of a CRLF
        for end in _LINE_END.finditer(received, line_start):
            is_empty = self._line_is_empty and end.start() == line_start
            line_start = end.end()
            self._line_is_empty = True
            self._lines += 1
            if is_empty:
                events.append(self._complete(received[event_start:line_start]))
                event_start = line_start
        if line_start < len(received):
            self._line_is_empty = False
        self._ends_with_cr = received.endswith(b"\r")
        self._pieces.add(received[event_start:])
        return events

    def _complete(self, last: bytes) -> ServerEvent | Overlong:
        raw = self._pieces.complete(last)
        if self._lines > MOST_LINES and not isinstance(raw, Overlong):
            raw = Overlong.of(raw)
        self._lines = 0
        is_first, self._is_first = self._is_first, False
        text = raw.ends if isinstance(raw, Overlong) else raw
        event = _read(text.removeprefix(_BOM) if is_first else text, text)
        return Overlong(event.data or b"") if isinstance(raw, Overlong) else event


def _read(text: bytes, raw: bytes) -> ServerEvent:
    name = b""
    pieces: list[bytes] = []
    resuming: dict[bytes, bytes] = {}
    has_twins = False
    for line in _LINE_END.split(text):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            pieces.append(value)
        elif field == b"event":
            name = value  # the last one counts, also when it is empty
        elif field in {b"id", b"retry"}:
            resuming[field] = line + b"\n"
        elif _LIKE_DATA.fullmatch(field):
            has_twins = True
    if has_twins:
        raw = _LINE.sub(_unless_twin, text)
    data = b"\n".join(pieces) if pieces else None
    return ServerEvent(raw, name or _MESSAGE, data, b"".join(resuming.values()))


def _unless_twin(line: re.Match[bytes]) -> bytes:
    field = line[1]
    return line[0] if field == b"data" or not _LIKE_DATA.fullmatch(field) else b""


def harmless_event(raw: bytes) -> bytes:
    """Give an event without any character that only some readers take for the end of a line.

    Readers that split like `str.splitlines` (httpx-sse before 0.4.2) find messages inside a comment. In
    data that was judged, those of ASCII cannot occur, and the others stand inside strings.
    """
    return without_line_separators(raw.translate(_BLANKED))


def message_event(body: bytes, resuming: bytes = b"") -> bytes:
    """Give the bytes of an event that carries one JSON text without line ends, and `resuming` of another."""
    return b"%sevent: message\ndata: %s\n\n" % (resuming, body)
