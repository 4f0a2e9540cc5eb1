"""Whether a call's arguments come from what tools returned before, by the policy's `taint:` section.

Not here: how texts are compared (`taint_text.py`), and what is remembered (`taint_memory.py`).

Invariant: a reason names the argument and the source, never a word of the text.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.common_texts import COMMON_TEXTS
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.fields import EVERYTHING, parse_selector
from agentfence.core.constraints.globs import compile_glob
from agentfence.core.decision import quoted
from agentfence.core.result_texts import texts_of_answer
from agentfence.core.revisions import METHODS
from agentfence.core.taint_memory import AT_ONCE, pieces_of, shingles_of
from agentfence.core.taint_text import essence, readings, without_markup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentfence.core.constraints.globs import Glob
    from agentfence.core.constraints.interface import Arguments, Json
    from agentfence.core.policy.model import TaintSettings
    from agentfence.core.taint_memory import TaintMemory

_MOST_CHARACTERS = 1 << 20
"""Of one result, half of them from its beginning: more would push that out again, at great cost."""
_MOST_AT_ONCE = 1 << 16
"""Characters of a result that does not have to wait until there is time for it."""
_OF_A_TEXT = 64
"""Characters that cost as much as a text or a key does by itself."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")


_MOST_OWN = 1 << 16
_MOST_OWN_TEXTS = 1 << 12
"""What is kept of one call as the agent's own words; less of them is the safe side."""


class _TooLongError(Exception):
    """A call with more text than is looked at."""


class _Leaf(NamedTuple):
    keys: tuple[str, ...]
    text: str


class TaintRules:
    """What the `taint:` section of a policy says, compiled."""

    __slots__ = ("_common", "_ignored", "_length", "_sinks", "_sources", "_trusted", "denies")

    def __init__(self, settings: TaintSettings) -> None:
        """Take the section of a policy, which has been found to compile."""
        self.denies = settings.on_tainted_argument == "deny"
        self._length = max(1, settings.min_length)
        self._common = [s for text in COMMON_TEXTS for s in shingles_of(essence(text), self._length)]
        self._sources = _Tools(settings.sources)
        self._sinks = _Tools(settings.sinks)
        self._trusted = _Tools(settings.trusted_tools)
        self._ignored = tuple(
            reading for text in settings.ignore_fields for reading in parse_selector(text).readings or ((),)
        )

    def is_sink(self, server: str | None, tool: str) -> bool:
        """Whether calls of this tool are looked at."""
        return self._sinks.cover(server, tool)

    def is_source(self, server: str | None, name: str) -> bool:
        """Whether what this tool, or this method that calls none, returns is foreign."""
        if "/" in name and self._trusted.names(name):
            return False
        is_named = self._sources.cover(server, name) or self._sources.cover_method(server, name)
        return is_named and not self._trusted.cover(server, name)

    def remember(self, memory: TaintMemory, source: str, value: Json) -> bool:
        """Keep the texts of a result; whether something older was forgotten for it."""
        is_new = self._length not in memory.lengths
        if is_new:
            memory.lengths += (self._length,)
        if is_new or memory.is_empty:
            memory.own(self._common)
        values, keys = texts_of_answer(value)
        together = "\n".join(values)
        pieces = self._pieces(_kept(together), values, keys)
        if len(together) + _OF_A_TEXT * (len(values) + len(keys)) > _MOST_AT_ONCE:
            has_forgotten = memory.remember_later(source, pieces)
        else:
            has_forgotten = memory.remember(source, [*chain.from_iterable(pieces)])
        return has_forgotten or len(together) > _MOST_CHARACTERS

    def _pieces(self, together: str, values: list[str], keys: list[str]) -> Iterator[list[int]]:
        """Give the shingles of all that came back, some at a time."""
        shown = without_markup(together)
        for text in (together, *([] if shown == together else [shown]), *keys):
            for reading in readings(text):
                yield from pieces_of(essence(reading), self._length)
                if len(reading) > AT_ONCE // 2:
                    yield []  # time has passed
        for text in values:
            if short := _short(text, self._length):
                yield short

    def find(self, memory: TaintMemory, arguments: Arguments, effort: Effort | None = None) -> str | None:
        """Give a sentence on the argument that was copied; None, and keep them as own, when none was."""
        if memory.has_failed:
            return "not all that tools returned could be remembered"
        leaves = [leaf for leaf in _leaves(arguments) if not self._is_ignored(leaf.keys)]
        lengths = memory.lengths or (self._length,)
        names = dict.fromkeys(key for leaf in leaves for key in leaf.keys if len(key) >= min(lengths))
        texts = ["\n".join(leaf.text for leaf in leaves if leaf.text), *names]
        try:
            found = None if memory.is_empty else self._copied(memory, leaves, texts, effort or Effort())
        except _TooLongError:
            return "the arguments are too long to be compared with what tools returned"
        if found is None:
            own = essence("\n".join(texts)[:_MOST_OWN])
            for length in lengths:
                short = (
                    shingle for leaf in leaves[:_MOST_OWN_TEXTS] for shingle in _short(leaf.text, length)
                )
                memory.own([*shingles_of(own, length), *short])
        return found

    def _copied(
        self, memory: TaintMemory, leaves: list[_Leaf], texts: list[str], effort: Effort
    ) -> str | None:
        # What is copied as it is shows in all arguments together, which is one look for many.
        is_plain = any(self._is_known(memory, text, effort) for text in texts)
        for leaf in leaves:
            source = self._source_of(memory, leaf.text, effort, is_plain=is_plain)
            if source is not None:
                return f"argument {_place(leaf.keys)} is derived from what {quoted(source)} returned"
        filled = sum(1 for leaf in leaves if leaf.text)
        for text in texts if filled > 1 else texts[1:]:
            source = self._source_of(memory, text, effort, is_plain=is_plain)
            if source is not None:
                return f"the arguments are derived from what {quoted(source)} returned"
        return None

    def _is_known(self, memory: TaintMemory, text: str, effort: Effort) -> bool:
        return _run_in(memory, text, effort) is not None

    def _source_of(self, memory: TaintMemory, text: str, effort: Effort, *, is_plain: bool) -> str | None:
        if len(text) < min(memory.lengths) and text.isascii():  # other signs may stand for several letters
            return None
        for reading in islice(readings(text), 0 if is_plain else 1, None):
            source = _run_in(memory, reading, effort)
            if source is not None:
                return source
        return memory.source_of([shingle for n in memory.lengths for shingle in _short(text, n)], 1)

    def _is_ignored(self, keys: tuple[str, ...]) -> bool:
        return any(keys[: len(ignored)] == ignored for ignored in self._ignored)


