"""Secrets under base64 and hex: what looks like encoded text is decoded and looked through.

Not here: compression, encryption, other bases. A long run that decodes to no text (a picture, an
archive) is passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.checks import decode_base64
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from agentfence.core.redaction.work import Work

_ASCII_QUAD = rb"[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
"""Four digits of base64 that stand for three bytes below 128: rare where no text was encoded."""

ENCODED = rb"(?:" + _ASCII_QUAD + rb"){4}|(?:[2-7][0-9A-Fa-f]){12}"
"""How base64 and hex of text look, as an expression for RE2."""

_LONGEST_PREFIX = 4096
_LONGEST_BINARY = 1 << 16
_COST = 15
_NO_TEXT = bytes(byte for byte in range(256) if byte < 9 or byte >= 127)


class _Encoding(NamedTuple):
    digits: bytes
    run: re.Pattern[bytes]
    size: int
    """How many digits stand for whole bytes."""
    decode: Callable[[bytes], bytes]


def _decode_hex(text: bytes) -> bytes:
    return bytes.fromhex(text[: len(text) // 2 * 2].decode())


_ENCODINGS = (
    _Encoding(b"0123456789ABCDEFabcdef", late_regex(rb"[0-9A-Fa-f]*+"), 2, _decode_hex),
    _Encoding(
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-",
        late_regex(rb"[A-Za-z0-9+/_-]*+(?:(?<=[A-Za-z0-9+/_-]{57})\r?\n[A-Za-z0-9+/_-]++)*+={0,2}"),
        4,
        decode_base64,
    ),
)


class Runs(NamedTuple):
    """Encoded runs of a text."""

    secrets: list[Span]
    """Those that hold a secret; the whole run is to be replaced."""
    binaries: list[Span]
    """Long ones that hold no text."""


class Encoded:
    """Finds base64 and hex."""

    __slots__ = ("_inside", "_scanner")

    def __init__(self, inside: Callable[[bytes, int, Work], list[Span]]) -> None:
        """Take what finds secrets in decoded text, and at which depth."""
        self._inside = inside
        self._scanner = byte_scanner(ENCODED)

    def find(self, text: bytes, depth: int, work: Work) -> Runs:
        """Give the encoded runs in `text` that matter."""
        runs = Runs([], [])
        done = 0
        for _ in work.looks(_COST):
            found = self._scanner.search(text, done)
            if found is None:
                return runs
            before, done = done, found[1]
            for encoding in _ENCODINGS:
                span = self._read(text, before, found[0], encoding, depth, work)
                done = max(done, span.end)
                if span.name or span.end - span.start > _LONGEST_BINARY:
                    (runs.secrets if span.name else runs.binaries).append(span)
                    break
        runs.secrets.append(Span.unread(done))
        return runs

    def _read(
        self, text: bytes, floor: int, position: int, encoding: _Encoding, depth: int, work: Work
    ) -> Span:
        """Give the run around `position`, named when it holds a secret."""
        left = text[max(floor, position - _LONGEST_PREFIX) : position]
        start = position - len(left) + len(left.rstrip(encoding.digits))
        run = encoding.run.match(text, position)
        end = run.end() if run else position
        aligned = position - (position - start) // encoding.size * encoding.size
        if end - aligned > _LONGEST_BINARY and _is_binary(
            encoding.decode(text[aligned : aligned + _LONGEST_BINARY])
        ):
            return Span(start, end, "")
        return Span(start, end, self._name(encoding.decode(text[aligned:end]), depth, work))

    def _name(self, decoded: bytes, depth: int, work: Work) -> str:
        if 3 * decoded.count(0) > len(decoded):
            decoded = decoded.replace(b"\0", b"")  # UTF-16, as PowerShell encodes its commands
        return next((span.name for span in self._inside(decoded, depth + 1, work)), "")


def _is_binary(decoded: bytes) -> bool:
    return len(decoded.translate(None, _NO_TEXT)) < len(decoded) // 2
