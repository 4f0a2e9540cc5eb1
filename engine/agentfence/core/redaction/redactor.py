"""The redactor: texts, JSON values and header fields without their secrets.

One cheap look by RE2 decides for all texts of a record together which of them need the detectors;
for honest ones that is all that happens.

Invariants
- Nothing raises, whatever is redacted; nothing that is given is changed.
- Redacting twice changes nothing.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.redaction.names import Proof, SecretName, classify
from agentfence.core.redaction.records import Record, members_tell
from agentfence.core.redaction.rewriting import Rewriting
from agentfence.core.redaction.scanning import found_by, policy_scanner, touched
from agentfence.core.redaction.spans import UNREAD, Markers, Span, encode
from agentfence.core.redaction.work import MOST_LOOKS, Work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.redaction.builtin import Builtin

_SECRET_FIELDS = frozenset(
    {"dpop", "last-event-id", "x-hub-signature", "x-hub-signature-256", "x-forwarded-client-cert"}
)
"""Header fields that no word gives away. MCP 2025-11-25, basic/transports: an event id resumes a stream."""
_PLAIN = late_regex(r"[ _/.,`()]*+(?:[A-Z]?[a-z]{1,15}(?![A-Za-z])[ _/.,`()]*+)*+")
"""Words: what holds no secret, so that a process that shows nothing else never loads the detectors."""
_PATH = late_regex(
    r"[~.]{0,2}(?:/?+(?![0-9.-]{13})(?:[A-Za-z0-9._-]{1,15}|[a-z]{1,15}(?:[-_.][a-z]{1,15}){1,3})(?![^/ ]))++"
    r"(?: \([a-z ]{1,40}\))?"
)
"""Likewise a path, as of a policy: no name in it is long and mixed enough to be a secret, or is a card's."""
_COUNTED = late_regex(r"[A-Za-z]{0,12}[-_.#]?[0-9]{1,10}")
"""Ids as most clients count them: too short and too plain to be a secret, unless the policy says so. Behind a
colon the digits may be one: `pin:4821`."""
_DEEPEST_TEXT = 4
_COST_OF_A_LOOK = 3
_FEW = 100
_LONGEST_PLAIN = 256
_LONGEST_REMEMBERED = 64
_MOST_REMEMBERED = 10_000


def build_redactor(*, builtin: bool, patterns: Sequence[tuple[str, str]], enabled: bool = True) -> Redactor:
    """Give the redactor of a policy.

    Args:
        builtin: whether the built-in patterns and key names count.
        patterns: the policy's own, each a name and an RE2 expression.
        enabled: False shows everything as it is, header fields apart.

    Raises:
        ValueError: an expression that RE2 does not accept.

    """
    return Redactor(builtin=builtin, patterns=patterns, enabled=enabled)