def _kept(text: str) -> str:
    """Give what is remembered of a result: of one that is too long for models, they get the beginning."""
    half = _MOST_CHARACTERS // 2
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:half]}\n{text[-half:]}"


def _run_in(memory: TaintMemory, text: str, effort: Effort) -> str | None:
    """Give whence a run in a text came; None when none is foreign."""
    for length in memory.lengths:
        effort.letters -= len(text)
        if effort.letters < 0:
            raise _TooLongError
        source = memory.source_of(shingles_of(essence(text), length), length)
        if source is not None:
            return source
    return None


def _short(text: str, length: int) -> list[int]:
    """Give the hash of a whole text that is long enough only with its blanks and signs."""
    kept = essence(text) if length <= len(text.strip()) <= 4 * length else ""
    return [hash(kept)] if length // 2 < len(kept) < length else []


class _Tools:
    """Patterns of tools: those with `/` cover `server/tool`, others the bare name."""

    __slots__ = ("_bare", "_covers_all", "_methods", "_qualified")

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = tuple(patterns)
        self._methods = METHODS.intersection(patterns)
        self._covers_all = EVERYTHING in patterns
        self._bare = [compile_glob(pattern) for pattern in patterns if "/" not in pattern]
        self._qualified = [compile_glob(pattern) for pattern in patterns if "/" in pattern]

    def cover(self, server: str | None, tool: str) -> bool:
        if self._covers_all or _any(self._bare, tool):
            return True
        return server is not None and _any(self._qualified, f"{server}/{tool}")

    def names(self, method: str) -> bool:
        """Whether one of them is the name of this method of MCP, and no pattern of tools."""
        return method in self._methods

    def cover_method(self, server: str | None, name: str) -> bool:
        """Whether they cover a method as `resources/read`, whose `/` parts no server from a tool."""
        return "/" in name and (_any(self._qualified, name) or self.cover(server, name.replace("/", ".")))


def _any(globs: Iterable[Glob], name: str) -> bool:
    return any(glob.matches(name) for glob in globs)


def _leaves(arguments: Arguments) -> Iterator[_Leaf]:
    """Give every text and number with the keys that lead to it, in order; other values as empty texts."""
    waiting: list[tuple[tuple[str, ...], Json]] = [((key,), arguments[key]) for key in reversed([*arguments])]
    while waiting:
        keys, value = waiting.pop()
        match value:
            case str():
                yield _Leaf(keys, value)
            case bool() | None:
                yield _Leaf(keys, "")
            case int() | float():
                yield _Leaf(keys, str(value))
            case list():
                yield _Leaf(keys, "")
                waiting.extend((keys, element) for element in reversed(value))
            case dict():
                yield _Leaf(keys, "")
                waiting.extend(((*keys, key), value[key]) for key in reversed([*value]))


def _place(keys: tuple[str, ...]) -> str:
    """Give the way to an argument; keys that may be foreign themselves are not shown."""
    return "`" + ".".join(key if _PLAIN_KEY.fullmatch(key) else "*" for key in keys) + "`"
