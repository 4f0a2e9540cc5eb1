"""Values of a Secret of Kubernetes in YAML: its kind says that all of them are secret, and no name of theirs.

Invariant: the whole is linear.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.redaction.work import Work

KIND = rb"""\bkind[\f\\"]*:\s*[\f\\"']*Secret\b"""
"""What says so, as an expression for RE2."""

_COST = 20
_DOCUMENT_END = late_regex(rb"^---", re.MULTILINE)
_BLOCK = late_regex(
    rb"^([ \t]*+)(?:data|stringData):[ \t\f]*+\r?\n((?:(?:\1[ \t]+[^\n]*+|[ \t]*+)(?:\n|\Z))++)", re.MULTILINE
)
_VALUE = late_regex(
    rb"""^[ \t]*+[A-Za-z0-9._"'-]{1,253}:[ \t]*+["']?([^\s"'|>][^\n"']*+)|^[ \t]*+([^\s:#][^\n:]{3,}+)$""",
    re.MULTILINE,
)


class Manifests:
    """Finds the values of Secrets."""

    __slots__ = ("_scanner",)

    def __init__(self) -> None:
        self._scanner = byte_scanner(KIND)

    def find(self, text: bytes, work: Work) -> Iterator[Span]:
        """Give the secrets in `text`."""
        position = 0
        for _ in work.looks(_COST):
            found = self._scanner.search(text, position)
            if found is None:
                return
            first = text.rfind(b"\n---", position, found[0]) + 1 or position
            end = _DOCUMENT_END.search(text, found[1])
            position = end.start() if end else len(text)
            for block in _BLOCK.finditer(text, first, position):
                yield from _values(text, block, work)
        yield Span.unread(position)


def _values(text: bytes, block: re.Match[bytes], work: Work) -> Iterator[Span]:
    for value in _VALUE.finditer(text, *block.span(2)):
        if not work.spend(1):
            return
        yield Span(*value.span(value.lastindex or 0), "secret", by_name=True)
