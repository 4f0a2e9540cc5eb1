"""A text as its last reader would see it: without escapes and what cannot be seen.

Escapes of JSON (however deeply nested), percent-encoding (however often), HTML entities, zero-width
characters, terminal colours. What detectors find there is mapped back, so that only the secret's own
spelling is replaced. Two ways: `unquoted` is fast and knows only what nested JSON needs; a `View`
is exact.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.names import as_latin

if TYPE_CHECKING:
    import re

    from agentfence.core.redaction.spans import Span

_INVISIBLE = rb"\xe2(?:\x80[\x8b-\x8f\xaa-\xae]|\x81[\xa0-\xa9])|\xef\xbb\xbf|\xc2\xad|\x1b\[[0-9;]*[A-Za-z]"
"""Zero-width characters, direction marks, soft hyphens and terminal colours, in UTF-8."""

_ALIKE_LETTERS = (
    rb"\xd0[\x85\x86\x88\x90\x92\x95\x9a\x9c-\x9e\xa0-\xa2\xa5\xb0\xb5\xbe]",
    rb"\xd1[\x80\x81\x83\x85\x95\x96\x98]",
    *(rb"\xd2\xbb", rb"\xd3\x8f", rb"\xd4[\x81\x9b\x9d]", rb"\xc9[\x91\xa1]", rb"\xc4\xb1"),
    *(rb"\xce[\xb1\xb9\xba\xbd\xbf]", rb"\xcf[\x81\x85]"),
)
"""Letters of other scripts that pass for Latin ones, in UTF-8: those that `names` knows."""
_ALIKE = rb"(?:" + rb"|".join(_ALIKE_LETTERS) + rb")"
_TWO_BYTES = rb"[\xc4-\xd4][\x80-\xbf]"
_AMONG_LATIN = (
    rb"(?:(?<=[A-Za-z_]" + _TWO_BYTES + rb")|(?<=[A-Za-z_]" + 2 * _TWO_BYTES + rb")"
    rb"|(?=(?:" + _TWO_BYTES + rb"){0,2}[A-Za-z_]))"
)
"""What must hold behind such a letter: a Latin one stands near, before or after."""
_STYLED_LETTERS = (
    rb"\xf0\x9d[\x90-\x9f][\x80-\xbf]",
    *(rb"\xe2\x92[\xb6-\xbf]", rb"\xe2\x93[\x80-\xa9]", rb"\xe2\x84[\x8a-\xb4]"),
)
"""Letters as mathematicians write them, and circled ones."""
_STYLED = rb"(?:" + rb"|".join(_STYLED_LETTERS) + rb")"
_ESCAPE = late_regex(
    rb"\\\\*+(?:u(?P<unit>[0-9A-Fa-f]{4})|x(?P<byte>[0-7][0-9A-Fa-f])|(?P<letter>[nrt])|(?P<mark>[\"'/`])|)"
    rb"|%(?:25)*(?P<percent>[0-9A-Fa-f]{2})"
    rb"|&(?:(?P<entity>quot|apos|amp|lt|gt)|#(?P<number>[0-9]{2,3})|#[xX](?P<hex>[0-7][0-9A-Fa-f]));"
    rb"|\xef(?P<wide>\xbc[\x81-\xbf]|\xbd[\x80-\x9e])"
    rb"|" + rb"|".join((*(letter + _AMONG_LATIN for letter in _ALIKE_LETTERS), *_STYLED_LETTERS, _INVISIBLE))
)
"""Each alternative begins with a plain byte, to one of which `re` skips quickly, and none gives up a run of
backslashes that it has read. Before anything else a backslash is dropped."""
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_SIGNS = ((b'"', b'"'), (b"n", b"\n"), (b"r", b"\r"), (b"t", b"\t"), (b"'", b"'"), (b"/", b"/"))
_ENTITIES = {b"quot": b'"', b"apos": b"'", b"amp": b"&", b"lt": b"<", b"gt": b">"}

MOST_ESCAPES = 30_000
"""In one text: each costs some microseconds."""

HIDDEN = (
    rb"%(?:25)*[0-7][0-9A-Fa-f]|\\+u00[2-7]|\\+x[2-7]|\\+u(?:00[Aa][Dd]|20[026][0-9A-Fa-f]|[Ff][Ee][Ff][Ff]|001[Bb])"
    rb"|(?:\xef\xbc[\x90-\x99\xa1-\xba]|\xef\xbd[\x81-\x9a]){4}"
    rb"|\\+u[0-9A-Fa-f]{4}(?:[A-Za-z ]*\\*[\x22']?\s*[:=]|[A-Za-z]+[0-9])"
    rb"|" + _STYLED + rb"{4}|(?:[A-Za-z_]{3}" + _ALIKE + rb"|" + _ALIKE + rb"[A-Za-z_]{3}"
    rb"|[A-Za-z_]" + _ALIKE + rb"[A-Za-z_]{2}|[A-Za-z_]{2}" + _ALIKE + rb"[A-Za-z_])"
    rb"|\\+u0[34][0-9A-Fa-f]{2}[A-Za-z]"
    rb"|:\\+/|&#|[A-Za-z0-9_-](?:" + _INVISIBLE + rb")+(?:[A-Za-z0-9_-]|[ \x22']?[:=])"
)
"""Escapes that may hide a secret from every other detector, as an expression for RE2."""


def unquoted(text: bytes) -> bytes:
    """Give nested JSON with each escape of a sign as blanks and that sign, at the same length."""
    for letter, plain in _SIGNS:
        text = text.replace(b"\\" + letter, b"\f" + plain)
    return text.replace(b"\\", b"\f")


class View:
    """A text with its escapes read, and the way back."""

    __slots__ = ("_sources", "_views", "end", "text")

    def __init__(self, text: bytes, most: int = MOST_ESCAPES) -> None:
        """Take the text, and how many of its escapes may be read."""
        self._views = [0]
        self._sources = [0]
        pieces: list[bytes] = []
        done = length = 0
        known: dict[bytes, bytes] = {}
        self.end = len(text)
        """Where reading stopped: what is behind has too many escapes to be worth it."""
        for number, escape in enumerate(_ESCAPE.finditer(text)):
            if number == most:
                self.end = done
                break
            spelling = escape[0]
            plain = known.get(spelling)
            if plain is None:
                plain = known[spelling] = _plain(escape)
            start, end = escape.span()
            length += start - done
            self._views += (length, length + len(plain))
            self._sources += (start, end)
            pieces += (text[done:start], plain)
            length += len(plain)
            done = end
        pieces.append(text[done : self.end])
        self.text = b"".join(pieces)

    @property
    def escapes(self) -> int:
        """How many were read."""
        return len(self._views) // 2

    def source(self, span: Span) -> Span:
        """Give the span of the original text that a span of this view stands for."""
        end = span.end if span.is_rest else self._source_end(span.end)
        return span._replace(start=self._source_start(span.start), end=end)

    def _source_start(self, offset: int) -> int:
        index = bisect_right(self._views, offset) - 1
        return self._sources[index] + offset - self._views[index]

    def _source_end(self, offset: int) -> int:
        index = bisect_left(self._views, offset)
        if index < len(self._views) and self._views[index] == offset:
            return self._sources[index]
        return self._sources[index - 1] + offset - self._views[index - 1]


def _plain(escape: re.Match[bytes]) -> bytes:
    kind = escape.lastgroup
    if kind is None:  # nothing that is seen, or a letter that looks like another one
        latin = as_latin(escape[0].decode(errors="replace"))
        return latin.encode() if latin.isalpha() and latin.isascii() else b""
    text = escape[kind]
    match kind:
        case "unit":
            return chr(int(text, 16)).encode("utf-8", "surrogatepass")
        case "byte" | "percent" | "hex":
            return bytes((int(text, 16),))
        case "wide":
            return bytes(((text[0] - 0xBC) * 64 + (text[1] & 0x3F) + 0x20,))  # U+FF01 to U+FF5E
        case "number":
            return bytes((int(text) & 0x7F,))
        case "letter":
            return _LETTERS[text]
        case "entity":
            return _ENTITIES[text]
        case _:
            return text