class Redactor:
    """Replaces secrets by `[REDACTED:NAME]`."""

    __slots__ = ("_builtin", "_classify", "_is_builtin", "_is_enabled", "_markers", "_patterns")

    def __init__(self, *, builtin: bool, patterns: Sequence[tuple[str, str]], enabled: bool) -> None:
        self._is_builtin = builtin
        self._is_enabled = enabled
        self._patterns = tuple((name, policy_scanner(regex), _is_anchored(regex)) for name, regex in patterns)
        self._markers = Markers(name for name, _ in patterns)
        self._builtin: Builtin | None = None
        self._classify = _Remembered(self._markers).__getitem__ if builtin else _announces_nothing

    def text(self, text: str, work: Work | None = None) -> str:
        """Give the text without its secrets."""
        if not self._patterns and _COUNTED.fullmatch(text):
            return text
        shown = self.value(text, work)
        return shown if isinstance(shown, str) else text

    def value(self, value: Json, work: Work | None = None) -> Json:
        """Give the value without its secrets, in keys too; the same object when it holds none.

        `work` is what the whole message is worth, where it holds more than this value.
        """
        if not self._is_enabled or (
            type(value) is dict and (work is None or not work.is_done) and self._is_clean(value)
        ):
            return value
        return self._value(value, {}, 0, work or Work())

    def _is_clean(self, members: dict[str, Json]) -> bool:
        """Whether an object of texts, as most arguments are, surely holds no secret; else take a look.

        What is looked through is what `Record.read` gathers of an object whose keys announce nothing.
        """
        builtin = self._builtin
        if builtin is None or self._patterns or len(members) > _FEW or members_tell(members):
            return False
        if any(map(self._classify, members)):
            return False
        try:
            joined = "\0".join((*members, *members.values()))  # type: ignore[arg-type]  # that is the question
        except TypeError:  # not all are texts
            return False
        if "\\" in joined and any(map(builtin.hides_in_nested, members.values())):  # type: ignore[arg-type]
            return False
        return builtin.suspicious.search(encode(joined)) is None

    def _value(self, value: Json, known: dict[str, str], depth: int, work: Work) -> Json:
        """Redact a value that stands in `depth` texts of JSON; `known` are the secrets found so far."""
        record = Record(self._classify, self._markers, work, reads_numbers=bool(self._patterns))
        record.read(value)
        if record.is_unread:
            return UNREAD
        texts = list(dict.fromkeys(record.texts))
        suspicious, unread = self._suspicious(texts, work)
        if (not suspicious and not unread and not record.is_touched) or depth > _DEEPEST_TEXT:
            return value
        inner = partial(self._value, depth=depth + 1, work=work)
        rewriting = Rewriting(self._find, inner, self._markers, known, work)
        for text in suspicious:
            rewriting.redact(text)
        rewriting.changed.update(dict.fromkeys(unread, UNREAD))
        rewriting.hide(record.hidden, texts)
        return record.write(value, rewriting)

    def excerpt(self, text: str, limit: int, work: Work | None = None) -> str:
        """Give the first `limit` characters of the redacted text, and `…` where more is left out."""
        shown = self.text(text, work)
        if len(shown) <= limit:
            return shown
        marker = shown.rfind("[REDACTED:", 0, limit)
        is_cut = marker >= 0 and "]" not in shown[marker:limit]
        return f"{shown[: marker if is_cut else limit]}…"

    def names_in(self, text: str) -> tuple[str, ...]:
        """Give the names of the policy's own patterns that match, even when redaction is off."""
        encoded = encode(text)
        return tuple(name for name, scanner, _ in self._patterns if scanner.search(encoded))

    def headers(self, fields: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Give header fields for showing; those that authenticate never, even when redaction is off."""
        return [(name, self._field(name, value)) for name, value in fields]

    def _field(self, name: str, value: str) -> str:
        secret = classify(name)
        if name.lower() in _SECRET_FIELDS or (secret and secret.proof is Proof.NONE):
            return f"[REDACTED:{name.lower()}]"
        return self.text(value)

    def _suspicious(self, texts: list[str], work: Work) -> tuple[list[str], list[str]]:
        """Give the texts in which the detectors may find something, and those that are not looked at."""
        if not self._patterns and (
            not self._is_builtin or (self._builtin is None and all(map(_is_plain, texts)))
        ):
            return [], []
        joined = encode("\0".join(texts))
        indexes: set[int] = set()
        end = len(texts)
        for look in self._first_looks(joined, texts):
            most = work.affords(MOST_LOOKS, _COST_OF_A_LOOK)
            found = [*islice(look, most + 1)]
            work.spend(len(found) * _COST_OF_A_LOOK)
            end = min(end, *found[most:], end)
            indexes.update(found)
        if self._builtin is not None and b"\\" in joined:
            hides = self._builtin.hides_in_nested
            indexes.update(index for index, text in enumerate(texts) if index not in indexes and hides(text))
        return [texts[index] for index in sorted(indexes) if index < end], texts[end:]

    def _first_looks(self, joined: bytes, texts: list[str]) -> Iterator[Iterable[int]]:
        """Give the indexes of the texts in which something of each kind may stand."""
        if self._is_builtin:
            yield touched(self._loaded().suspicious, joined, texts)
        for _, scanner, is_anchored in self._patterns:
            if is_anchored:
                yield (index for index, text in enumerate(texts) if scanner.search(encode(text)))
            else:
                yield touched(scanner, joined, texts)

    def _find(self, text: bytes, work: Work) -> list[Span]:
        """Give every secret in `text`, in no order; spans may overlap."""
        spans = self._loaded().find(text, work) if self._is_builtin else []
        for name, scanner, _ in self._patterns:
            spans += found_by(scanner, text, work, {}, name)
        return spans

    def _loaded(self) -> Builtin:
        if self._builtin is None:
            from agentfence.core.redaction.builtin import Builtin  # dozens of expressions: when first needed

            self._builtin = Builtin(self._classify)
        return self._builtin


class _Remembered(dict[str, SecretName | None]):
    """What names announce, remembered for short ones, which come again."""

    __slots__ = ("_markers",)

    def __init__(self, markers: Markers) -> None:
        self._markers = markers

    def __missing__(self, name: str) -> SecretName | None:
        secret = classify(self._markers.strip(name))
        if len(name) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[name] = secret
        return secret


def _announces_nothing(_name: str) -> SecretName | None:
    return None


def _is_plain(text: str) -> bool:
    is_short = len(text) <= _LONGEST_PLAIN and "password" not in text
    return is_short and bool(_PLAIN.fullmatch(text) or _PATH.fullmatch(text))


def _is_anchored(regex: str) -> bool:
    """Whether the expression may look at a text's ends, so that each text needs a look of its own."""
    return any(mark in regex.replace("[^", "[") for mark in ("^", "$", r"\A", r"\z", r"\B"))
