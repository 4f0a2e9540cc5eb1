"""Bytes into a JSON value, if they have exactly one reading.

RFC 8259 leaves open what servers then read differently: duplicate keys, numbers out of range, lone
surrogates, encodings. Each such text is refused here, because what is judged goes on unchanged and
must be what the server sees.

Not here: what the value means as a message.

Invariants
- Any bytes give a value or a `ProtocolViolation`; no other exception.
- The cost is linear in the bytes, and nothing is built of a text that is over a limit.
"""

from __future__ import annotations

from itertools import accumulate
from math import isinf
from typing import TYPE_CHECKING

import jiter

from agentfence.core.errors import ProtocolViolation
from agentfence.core.late_regex import late_regex
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.constraints.interface import Json

PARSE_ERROR = -32700
MAX_DEPTH = 128
MAX_NUMBER_LENGTH = 256
MAX_VALUES = 100_000
"""Scalars, arrays and objects together; keys are not counted."""

_PLAIN = b" \t\r\n" + bytes(set(range(0x21, 0x100)) - set(b'"\\/[]{},:+-.0123456789eEbfnrtu'))
"""What means nothing outside of strings, and stands in none of them behind a backslash.

It has letters of `false` and `null` too: what is left of those is nothing else's.
"""
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEP = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_IN_NUMBERS = b"-+.0123456789eE"
_KINDS = bytes.maketrans(b"{E-+.123456789", b"[e" + 12 * b"0")
"""To see with one look each: openings, exponents, and what numbers are made of."""
_EXPONENT = late_regex(b"0e")
_SAMPLED = MAX_NUMBER_LENGTH // 4
# Looking behind, and never back into a run, keeps the cost linear. With one digit in the exponent a number
# would need 300 more, and is over the limit of its length.
_LARGE_EXPONENT = late_regex(rb"(?<![-.0-9])[-.0-9]++[eE]\+?[0-9]{2,}")
_CLEARER_WORDS = {
    "unexpected end of hex escape": "lone surrogate",
    "lone leading surrogate in hex escape": "lone surrogate",
}
_SHOWN = 80
_FEW_STRINGS = 64
_LONG_STRING = 256


def parse_json(text: bytes) -> Json:
    """Give the value of a text that every JSON reader reads alike.

    Raises:
        ProtocolViolation: -32700, with the rule that the text breaks and, where known, the place.

    """
    skeleton = None if _is_modest(text) else _skeleton(text)
    if skeleton is not None:
        _check_size(skeleton)
    try:
        value: Json = jiter.from_json(text, allow_inf_nan=False, catch_duplicate_keys=True, cache_mode="keys")
    except ValueError as error:
        raise _violation(_explain(text, str(error))) from error
    if skeleton is not None and _has_exponents(skeleton):
        _refuse_infinite(skeleton)
    return value


def harmless_line(raw: bytes) -> bytes:
    """Give one JSON value without any character that some reader takes for the end of a line.

    `raw` must have been parsed. Then a CR or LF in it stands between tokens, where a blank means
    the same, and the other line ends stand inside strings, where an escape does. Readers with
    universal newlines run what follows a bare CR as the next message. Other line ends that
    `str.splitlines` knows are no JSON.
    """
    return without_line_separators(raw.replace(b"\r", b" ").replace(b"\n", b" "))


def without_line_separators(text: bytes) -> bytes:
    """Give a text with those line ends escaped that may stand inside a string of JSON."""
    if text.isascii():
        return text
    return (
        text.replace(b"\xe2\x80\xa8", rb"\u2028")
        .replace(b"\xe2\x80\xa9", rb"\u2029")
        .replace(b"\xc2\x85", rb"\u0085")
    )


def _is_modest(text: bytes) -> bool:
    """Whether the text is within every limit, even if what stands in its strings counted.

    By far the most messages are, and seeing it costs a fraction of taking the strings out.
    """
    if len(text) > MAX_VALUES:
        return False
    kinds = text.translate(_KINDS)
    if kinds.count(b"[") > MAX_DEPTH or _EXPONENT.search(kinds):
        return False
    # Of a number over the limit four samples in a row see something, and at most one of them its `e`.
    return b"00" not in kinds[::_SAMPLED]


