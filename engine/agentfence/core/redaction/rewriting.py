"""What becomes of the texts of one record.

Invariant: a secret that the record gives away in one place, by a key or by an assignment, is
hidden in all of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.redaction.checks import looks_chosen
from agentfence.core.redaction.nested import looks_nested, read_nested, write_nested
from agentfence.core.redaction.scanning import found_by, literal_scanner, touched
from agentfence.core.redaction.spans import BLANK, UNREAD, decode, encode, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.redaction.spans import Markers, Span
    from agentfence.core.redaction.work import Work

_MOST_ROUNDS = 5
_MOST_KNOWN = 64
_LENGTHS_KNOWN = range(8, 201)
_QUICKLY_SEARCHED = 1 << 18
"""Characters, once for each secret: of more, all secrets are looked for together."""
_COST_OF_KNOWN = 10
_COST_OF_A_WORD = 3
_COST_OF_NESTED = 20
_NESTED_A_MICROSECOND = 64
"""Characters of JSON that are read."""


class Rewriting:
    """The texts of a record without their secrets."""

    __slots__ = ("_find", "_known", "_markers", "_value", "_work", "changed")

    def __init__(
        self,
        find: Callable[[bytes, Work], list[Span]],
        value: Callable[[Json, dict[str, str]], Json],
        markers: Markers,
        known: dict[str, str],
        work: Work,
    ) -> None:
        """Take what finds secrets in a text, what redacts a value in one, and the secrets known by now."""
        self._find = find
        self._work = work
        self._markers = markers
        self._value = value
        self._known = known
        self.changed: dict[str, str] = {}
        """Each text that holds a secret, and what is shown instead."""

    def text(self, text: str) -> str:
        """Give what is shown of a text."""
        return self.changed.get(text, text)

    def redact(self, text: str) -> None:
        """Take a text and redact it, if that is still worth it."""
        shown = UNREAD if self._work.is_done else self._redacted(self._without_nested(text))
        if shown != text:
            self.changed[text] = shown

    def _redacted(self, text: str) -> str:
        """Redact until nothing more is found: what is left may make a new sense."""
        rest = encode(text)
        self._work.begin_text()
        for _ in range(_MOST_ROUNDS):
            blanked = self._markers.blank(rest)
            spans = self._find(blanked, self._work)
            for span in spans:
                if span.by_name:
                    self._learn(decode(blanked[span.start : span.end]), span.name)
            rest, before = replace(rest, blanked, spans), rest
            if rest == before:
                break
            self._work.begin_again()
        return decode(rest)

    def _without_nested(self, text: str) -> str:
        is_worth_it = looks_nested(text) and self._work.spend(
            _COST_OF_NESTED + len(text) // _NESTED_A_MICROSECOND
        )
        value = read_nested(text) if is_worth_it else None
        shown = None if value is None else self._value(value, self._known)
        return text if shown is value else write_nested(shown, text)

    def hide(self, secrets: Mapping[str, str], texts: Sequence[str]) -> None:
        """Take what keys condemned, and hide it and all that was learned wherever else it stands."""
        for secret, name in secrets.items():
            self._learn(secret, name)
        shown = [self.text(text) for text in texts]
        joined = "\0".join(shown)
        known = sorted(self._known, key=len, reverse=True)
        if len(joined) * len(known) <= _QUICKLY_SEARCHED:
            known = [secret for secret in known if secret in joined]
        if not known:
            return
        names = {encode(secret): self._known[secret] for secret in known}
        scanner = literal_scanner(names)
        for index in touched(scanner, encode(joined), shown):
            if not self._work.spend(_COST_OF_KNOWN):
                self.changed.update(dict.fromkeys(texts[index:], UNREAD))
                return
            text = encode(shown[index])
            blanked = self._markers.blank(text)
            spans = [*found_by(scanner, blanked, self._work, names)]
            if spans:
                self.changed[texts[index]] = self._redacted(decode(replace(text, blanked, spans)))

    def _learn(self, secret: str, name: str) -> None:
        """Remember a secret when it can be told from other text."""
        if len(self._known) >= _MOST_KNOWN or len(secret) not in _LENGTHS_KNOWN:
            return
        if " " not in secret and looks_chosen(encode(secret)):
            self._known[secret] = name

    def command_line(self, words: list[str]) -> list[str]:
        """Give the words of a command without the secrets that only the words beside them tell of."""
        line = " ".join(words)
        if line not in self.changed:
            return words
        if not self._work.spend(_COST_OF_A_WORD * len(words)):
            return [UNREAD] * len(words)
        spans = self._all_found(self._markers.blank(encode(line)))
        shown, start = [], 0
        for word in map(encode, words):
            end = start + len(word)
            inside = [span.within(start, end) for span in spans if span.start < end and start < span.end]
            blanked = self._markers.blank(word)
            if decode(word) in self.changed:  # a word may hold what the line around it hides
                inside += self._all_found(blanked)
            shown.append(decode(replace(word, blanked, inside)))
            start = end + 1
        return shown

    def _all_found(self, text: bytes) -> list[Span]:
        """Give what is found until nothing more is: an option may stand behind another one's secret."""
        spans: list[Span] = []
        for _ in range(_MOST_ROUNDS):
            new = [span.within(0, len(text)) for span in self._find(text, self._work)]
            new = [span for span in new if text[span.start : span.end].strip(BLANK)]
            if not new:
                break
            spans += new
            for start, end, *_ in new:
                text = text[:start] + BLANK * (end - start) + text[end:]
        return spans
