"""Writes into an agent's memory: how far they reach, how large and how sensitive they are.

The checks and their order are the Go AgentFence's: scope, payload, size, sensitivity. Unlike there,
every payload field counts, not the first one, and a scope that is not text is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentfence.core.constraints.effort import TOO_MUCH
from agentfence.core.constraints.fields import (
    Selectors,
    build_fields,
    collect_text,
    literal_selector,
    parse_selectors,
    twin_failure,
)
from agentfence.core.constraints.interface import Failure, SpecError
from agentfence.core.constraints.regexes import compile_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from agentfence.core.constraints.fields import FoundText
    from agentfence.core.constraints.interface import Arguments, BuildContext, Circumstances

_SCOPES = ("session", "project", "global")
_SENSITIVITIES = ("low", "medium", "high")
_COST_OF_TEXT, _LETTERS_READ = 1, 4096
"""Microseconds for each pattern, and letters in one."""
_PAYLOAD_FIELDS = ("value", "content")


class _Level:
    """A limit on an argument whose values are words in rising order."""

    __slots__ = ("_field", "_limit", "_selectors", "_words", "code")

    def __init__(self, field: str, words: Sequence[str], limit: str) -> None:
        self._field = field
        self._words = words
        self._limit = words.index(limit)
        self._selectors = parse_selectors([field])
        self.code = f"memory_{field}"

    def find_problem(self, arguments: Arguments, least: int = 0) -> Failure | None:
        """Give what is wrong with the argument, which is the lowest word when absent, or with `least`."""
        twin = self._selectors.find_twin(arguments)
        if twin is not None:
            return twin_failure(twin, f"{self.code}_invalid")
        word = arguments.get(self._field)
        if word is None:
            word = self._words[0]
        if not isinstance(word, str) or word not in self._words:
            expected = ", ".join(f"`{word}`" for word in self._words)
            reason = f"argument `{self._field}` is not one of {expected}"
            return Failure(f"{self.code}_invalid", reason, self._field)
        level = max(self._words.index(word), least)
        if level > self._limit:
            reason = f"{self._field} `{self._words[level]}` is beyond `{self._words[self._limit]}`"
            return Failure(f"{self.code}_exceeded", reason, self._field)
        return None


@frozen
class MemoryWrite:
    """One `memory_write` block."""

    payload: Selectors
    scope: _Level | None
    sensitivity: _Level | None
    max_bytes: int | None
    secrets: tuple[Callable[[str], bool], ...]

    @property
    def kind(self) -> str:
        """`memory_write`."""
        return "memory_write"

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the payload's names, `scope` and `sensitivity`."""
        return (*self.payload.top_levels, "scope", "sensitivity")

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first of scope, payload, size and sensitivity that fails."""
        if self.scope is not None and (failure := self.scope.find_problem(arguments)) is not None:
            return failure
        texts = collect_text(self.payload, arguments, "memory_payload_missing")
        if isinstance(texts, Failure):
            return texts
        if not any(found.text for found in texts):
            return Failure("memory_payload_missing", "the payload is empty", self.payload[0].text)
        if self.max_bytes is not None and _count_bytes(texts) > self.max_bytes:
            return Failure("memory_size_exceeded", f"the payload is larger than {self.max_bytes} bytes")
        if self.sensitivity is None:
            return None
        cost = sum(_COST_OF_TEXT + len(found.text) // _LETTERS_READ for found in texts)
        if not circumstances.affords(cost * len(self.secrets)):
            return Failure("memory_size_exceeded", f"the payload {TOO_MUCH}")
        holds_secret = any(matches(found.text) for matches in self.secrets for found in texts)
        return self.sensitivity.find_problem(arguments, _SENSITIVITIES.index("high") if holds_secret else 0)


def build(spec: Mapping[str, Any], context: BuildContext) -> MemoryWrite:
    """Give the constraint of a `memory_write` block.

    Raises:
        SpecError: a payload field or one of the policy's redaction patterns cannot be used.

    """
    if context.original:
        names = spec.get("payload_fields") or _PAYLOAD_FIELDS
        payload = Selectors(literal_selector(name) for name in names)
    else:
        payload = build_fields(spec, _PAYLOAD_FIELDS, "payload_fields")
    max_scope, max_sensitivity = spec.get("max_scope"), spec.get("max_sensitivity")
    return MemoryWrite(
        payload=payload,
        scope=_Level("scope", _SCOPES, max_scope) if max_scope else None,
        sensitivity=_Level("sensitivity", _SENSITIVITIES, max_sensitivity) if max_sensitivity else None,
        max_bytes=spec.get("max_bytes"),
        secrets=tuple(_compile_secrets(context.secret_patterns)) if max_sensitivity else (),
    )


def _compile_secrets(patterns: Iterable[tuple[str, str]]) -> Iterable[Callable[[str], bool]]:
    for name, expression in patterns:
        try:
            yield compile_regex(expression, whole=False)
        except ValueError as error:
            raise SpecError((), f"redaction pattern `{name}`: {error}") from None


def _count_bytes(texts: Iterable[FoundText]) -> int:
    return sum(len(found.text.encode("utf-8", "surrogatepass")) for found in texts)