def _skeleton(text: bytes) -> bytes:
    """Give the text without what is plain and with each string as a quote.

    In JSON a backslash occurs in strings only, so taking the escaped backslashes out leaves no quote
    in doubt. Before that goes what is plain, by far the most of a large text. Of a text that is no JSON
    this holds up to its first error, which is as far as the parser reads.
    """
    if b"\\" in text:
        text = text.translate(None, _PLAIN).replace(rb"\\", b"").replace(rb"\"", b"")
    return b'"'.join(_between_strings(text)).translate(None, _PLAIN)


def _between_strings(text: bytes) -> Iterable[bytes]:
    """Give what stands before, between and behind the strings of a text without escapes."""
    between: list[bytes] = []
    position = 0
    # To find the next quote is many times as fast as to split, but not where there are very many.
    while len(between) < _FEW_STRINGS or len(between) * _LONG_STRING <= position:
        opening = text.find(b'"', position)
        closing = text.find(b'"', opening + 1)
        if opening < 0 or closing < 0:
            return (*between, text[position:] if opening < 0 else text[position:opening])
        between.append(text[position:opening])
        position = closing + 1
    pieces = text[position:].split(b'"', 4 * MAX_VALUES + 1)
    if len(pieces) > 4 * MAX_VALUES + 1:  # more than a key and a string for each value
        raise _too_many_values()
    return (*between, *pieces[::2])


def _check_size(skeleton: bytes) -> None:
    opened = skeleton.count(b"[") + skeleton.count(b"{")
    commas = skeleton.count(b",")
    if opened + commas >= MAX_VALUES:
        empty = skeleton.count(b"[]") + skeleton.count(b"{}")
        if max(opened, 1 + commas, 1 + commas + opened - empty) > MAX_VALUES:
            raise _too_many_values()
    if opened > MAX_DEPTH:
        # Cut, because only a text that is no JSON closes more than it opened.
        brackets = skeleton.translate(None, _ALL_BUT_BRACKETS)[: 2 * opened]
        if max(accumulate(map(_STEP.__getitem__, brackets))) > MAX_DEPTH:
            raise _violation(f"the text is nested deeper than {MAX_DEPTH} levels")
    if _has_long_number(skeleton):
        raise _violation(f"a number is longer than {MAX_NUMBER_LENGTH} characters")


def _has_long_number(skeleton: bytes) -> bool:
    start = 0
    while len(skeleton) - start > MAX_NUMBER_LENGTH:
        window = skeleton[start : start + MAX_NUMBER_LENGTH + 1]
        skipped = len(window.rstrip(_IN_NUMBERS))
        if skipped == 0:
            return True
        start += skipped
    return False


def _refuse_infinite(skeleton: bytes) -> None:
    if any(isinf(float(number)) for number in _LARGE_EXPONENT.findall(skeleton)):
        raise _violation("a number is too large for a double")


def _has_exponents(skeleton: bytes) -> bool:
    letters = skeleton.count(b"e") + skeleton.count(b"E")
    return letters > skeleton.count(b"true") + skeleton.count(b"fe")  # `false`, without what is plain


def _explain(text: bytes, problem: str) -> str:
    if text.startswith(_BYTE_ORDER_MARKS):
        return "the text begins with a byte order mark"
    if b"\0" in text:
        return "the text holds a NUL byte"
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"the text is not UTF-8 at byte {error.start}"
    reason, _, place = problem.removeprefix("Detected ").rpartition(" at line ")
    reason = visible(_CLEARER_WORDS.get(reason, reason)[:_SHOWN])
    return f"the text is not strict JSON: {reason} at line {place}"


def _too_many_values() -> ProtocolViolation:
    return _violation(f"the text holds more than {MAX_VALUES} values")


def _violation(problem: str) -> ProtocolViolation:
    return ProtocolViolation(PARSE_ERROR, problem)
