"""Places in a text that hold a secret, and how they are replaced.

Texts are UTF-8 bytes here: RE2 and `re` then agree on every offset. What was redacted before is
blanked while detectors look, so that redacting twice changes nothing and a marker's own name is
never read as a key.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

UNREAD = "[REDACTED:unread]"
"""What is shown of a text, or a value, in which nothing was looked for."""
_LONGEST_MARKER = 96
_NO_END = 1 << 62
BLANK = b"\x01"
"""What stands for each byte of what was found, while more is looked for."""
_NOTHING_LEFT = BLANK + b" \t\f\"'`"


class Span(NamedTuple):
    """One secret in a text."""

    start: int
    end: int
    name: str
    """The NAME in `[REDACTED:NAME]`."""
    by_name: bool = False
    """True when only what stands beside it tells that it is a secret: elsewhere it must be looked for."""

    @classmethod
    def unread(cls, position: int) -> Span:
        """Give the rest of a text, wherever it ends, in which a detector has looked often enough."""
        return cls(position, _NO_END, "unread")

    @property
    def is_rest(self) -> bool:
        """Whether this is all that is left of a text."""
        return self.end >= _NO_END

    def trimmed(self, text: bytes) -> Span:
        """Give the span without form feeds around, which stand for what escapes a sign."""
        if self.is_rest:
            return self
        secret = text[self.start : self.end]
        return self._replace(
            start=self.end - len(secret.lstrip(b"\f")), end=self.start + len(secret.rstrip(b"\f"))
        )

    def within(self, start: int, end: int) -> Span:
        """Give the part of the span that lies within a stretch of the text, seen from there."""
        return self._replace(start=max(self.start, start) - start, end=min(self.end, end) - start)


def encode(text: str) -> bytes:
    """Give the text in UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def decode(text: bytes) -> str:
    """Undo `encode`."""
    return text.decode("utf-8", "surrogatepass")


class Markers:
    """Knows what was redacted before: `[REDACTED:NAME]` of our names, lest a forged one hides a secret."""

    __slots__ = ("_marker",)

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Take the names of the policy's patterns; the built-in ones are letters and hyphens."""
        known = b"|".join((rb"[a-z-]{1,40}", *(re.escape(encode(name)) for name in names)))
        self._marker = re.compile(rb"\[REDACTED:(?:" + known + rb")\]")

    def blank(self, text: bytes) -> bytes:
        """Give the text with each marker in it blanked, at the same length."""
        if b"[REDACTED:" not in text:
            return text
        return self._marker.sub(lambda marker: BLANK * len(marker[0]), text)

    def strip(self, text: str) -> str:
        """Give the text without markers."""
        return decode(self._marker.sub(b"", encode(text))) if "[REDACTED:" in text else text


def blank(text: bytes, spans: Iterable[Span]) -> bytes:
    """Give the text with the spans, which are in order, blanked in the same way."""
    pieces: list[bytes] = []
    done = 0
    for span in spans:
        pieces += (text[done : span.start], BLANK * (span.end - span.start))
        done = span.end
    return b"".join((*pieces, text[done:])) if pieces else text


def replace(text: bytes, blanked: bytes, spans: Iterable[Span]) -> bytes:
    """Give the text with each span replaced by its marker; spans that overlap become one."""
    pieces: list[bytes] = []
    done = 0
    for span in _merged(blanked, spans):
        pieces += (text[done : span.start], f"[REDACTED:{span.name}]".encode())
        done = span.end
    pieces.append(text[done:])
    return b"".join(pieces)


def _merged(blanked: bytes, spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        span = _around_markers(blanked, span)
        if not blanked[span.start : span.end].strip(_NOTHING_LEFT):
            continue
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _around_markers(blanked: bytes, span: Span) -> Span:
    """Give the span grown over the markers that it cuts."""
    start, end = span.start, span.end
    if blanked[start : start + 1] == BLANK:
        before = blanked[max(0, start - _LONGEST_MARKER) : start]
        start -= len(before) - len(before.rstrip(BLANK))
    if blanked[end - 1 : end] == BLANK:
        after = blanked[end : end + _LONGEST_MARKER]
        end += len(after) - len(after.lstrip(BLANK))
    return span._replace(start=start, end=end)
