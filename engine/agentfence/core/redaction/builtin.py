"""All built-in detectors over one text."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from agentfence.core.redaction import columns
from agentfence.core.redaction.assignments import (
    ESCAPED,
    QUOTED,
    SUSPICIOUS_FORMS,
    Assignments,
    named_once,
)
from agentfence.core.redaction.columns import Columns
from agentfence.core.redaction.encoded import ENCODED, Encoded
from agentfence.core.redaction.manifests import KIND, Manifests
from agentfence.core.redaction.nested import looks_nested
from agentfence.core.redaction.private_keys import ARMOUR, PrivateKeys
from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import Span, blank, encode
from agentfence.core.redaction.tokens import GLUED, TABLES, TOKEN, Tokens
from agentfence.core.redaction.views import HIDDEN, MOST_ESCAPES, View, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.redaction.names import SecretName
    from agentfence.core.redaction.scanning import Scanner
    from agentfence.core.redaction.work import Work

_DEEPEST = 3
"""Encodings within encodings that are followed."""
_COST = 20
_COST_OF_AN_ESCAPE = 1
_MARGIN = 4096

TELLING_SHAPES = rb"""(?i:"type[\f\\]*"\s*:\s*[\f\\]*"(?:password|secret|securestring)[\f\\]*")|""" + KIND
"""What another member of an object, or another line, says of a value that has no name of its own."""

SUSPICIOUS = b"|".join(
    (
        TOKEN,
        named_once((*SUSPICIOUS_FORMS, *columns.FORMS, *columns.QUOTED_FORMS)),
        ENCODED,
        HIDDEN,
        GLUED,
        ARMOUR,
        rb'"kty',
        TELLING_SHAPES,
    )
)
"""What a text must hold before any detector finds something in it, as an expression for RE2."""


class Builtin:
    """Finds the secrets that people really leak."""

    def __init__(self, classify: Callable[[str], SecretName | None]) -> None:
        """Take what tells of a name whether it announces a secret."""
        self._classify = classify
        self.suspicious = byte_scanner(SUSPICIOUS)

    # These take memory, and where nothing suspicious comes nobody asks for them.

    @cached_property
    def _hidden(self) -> Scanner:
        return byte_scanner(b"|".join((HIDDEN, ESCAPED, GLUED)))

    @cached_property
    def _quoted(self) -> Scanner:
        return byte_scanner(b"|".join((QUOTED, named_once(columns.QUOTED_FORMS))))

    @cached_property
    def _detectors(self) -> tuple[Assignments | Columns | Tokens | PrivateKeys | Manifests, ...]:
        return (
            Assignments(self._classify),
            Columns(self._classify),
            *map(Tokens, TABLES),
            PrivateKeys(),
            Manifests(),
        )

    @cached_property
    def _encoded(self) -> Encoded:
        return Encoded(self._find_decoded)

    def hides_in_nested(self, text: str) -> bool:
        """Whether a text is JSON in which something may be found once its escapes are read."""
        is_escaped = "\\" in text and looks_nested(text)
        return is_escaped and self.suspicious.search(unquoted(encode(text))) is not None

    def find(self, text: bytes, work: Work, depth: int = 0) -> list[Span]:
        """Give every secret in `text`, in no order; spans may overlap."""
        if not work.spend(_COST):
            return [Span.unread(0)]
        spans = self._find_plain(text, depth, work)
        text = _as_far_as_read(text, spans)
        if b"\\" in text and self._quoted.search(text):
            view = unquoted(text)
            spans += (span.trimmed(view) for span in self._find_plain(view, depth, work))
            text = _as_far_as_read(text, spans)
        if depth < _DEEPEST and _may_hide(text) and self._hidden.search(text):
            read = View(text, work.affords(MOST_ESCAPES, _COST_OF_AN_ESCAPE))
            work.spend(read.escapes * _COST_OF_AN_ESCAPE)
            spans += map(read.source, self._find_decoded(read.text, depth + 1, work))
            if read.end < len(text):
                spans.append(Span.unread(read.end))
        return spans

    def _find_decoded(self, text: bytes, depth: int, work: Work) -> list[Span]:
        return self.find(text, work, depth) if depth <= _DEEPEST and self.suspicious.search(text) else []

    def _find_plain(self, text: bytes, depth: int, work: Work) -> list[Span]:
        runs = self._encoded.find(text, depth, work)
        spans = [*runs.secrets]
        text = blank(text, runs.binaries)
        for detector in self._detectors:
            text = _as_far_as_read(text, spans[-1:])
            spans += detector.find(text, work)
        return spans


def _as_far_as_read(text: bytes, spans: list[Span]) -> bytes:
    """Give the text up to where a detector gave up, and more, lest a secret is cut there."""
    unread = [span.start for span in spans if span.is_rest]
    return text[: min(unread) + _MARGIN] if unread else text


def _may_hide(text: bytes) -> bool:
    return not text.isascii() or any(mark in text for mark in (b"\\", b"%", b"&", b"\x1b"))
