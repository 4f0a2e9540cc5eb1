"""Content codings, undone within a bound: a few kilobytes can stand for gigabytes.

Invariant: nothing here raises for any bytes, and no result is longer than its limit.
"""

from __future__ import annotations

import zlib
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

KNOWN_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})
"""What servers undo. Others stand there by mistake, as `utf-8`, or are undone by nobody."""

_MAX_MEMBERS = 64
_AT_ONCE = 1_048_576
_MOST_OF_PIECE = 16_777_216
"""Bytes that one piece of a stream may stand for, some tens of thousands of it; no honest text does."""
_GZIP_OR_ZLIB, _RAW_DEFLATE = 47, -15
_ZLIB = 8
"""In the lower half of the first byte of zlib's format; compressed text in bare deflate has no such one."""


class End(Enum):
    """How undoing a coding ended."""

    WHOLE = "whole"
    AT_LIMIT = "at limit"
    """There is more than was asked for."""
    BROKEN = "broken"
    """The input ends early, or something else follows it."""


@frozen
class Unpacked:
    """What came out, as far as it goes."""

    content: bytes
    end: End


class Unpacking:
    """The codings of a stream, undone as it comes."""

    __slots__ = ("_codings", "_left", "is_broken")

    def __init__(self, codings: Sequence[str]) -> None:
        """Take the names of known codings, in the order in which they were applied."""
        self._codings = [_Members(coding) for coding in reversed(codings)]
        self._left = 0
        self.is_broken = False
        """Whether it could not be undone, or stood for too much; then nothing more is given."""

    def feed(self, packed: bytes) -> Iterator[bytes]:
        """Give what one more piece stands for, a bounded part at a time."""
        self._left = _MOST_OF_PIECE
        try:
            yield from self._undo(packed, 0)
        except Exception:  # noqa: BLE001 - each library has an error of its own
            self.is_broken = True

    def _undo(self, packed: bytes, depth: int) -> Iterator[bytes]:
        if depth == len(self._codings):
            yield packed
            return
        for content in self._codings[depth].feed(packed):
            self._left -= len(content)
            if self._left < 0:
                raise ValueError("a piece of a stream stands for too much")
            yield from self._undo(content, depth + 1)


class _Members:
    """One coding of a stream, whose members follow one another."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._keeps_rest = coding in {"br", "zstd"}
        self._member: Any = None
        self._left = _MAX_MEMBERS

    def feed(self, packed: bytes) -> Iterator[bytes]:
        while packed:
            if self._member is None:
                self._left -= 1
                self._member = self._begin(packed)
            if self._left < 0:
                raise ValueError("a stream of very many members")
            content = self._undo(packed)
            while content:
                yield content
                content = self._undo(b"" if self._keeps_rest else self._member.unconsumed_tail)
            if self._coding == "br" or not self._member.eof:
                return
            packed, self._member = self._member.unused_data, None

    def _begin(self, packed: bytes) -> Any:
        match self._coding:
            case "br":
                import brotli

                return brotli.Decompressor()
            case "zstd":
                return _zstd_decompressor()
            case "deflate":
                return zlib.decompressobj(_GZIP_OR_ZLIB if packed[0] & 0x0F == _ZLIB else _RAW_DEFLATE)
        return zlib.decompressobj(_GZIP_OR_ZLIB)

    def _undo(self, packed: bytes) -> bytes:
        if self._coding == "br":
            content: bytes = self._member.process(packed, output_buffer_limit=_AT_ONCE)
        elif self._coding == "zstd" and self._member.eof:
            content = b""
        else:
            content = self._member.decompress(packed, _AT_ONCE)
        return content


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, packed: bytes, limit: int, /) -> bytes: ...


def unpack(coding: str, packed: bytes, limit: int) -> Unpacked | None:
    """Undo one coding by its name in `Content-Encoding`; None for an unknown one, or no input of its kind."""
    match coding:
        case "identity":
            return Unpacked(packed[:limit], End.WHOLE if len(packed) <= limit else End.AT_LIMIT)
        case "gzip" | "x-gzip":
            return _unpack_members(lambda: zlib.decompressobj(_GZIP_OR_ZLIB), packed, limit)
        case "deflate":
            # The name means zlib's format, and many send the bare one.
            wrapped = _unpack_members(zlib.decompressobj, packed, limit)
            return wrapped or _unpack_members(lambda: zlib.decompressobj(_RAW_DEFLATE), packed, limit)
        case "br":
            return _unpack_brotli(packed, limit)
        case "zstd":
            return _unpack_members(_zstd_decompressor, packed, limit)
        case _:
            return None


def guess_coding(packed: bytes) -> str | None:
    """Give the coding that the first bytes show; brotli and bare deflate show none."""
    if packed.startswith(b"\x1f\x8b"):
        return "gzip"
    is_skippable_frame = packed[1:4] == b"\x2a\x4d\x18" and packed[0] & 0xF0 == 0x50
    if is_skippable_frame or packed.startswith(b"\x28\xb5\x2f\xfd"):
        return "zstd"
    if len(packed) > 2 and packed[0] & 0x0F == 8 and int.from_bytes(packed[:2]) % 31 == 0:
        return "deflate"
    return None


def _unpack_members(start: Callable[[], _Decompressor], packed: bytes, limit: int) -> Unpacked | None:
    """Undo a coding whose input may hold several members one after the other, as gzip's does."""
    content = bytearray()
    for member in range(_MAX_MEMBERS):
        decompressor = start()
        try:
            content += decompressor.decompress(packed, limit + 1 - len(content))
        except Exception:  # noqa: BLE001 - each library has an error of its own
            return Unpacked(bytes(content), End.BROKEN) if member else None
        if len(content) > limit:
            return Unpacked(bytes(content[:limit]), End.AT_LIMIT)
        packed = decompressor.unused_data
        if not decompressor.eof or not packed:
            return Unpacked(bytes(content), End.WHOLE if decompressor.eof else End.BROKEN)
    return Unpacked(bytes(content), End.AT_LIMIT)


def _zstd_decompressor() -> _Decompressor:
    # Imported here, as hardly any request needs them.
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14
    except ImportError:
        from backports import zstd

    decompressor: _Decompressor = zstd.ZstdDecompressor()
    return decompressor


def _unpack_brotli(packed: bytes, limit: int) -> Unpacked | None:
    import brotli

    decompressor = brotli.Decompressor()
    try:
        content: bytes = decompressor.process(packed, output_buffer_limit=limit + 1)
    except brotli.error:
        return None
    if len(content) > limit:
        return Unpacked(content[:limit], End.AT_LIMIT)
    return Unpacked(content, End.WHOLE if decompressor.is_finished() else End.BROKEN)
