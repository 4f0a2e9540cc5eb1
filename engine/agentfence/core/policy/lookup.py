"""Which rule applies to a tool: exact name, then group, then wildcard, then the default.

Precedence (the policy language's own, see docs/policy-language.md): groups in alphabetical order
and their members in file order; wildcards in byte order of the pattern. Where a server is named,
each level tries `server/tool` before the bare name. Keys and members with `/` match qualified
names only; keys without match bare names on every server.

Invariant: the cost of a lookup does not grow with rules that the tool does not touch, as patterns
are indexed by their literal beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentfence.core.constraints.globs import Glob
    from agentfence.core.policy.model import Rule

_WILDCARDS = frozenset("*?[\\")
_REMEMBERED_LOOKUPS = 4_096
_LONGEST_REMEMBERED_NAME = 256
"""The agent chooses tool names: what is remembered of them must stay small."""


@frozen
class _Entry:
    rank: int
    glob: Glob
    rule: Rule


class _PatternIndex:
    """Patterns in order of rank, found by the literal text they begin with."""

    __slots__ = ("_by_beginning", "_lengths")

    def __init__(self, patterns: Sequence[tuple[str, Glob, Rule]]) -> None:
        self._by_beginning: dict[str, list[_Entry]] = {}
        for rank, (text, glob, rule) in enumerate(patterns):
            self._by_beginning.setdefault(_literal_beginning(text), []).append(_Entry(rank, glob, rule))
        self._lengths = sorted({len(beginning) for beginning in self._by_beginning})

    def find(self, name: str) -> Rule | None:
        best: _Entry | None = None
        for length in self._lengths:
            if length > len(name):
                break
            for entry in self._by_beginning.get(name[:length], ()):
                if best is not None and entry.rank > best.rank:
                    break
                if entry.glob.matches(name):
                    best = entry
                    break
        return best.rule if best else None


def _literal_beginning(pattern: str) -> str:
    for position, character in enumerate(pattern):
        if character in _WILDCARDS:
            return pattern[:position]
    return pattern


@frozen
class _Level:
    """One level of precedence: how it finds a qualified and a bare name."""

    qualified: Callable[[str], Rule | None]
    bare: Callable[[str], Rule | None]

    @classmethod
    def of_names(cls, rules: Mapping[str, Rule], *, original: bool) -> _Level:
        qualified = {} if original else {name: rule for name, rule in rules.items() if "/" in name}
        bare = {name: rule for name, rule in rules.items() if name not in qualified}
        return cls(qualified.get, bare.get)

    @classmethod
    def of_patterns(cls, patterns: Sequence[tuple[str, Glob, Rule]], *, original: bool) -> _Level:
        qualified = [] if original else [entry for entry in patterns if "/" in entry[0]]
        bare = [entry for entry in patterns if original or "/" not in entry[0]]
        return cls(_PatternIndex(qualified).find, _PatternIndex(bare).find)


class ToolTable:
    """All rules of `tools:`, compiled for lookup."""

    __slots__ = ("_exact", "_groups", "_known", "_wildcards", "rules")

    def __init__(
        self,
        exact: Mapping[str, Rule],
        groups: Sequence[tuple[str, Glob, Rule]],
        wildcards: Sequence[tuple[str, Glob, Rule]],
        *,
        original: bool = False,
    ) -> None:
        """Take members of groups and wildcards as `(pattern, glob, rule)`, in order of precedence.

        `original`: a policy of the Go AgentFence, which knows no servers: there `/` is a character
        of a tool's own name.
        """
        self.rules: tuple[Rule, ...] = (
            *dict.fromkeys(exact.values()),
            *dict.fromkeys(rule for _, _, rule in groups),
            *dict.fromkeys(rule for _, _, rule in wildcards),
        )
        self._exact = _Level.of_names(exact, original=original)
        self._groups = _Level.of_patterns(groups, original=original)
        self._wildcards = _Level.of_patterns(wildcards, original=original)
        self._known: dict[tuple[str | None, str], Rule | None] = {}

    def find(self, server: str | None, tool: str) -> Rule | None:
        """Give the one rule that applies; None when only the default does."""
        if len(tool) > _LONGEST_REMEMBERED_NAME:
            return self._search(server, tool)
        key = (server, tool)
        try:
            return self._known[key]
        except KeyError:
            pass
        if len(self._known) >= _REMEMBERED_LOOKUPS:
            self._known.clear()
        rule = self._known[key] = self._search(server, tool)
        return rule

    def _search(self, server: str | None, tool: str) -> Rule | None:
        qualified = None if server is None else f"{server}/{tool}"
        for level in (self._exact, self._groups, self._wildcards):
            rule = level.qualified(qualified) if qualified is not None else None
            if rule is None:
                rule = level.bare(tool)
            if rule is not None:
                return rule
        return None
