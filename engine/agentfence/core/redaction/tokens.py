"""Finds the credentials of the tables, also where a line end runs through one."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.checks import alternates, is_filled_in
from agentfence.core.redaction.command_kinds import COMMANDS, OPTION
from agentfence.core.redaction.kinds import INTRODUCED, LONGEST_BEFORE, MARKED, TOKENS
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentfence.core.redaction.kinds import Kind
    from agentfence.core.redaction.work import Work

_WRAP = late_regex(rb"(?<=[A-Za-z0-9._+/=-])\\?\r?\n[ \t]*+(?=[A-Za-z0-9._+/=-])")
_REST_OF_LINE = late_regex(rb"[A-Za-z0-9._+/=-]{0,256}+")
_WIDE = 60
_OPENING = late_regex(rb"""["'][^\s"'\x01]{0,64}\Z""")
_BREAKS = late_regex(rb"[\n\x01]| -|=")
"""What shows that a quote has ended before."""
_LONGEST_QUOTED = 200
_LONGEST_WRAPPED = 2048
_COST = 8

TABLES = (TOKENS, INTRODUCED, COMMANDS, MARKED)

TOKEN = b"|".join(kind.looked_for() for table in TABLES for kind in table)
"""How any credential begins, as an expression for RE2."""

GLUED = (
    rb"\\+[nrt](?:"
    + b"|".join(
        start.removeprefix(rb"\b")
        for table in TABLES
        for start in (kind.looked_for().partition(OPTION)[0] for kind in table)
        if start.startswith(rb"\b")
    )
    + rb"|(?i:bearer|basic)|[2-6][0-9]{3}[ -]?[0-9]{4})"
)
"""Those that need a boundary, behind an escape, where only a view shows one; of commands the program."""


class Tokens:
    """Finds every kind of a table."""

    def __init__(self, kinds: tuple[Kind, ...]) -> None:
        """Take the table."""
        self._kinds = kinds
        self._scanner = byte_scanner(b"|".join(kind.looked_for() for kind in kinds))
        self._is_whole = all(kind.whole for kind in kinds)

    @cached_property
    def _read(self) -> Callable[..., re.Match[bytes] | None]:
        # Compiled when the scanner finds the first: it takes as long as all else that is loaded for texts.
        return re.compile(b"|".join(kind.read() for kind in self._kinds)).match

    def find(self, text: bytes, work: Work) -> Iterator[Span]:
        """Give the credentials in `text`."""
        position = 0
        for _ in work.looks(_COST):
            found = self._scanner.search_near(text, position)
            if found is None:
                return
            first, end = found
            # What the scanner found whole ends there: `re` must not try its other kinds any further.
            match = self._read(text, first, end if self._is_whole else len(text))
            span = self._read_wrapped(text, first, match)
            if span:
                yield span
                position = span.end
            elif match is None:
                position = first + 1  # what begins as one kind may be another: `5500000000:AA…`
            else:
                kind, start, position = self._secret(match)
                if _is_secret(kind, text, start, position):
                    position = _end_of_quoted(text, start, position) if kind.is_word else position
                    yield Span(start, position, kind.name)
                elif kind.before:
                    position = max(start, first + 1)  # the secret that is none may hold another kind
        yield Span.unread(position)

    def _read_wrapped(self, text: bytes, start: int, match: re.Match[bytes] | None) -> Span | None:
        """Give a credential that goes on in the next line: as its own is wide, or as it has only begun."""
        run = match or _REST_OF_LINE.match(text, start)
        end = run.end() if run else start
        if not _WRAP.match(text, end) or (match and b"\n" in text[end - _WIDE : end]):
            return None
        window, wraps = _unwrappable(text[start : start + _LONGEST_WRAPPED])
        whole = self._read(_WRAP.sub(b"", window), 0)
        if whole is None or not alternates(whole[0]):
            return None
        kind, first, last = self._secret(whole)
        if kind.check and not kind.check(whole[0][first:last]):
            return None
        for wrap in wraps:
            last += wrap.end() - wrap.start() if wrap.start() < last else 0
        return Span(start + first, start + last, kind.name) if start + last > end else None

    def _secret(self, match: re.Match[bytes]) -> tuple[Kind, int, int]:
        """Give what was matched, and where the secret in it starts and ends."""
        index = match.lastindex or 1
        kind = self._kinds[index - 1]
        return kind, *match.span(index if kind.before or kind.after else 0)


def _is_secret(kind: Kind, text: bytes, start: int, end: int) -> bool:
    """Whether what looks like one bears a second look."""
    if not is_filled_in(text[start:end]) or (kind.check and not kind.check(text[start:end])):
        return False
    return not kind.check_before or kind.check_before(text[max(0, start - LONGEST_BEFORE) : start])


def _end_of_quoted(text: bytes, start: int, end: int) -> int:
    """Give where a quoted secret ends that was read up to its first blank; else `end`."""
    opened = _OPENING.search(text, max(0, start - _LONGEST_QUOTED), start)
    quote = opened[0][:1] if opened else b""
    if not quote or text[end : end + 1] in {quote, b"\n", b"\\", b""}:
        return end
    rest = text[end : end + _LONGEST_QUOTED]
    words = rest.partition(quote)[0]
    return end if words == rest or _BREAKS.search(words) else end + len(words)


def _unwrappable(window: bytes) -> tuple[bytes, list[re.Match[bytes]]]:
    """Give the text up to the first line, but the first, that is not wide, and the line ends in it."""
    wraps: list[re.Match[bytes]] = []
    for wrap in _WRAP.finditer(window):
        if wraps and wrap.start() - wraps[-1].end() < _WIDE:
            return window[: wrap.start()], wraps
        wraps.append(wrap)
    return window, wraps
