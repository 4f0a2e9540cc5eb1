"""Private keys in their armour: PEM, OpenSSH, PGP, PuTTY; complete, or cut before their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.redaction.work import Work

ARMOUR = rb"-----? ?BEGIN[ +][A-Z0-9 +]*PRIVATE[ +]KEY|Private-Lines: [0-9]"
"""How a private key begins, as an expression for RE2."""

_END = late_regex(rb"---- ?END[ +][A-Z0-9 +]*PRIVATE[ +]KEY[A-Z +]*-*+")
_CUT = late_regex(
    rb"[A-Z0-9 ]*+-*+(?:(?:[A-Za-z-]{3,20}: [^\r\n\\]*+|[A-Za-z0-9+/=]*+)[ \t\f]*+(?:\r?\n|\\+[nr])++)*+"
    rb"(?: ?[A-Za-z0-9+/=]{16,}+)*+(?:[A-Za-z0-9+/=]++\Z)?"
)
"""What of a key without end is surely the key: the rest of its first line, headers, lines of base64."""


_COST = 8


class PrivateKeys:
    """Finds private keys, armour included."""

    __slots__ = ("_scanner",)

    def __init__(self) -> None:
        self._scanner = byte_scanner(ARMOUR)

    def find(self, text: bytes, work: Work) -> Iterator[Span]:
        """Give the private keys in `text`."""
        found = self._scanner.search(text)
        for _ in work.looks(_COST):
            if found is None:
                return
            start, end = found
            following = self._scanner.search(text, end)
            stop = _END.search(text, end, following[0] if following else len(text)) or _CUT.match(text, end)
            yield Span(start, stop.end() if stop else end, "private-key")
            found = following
        yield Span.unread(found[0] if found else len(text))
