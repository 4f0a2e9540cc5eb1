"""What of a text stays when it is copied: letters and digits, under every reading of the text.

Case, blanks, punctuation, accents, invisible characters and Unicode's ways to write the same do not
count, and texts are also read without escapes, percent-encoding, base64 and hex, and as what invisible
characters spell, several deep.
Not here: other words for the same, translations, encryption, a text that is turned round.
"""

from __future__ import annotations

import re
from binascii import a2b_base64
from typing import TYPE_CHECKING
from unicodedata import normalize

from agentfence.core.redaction.views import View

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 3
_SHORTEST_ENCODED = 16
_SEPARATORS = re.compile(r"[\W_\u115f\u1160]+")
"""With letters that show nothing."""
_OTHER_FORM = re.compile("[\u2100-\u214f\u249c-\u24e9\u3200-\u33ff\U0001f100-\U0001f2ff]")
"""Signs that are letters in a circle, a square or brackets; between letters they are signs like others."""
_SPELLED = {
    code: normalize("NFKD", chr(code))
    for first, last in ((0x2100, 0x214F), (0x249C, 0x24E9), (0x3200, 0x33FF), (0x1F100, 0x1F2FF))
    for code in range(first, last + 1)
} | {first + place: chr(ord("a") + place) for first in (0x1F150, 0x1F170, 0x1F1E6) for place in range(26)}
"""Also of those for which Unicode names no letter: white on black, and those of flags."""
_TIMES = re.compile(
    r"(?:19|20)\d\d-[01]\d-[0-3]\d"
    r"(?:[T ][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-][0-2]\d:?[0-5]\d)?)?",
    re.ASCII,
)
_ESCAPED = re.compile(r"[\\%&]")
_OCTAL = re.compile(r"(?<!\\)\\++0?([0-3]?[0-7]{2})")
_OVERLAP = 1_024
"""Characters that a part of a text with very many escapes begins with again."""
_TAG = re.compile("[\U000e0020-\U000e007e]+")
_SELECTOR = re.compile("[\U000e0110-\U000e016e]+")
_OCTET_OF_SELECTOR = bytes(byte + 16 & 255 for byte in range(256))
_FEWEST_HIDDEN = 8
_MARKUP = re.compile(r"<[^<>]{0,4096}+>")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}+")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2}){8,}+")
_URL_DIGITS = bytes.maketrans(b"-_", b"+/")
_LOWER = bytes(range(256)).lower()
_NO_LETTERS = bytes(byte for byte in range(256) if not chr(byte).isalnum() or byte > 127)
_NO_BASE64 = bytes(byte for byte in _NO_LETTERS if byte not in b"+/-_")
_NO_HEX = bytes(byte for byte in range(256) if byte not in b"0123456789abcdefABCDEF")
_UNPRINTABLE = bytes(byte for byte in range(256) if byte < 9 or 13 < byte < 32 or byte == 127)
_DIGITS_OF_A_GROUP = 4


def essence(text: str) -> str:
    """Give the letters and digits of a text, folded; not those of dates, which are nobody's."""
    text = _TIMES.sub("", text)
    if text.isascii():
        return text.encode().translate(_LOWER, _NO_LETTERS).decode()
    # Marks go first, as normalising sorts runs of them at a cost that grows with the square.
    kept = _SEPARATORS.sub("", text)
    return _SEPARATORS.sub("", normalize("NFKD", normalize("NFKD", kept).casefold()))


def readings(text: str, depth: int = 0) -> Iterator[str]:
    """Give the text, and what it stands for when it is taken for an encoded one."""
    yield text
    if depth < _DEEPEST:
        for decoded in _decoded(text):
            yield from readings(decoded, depth + 1)


def without_markup(text: str) -> str:
    """Give what a page shows of a text: without tags and comments."""
    return _MARKUP.sub("", text) if "<" in text else text


def _decoded(text: str) -> Iterator[str]:
    if _ESCAPED.search(text):
        yield from _unescaped(text)
    if not text.isascii():
        yield from _hidden_in(text)
        if _OTHER_FORM.search(text):
            yield text.translate(_SPELLED)
    if len(text) < _SHORTEST_ENCODED:
        return
    runs = _BASE64.findall(text)
    for run in runs:
        yield from _text_of(_from_base64(run.encode()))
    for run in _HEX.findall(text):
        yield from _text_of(bytes.fromhex(run))
    if runs != [text]:
        # Lenient decoders skip blanks and signs, and what stands before may shift the digits.
        octets = text.encode("ascii", "ignore")
        digits = octets.translate(None, _NO_BASE64)
        for skipped in range(_DIGITS_OF_A_GROUP):
            yield from _text_of(_from_base64(digits[skipped:]))
        pairs = octets.replace(b"0x", b"").translate(None, _NO_HEX).decode()
        for skipped in range(2):
            yield from _text_of(bytes.fromhex(pairs[skipped : skipped + (len(pairs) - skipped) // 2 * 2]))


def _unescaped(text: str) -> Iterator[str]:
    """Give the text without its escapes, in parts where it has very many."""
    octets = _OCTAL.sub(_character, text).encode("utf-8", "replace")
    before = ""
    while octets:
        view = View(octets)
        part = view.text.decode("utf-8", "replace")
        if "&" in part:
            from html import unescape  # a table of two thousand names

            part = unescape(part)
        if before or part != text:
            yield before + part
        before, octets = part[-_OVERLAP:], octets[view.end :]


def _character(octal: re.Match[str]) -> str:
    return chr(int(octal[1], 8))


def _hidden_in(text: str) -> Iterator[str]:
    """Give what tags and selectors of forms spell, which nobody sees and models read."""
    for hidden, octets in ((_TAG, None), (_SELECTOR, _OCTET_OF_SELECTOR)):
        found = "".join(hidden.findall(text))
        if len(found) >= _FEWEST_HIDDEN:
            yield from _text_of(found.encode("utf-32-le")[::4].translate(octets))


def _from_base64(digits: bytes) -> bytes:
    whole = digits[: len(digits) - (len(digits) % _DIGITS_OF_A_GROUP == 1)]
    return a2b_base64(whole.translate(_URL_DIGITS) + b"=" * (-len(whole) % _DIGITS_OF_A_GROUP))


def _text_of(content: bytes) -> Iterator[str]:
    """Give the text that bytes hold, if most of them are text."""
    if 3 * content.count(0) > len(content):
        content = content.replace(b"\0", b"")  # UTF-16 of plain text
    text = content.decode("utf-8", "ignore")
    lost = 0 if text.isascii() and len(text) == len(content) else len(content) - len(text.encode())
    if content and 5 * (lost + len(content) - len(content.translate(None, _UNPRINTABLE))) <= len(content):
        yield text
