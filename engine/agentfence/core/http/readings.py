"""A body, in every reading that a server might use: unpacked, and decoded.

Servers were seen to unpack gzip, deflate and brotli (also where `Content-Encoding` lies), to find
UTF-16 and UTF-32 by themselves, and to decode whatever charset is declared, UTF-7 included.

Invariant: as much is unpacked of a body as `_MAX_UNPACKED` says, however many layers it has.
"""

from __future__ import annotations

import re
from encodings.aliases import aliases
from functools import cache
from json import detect_encoding
from typing import TYPE_CHECKING

from agentfence.core.http.codings import KNOWN_CODINGS, End, Unpacked, guess_coding, unpack
from agentfence.core.http.message import list_members

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from agentfence.core.http.message import Headers

_MAX_UNPACKED = 8 * 1024 * 1024
_MAX_LAYERS = 3

_UTF_7_IMAP = "utf7imap"
_IMAP_SHIFT = re.compile(rb"&([^-]*)-")
_NOT_ASCII = bytes(range(128, 256))
_NOT_IN_NAMES = re.compile("[^0-9a-z]")


def plain_bodies(body: bytes, headers: Headers) -> tuple[list[Unpacked], bool]:
    """Give the body itself and what its codings, declared or not, make of it.

    The second value is whether some declared coding could be undone, or none is one that servers undo.
    """
    declared = [coding for coding in list_members(headers, "content-encoding") if coding in KNOWN_CODINGS]
    bodies = layer = [Unpacked(body, End.WHOLE)]
    is_undone, left = not declared, _MAX_UNPACKED
    for _ in range(_MAX_LAYERS):
        next_layer: list[Unpacked] = []
        for packed in layer:
            for coding in dict.fromkeys((*declared, guess_coding(packed.content))):
                unpacked = unpack(coding, packed.content, left) if coding else None
                if unpacked is None or (not unpacked.content and unpacked.end is End.BROKEN):
                    continue
                is_undone = is_undone or unpacked.end is not End.BROKEN
                left -= len(unpacked.content)
                next_layer.append(unpacked)
        bodies = bodies + next_layer
        layer = next_layer
    return bodies, is_undone


def texts(content: bytes, charsets: Iterable[str]) -> Iterator[str]:
    """Give the text in UTF-8, as its first bytes suggest, and by each declared charset."""
    yield content.decode("utf-8", "replace")
    names = (_codecs().get(_NOT_IN_NAMES.sub("", charset.lower())) for charset in charsets)
    for codec in dict.fromkeys((detect_encoding(content).replace("-", "_"), *names)):
        if codec is None or codec.startswith("utf_8"):
            continue
        try:
            yield _decode(content, codec)
        except (LookupError, ValueError):  # a codec that makes no text
            continue


@cache
def _codecs() -> Mapping[str, str]:
    """Give Python's codecs by their names in small letters and digits alone, as iconv-lite compares them.

    A look-up here, unlike `codecs.lookup`, imports and remembers nothing for a name from outside.
    """
    names = {name.replace("_", ""): name for name in aliases.values()}
    names |= {alias.replace("_", ""): name for alias, name in aliases.items()}
    return names | {
        "ucs2": "utf_16_le",
        "iso10646ucs2": "utf_16_le",
        "ucs4": "utf_32",
        _UTF_7_IMAP: _UTF_7_IMAP,
    }


def _decode(content: bytes, codec: str) -> str:
    if codec == _UTF_7_IMAP:  # RFC 3501's variant, which shifts with `&` and has `,` for `/`
        content = _IMAP_SHIFT.sub(_utf_7_shift, content.replace(b"+", b"+-"))
        codec = "utf_7"
    if codec == "utf_7":
        content = content.translate(None, _NOT_ASCII)  # replacing them one by one takes seconds
    return content.decode(codec, "replace")


def _utf_7_shift(match: re.Match[bytes]) -> bytes:
    return b"+" + match[1].replace(b",", b"/") + b"-" if match[1] else b"&"
