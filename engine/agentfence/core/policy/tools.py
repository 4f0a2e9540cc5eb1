"""`tools:`, `groups:` and `forbid:` into what a lookup needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.original_globs import original_spellings
from agentfence.core.policy.building import optional_text, text_of
from agentfence.core.policy.lookup import ToolTable
from agentfence.core.policy.model import Forbid, Rule, RuleKind
from agentfence.core.policy.nodes import Table
from agentfence.core.policy.rules import compile_rule
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.constraints.globs import Glob
    from agentfence.core.policy.building import Building
    from agentfence.core.policy.nodes import Path, Position

    type Patterns = list[tuple[str, Glob, Rule]]

_WILDCARDS = frozenset("*?[\\")


def compile_tools(document: Table, building: Building) -> ToolTable:
    """Give the rules, in order of precedence: exact names, groups by name, patterns by their bytes."""
    original = building.context.original
    tools, groups = document.table("tools"), document.table("groups")
    members = {name: _members(groups, name, building) for name in sorted(groups.entries)}
    exact: dict[str, Rule] = {}
    grouped: Patterns = []
    wildcards: Patterns = []
    for key in sorted(tools.entries):
        kind = RuleKind.GROUP if key in members else _kind_of(key, original=original)
        entry = tools.entries[key]
        rule = compile_rule(key, kind, entry, building)
        if kind is RuleKind.GROUP:
            grouped += [(pattern, glob, rule) for pattern, glob in members[key]]
        elif kind is RuleKind.WILDCARD:
            globs = _globs(key, entry.key, ("tools", key), building)
            wildcards += [(pattern, glob, rule) for pattern, glob in globs]
        if kind is RuleKind.EXACT or original:  # the Go AgentFence: any key is also a name
            exact[key] = replace(rule, kind=RuleKind.EXACT)
    return ToolTable(exact, grouped, wildcards, original=original)


def _kind_of(key: str, *, original: bool) -> RuleKind:
    is_name = _WILDCARDS.isdisjoint(key) and (not original or original_spellings(key) == (key,))
    return RuleKind.EXACT if is_name else RuleKind.WILDCARD


def _members(groups: Table, name: str, building: Building) -> list[tuple[str, Glob]]:
    return [
        found
        for index, node in enumerate(groups.items(name))
        for found in _globs(text_of(node), node.position, ("groups", name, index), building)
    ]


def _globs(pattern: str, position: Position, path: Path, building: Building) -> list[tuple[str, Glob]]:
    """Give what a pattern compiles to: one glob, or several for one of the Go AgentFence."""
    spellings = original_spellings(pattern) if building.context.original else (pattern,)
    found = ((spelling, building.glob(spelling, position, path)) for spelling in spellings)
    return [(spelling, glob) for spelling, glob in found if glob is not None]


def compile_forbids(document: Table, building: Building) -> tuple[Forbid, ...]:
    """Give the entries of `forbid:`, in order."""
    forbids: list[Forbid] = []
    for index, node in enumerate(document.items("forbid")):
        if isinstance(node, Table):
            globs = building.globs(node.items("tools"), ("forbid", index, "tools"))
            forbids.append(
                Forbid(
                    f"forbid[{index}]",
                    tuple(glob for _, glob in globs),
                    tuple(pattern for pattern, _ in globs),
                    optional_text(node, "message"),
                    node.position.place,
                )
            )
    return tuple(forbids)
