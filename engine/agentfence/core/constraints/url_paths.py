r"""What a server may read in the path of a URL.

Clients resolve `/a/../b`, but what `%2e%2e`, `%2f`, `//`, `;x` or `\` mean is up to each server and
each proxy before it, and some programs decode `&sol;` before anything else. So a path has a text, and
further readings beside it; an allow pattern must cover them all, a deny pattern holds if it covers one.
What cannot be told for certain is ambiguous: no allow pattern with a path covers it, and every deny
pattern with a path does.

- In a text, escapes of characters without a meaning in URLs are decoded (RFC 3986 section 6.2.2.2):
  `%7Euser` and `~user` are one text, `a%2Fb` and `a/b` are two.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import normalize

from agentfence.core.constraints.folding import without_invisible

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_DECODINGS = 4  # one more than any honest chain of servers
_LONGEST = 4096  # normalising takes time quadratic in the length of a run of combining marks
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
_MEANINGLESS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~ '\"<>^`{|}")
_LATIN_1 = {0xDC00 + octet: octet for octet in range(0x80, 0x100)}
_DOT_AT_END = re.compile(r"/\.|\./|^\.|\.$")
_MALFORMED = re.compile("%(?![0-9A-Fa-f]{2})")
# IIS writes `.` as %u002e, lenient UTF-8 as %c0%ae.
_FOREIGN_ESCAPE = re.compile("%(?:u[0-9a-f]{4}|c[01]%[89ab]|e0%[89]|f0%8)", re.IGNORECASE)
# `..;x` is `..` to servlet containers, `.. ` and `...` are to some Windows.
_DOT_SEGMENT = re.compile(r"(?:^|/)\s*\.+\s*(?=[/;?#]|$)")
_QUERY = re.compile("[?#]")
_SLASHES = re.compile(r"/{2,}")
_NEVER = re.compile(r"[\x00-\x1f\x7f]")
# What the best-fit tables of Windows make slashes and backslashes of.
_LIKE_SLASHES = str.maketrans(dict.fromkeys("\u2044\u2215\u2216\u00a5\u20a9", "/"))


class UrlPath(NamedTuple):
    """A path and all that it may be taken for."""

    text: str
    """As WHATWG has it, with the escapes of meaningless characters decoded."""
    other_readings: tuple[str, ...] = ()
    """Decoded once, twice and so on, by HTML too, and with slashes for backslashes; each also as
    `strip_path` leaves it, with and without what may be a query."""
    is_ambiguous: bool = False
    """True when the path may lead anywhere."""


def read_path(raw: str, resolved: str) -> UrlPath:
    """Give the readings of a path, from its raw text and from WHATWG's."""
    if len(raw) > _LONGEST:
        return UrlPath(resolved, is_ambiguous=True)
    text = decode_meaningless(resolved)
    if has_dot_segment(raw):
        return UrlPath(text, is_ambiguous=not _is_plain(raw) or has_dot_segment(text))
    levels = [text]
    for _ in range(MOST_DECODINGS):
        levels.append(normalize("NFKC", decode_once(levels[-1])))
        if levels[-1] == levels[-2]:
            break
    spellings = [*levels, *_other_spellings(levels)]
    # Where an escape was no query, the names behind it count.
    whole = map(_strip_names, filter(_QUERY.search, spellings))
    readings = dict.fromkeys([*spellings, *map(strip_path, spellings), *whole])
    readings.pop(text, None)
    is_ambiguous = levels[-1] != levels[-2] or _is_ambiguous(raw, spellings)
    return UrlPath(text, tuple(readings), is_ambiguous=is_ambiguous)


def is_simple(raw: str) -> bool:
    """Whether every server reads the path alike."""
    return _is_plain(raw) and ("." not in raw or _DOT_AT_END.search(raw) is None)


def is_quick_to_fold(text: str) -> bool:
    """Whether comparing the text without regard to case takes no time that an attacker could want."""
    return text.isascii() or len(text) <= _LONGEST


def decode_meaningless(text: str) -> str:
    """Give the text with the escapes decoded that make no difference, the others in upper case."""
    return _ESCAPES.sub(_decode_meaningless, text) if "%" in text else text


def decode_once(text: str) -> str:
    """Give the text with all escapes decoded: UTF-8 where it is that, the other octets as Latin-1."""
    return _ESCAPES.sub(_decode_fully, text)


def strip_path(path: str) -> str:
    """Give a decoded path without query, parameters, doubled slashes, and dots that end names (Windows)."""
    return _strip_names(_QUERY.split(path, maxsplit=1)[0])


def _strip_names(path: str) -> str:
    names = (name.partition(";")[0].strip().rstrip(". ") for name in path.split("/"))
    return _SLASHES.sub("/", "/".join(names))


def has_dot_segment(path: str) -> bool:
    """Whether some segment may stand for this folder or the one above."""
    return _DOT_SEGMENT.search(path) is not None


def _is_plain(raw: str) -> bool:
    return (
        raw.isascii()
        and "%" not in raw
        and "//" not in raw
        and ";" not in raw
        and "{" not in raw
        and "[" not in raw
    )


def _other_spellings(levels: list[str]) -> Iterator[str]:
    r"""Give what HTML has for `&sol;`, and the backslashes of `DOMAIN\user` as slashes."""
    for level in levels:
        spelling = level
        if "&" in level:
            from html import unescape  # few paths hold an ampersand

            yield (spelling := unescape(level))
        if "\\" in spelling:
            yield spelling.replace("\\", "/")


def _is_ambiguous(raw: str, spellings: list[str]) -> bool:
    return (
        _MALFORMED.search(raw) is not None
        or any(
            has_dot_segment(spelling) or _FOREIGN_ESCAPE.search(spelling) or _NEVER.search(spelling)
            for spelling in [raw, decode_once(raw), *spellings]
        )
        # `/.%252e%20.` is `/..` to who takes off what ends a name before decoding the rest.
        or any(has_dot_segment(_decode_wholly(strip_path(spelling))) for spelling in spellings)
        or any(
            has_dot_segment(without_invisible(spelling).translate(_LIKE_SLASHES))
            for spelling in spellings
            if not spelling.isascii()
        )
    )


def _decode_wholly(text: str) -> str:
    for _ in range(MOST_DECODINGS):
        if "%" not in text:
            break
        text = normalize("NFKC", decode_once(text))
    return text


def _decode_fully(escapes: re.Match[str]) -> str:
    return _decode_octets(escapes[0]).translate(_LATIN_1)


def _decode_meaningless(escapes: re.Match[str]) -> str:
    return "".join(
        character if _is_meaningless(character) else f"%{ord(character) & 0xFF:02X}"
        for character in _decode_octets(escapes[0])
    )


def _is_meaningless(character: str) -> bool:
    return character in _MEANINGLESS or (character > "\x7f" and ord(character) not in _LATIN_1)


def _decode_octets(escapes: str) -> str:
    """Give the characters of a run of escapes; an octet that is no UTF-8 becomes a lone surrogate."""
    return bytes.fromhex(escapes.replace("%", "")).decode("utf-8", "surrogateescape")
