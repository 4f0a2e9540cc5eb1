"""What every lint looks at, and the walks through a document that they share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.constraints.fields import parse_selector
from agentfence.core.policy.building import text_of
from agentfence.core.policy.model import RuleKind
from agentfence.core.policy.nodes import Entry, Items, Node, Table
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.constraints.interface import Constraint
    from agentfence.core.policy.model import Policy, Rule
    from agentfence.core.policy.nodes import Path, Position
    from agentfence.core.policy.tool_definitions import ToolDefinition

_WINDOWS_ROOT = re.compile(r"[A-Za-z]:|\\\\")


@frozen
class Basis:
    """A policy that loads, and what is known around it."""

    policy: Policy
    table: Table
    is_original: bool
    time: float
    """Now, in seconds since 1970."""
    tools: tuple[ToolDefinition, ...] = ()
    """What the servers offer, where that is known."""

    def rules(self) -> Iterator[tuple[Rule, Entry]]:
        """Give each rule of `tools` with its entry, in the order of precedence."""
        entries = self.table.table("tools").entries
        seen: set[str] = set()
        for rule in self.policy.tools.rules:
            if rule.name not in seen and rule.name in entries:
                seen.add(rule.name)
                yield rule, entries[rule.name]

    def blocks(self) -> Iterator[Block]:
        """Give each block of each rule's constraints, as written and as compiled."""
        for rule, entry in self.rules():
            body = entry.value
            constraints = body.table("constraints") if isinstance(body, Table) else Table({}, entry.key)
            for kind, constraint_entry in constraints.entries.items():
                compiled = [one for one in rule.constraints if one.kind == kind]
                path = ("tools", rule.name, "constraints", kind)
                nodes = _blocks(constraint_entry.value)
                for index, (node, constraint) in enumerate(zip(nodes, compiled, strict=False)):
                    where = (*path, index) if isinstance(constraint_entry.value, Items) else path
                    yield Block(rule, kind, node, constraint, where)

    def patterns_of(self, rule: Rule, entry: Entry) -> Iterator[ToolPattern]:
        """Give the names and patterns that make a rule apply."""
        if rule.name in self.policy.groups:
            for index, node in enumerate(self.table.table("groups").items(rule.name)):
                yield ToolPattern(text_of(node), node.position, ("groups", rule.name, index))
        else:
            yield ToolPattern(rule.name, entry.key, ("tools", rule.name))

    def is_wildcard(self, rule: Rule) -> bool:
        """Whether a rule's own key is a pattern."""
        return rule.kind is RuleKind.WILDCARD or (
            self.is_original
            and rule.name not in self.policy.groups
            and any(one in rule.name for one in "*?[")
        )


class Block(NamedTuple):
    """One block of a rule's constraints."""

    rule: Rule
    kind: str
    node: Table
    constraint: Constraint
    path: Path

    def is_on_windows(self) -> bool:
        """Whether its roots say so."""
        return any(_WINDOWS_ROOT.match(text_of(root)) for root in self.node.items("roots"))


class ToolPattern(NamedTuple):
    """A tool, or a pattern of tools, that stands somewhere."""

    text: str
    position: Position
    path: Path


def _blocks(node: Node) -> list[Table]:
    nodes = node.items if isinstance(node, Items) else (node,)
    return [one for one in nodes if isinstance(one, Table)]


def texts_at(node: Table, key: str, path: Path) -> Iterator[ToolPattern]:
    """Give the texts of the list at `key`, each with its place."""
    for index, item in enumerate(node.items(key)):
        yield ToolPattern(text_of(item), item.position, (*path, key, index))


def field_readings(field: str) -> tuple[tuple[str, ...], ...]:
    """Give the keys that lead to a field, in every reading; none for all fields.

    In policies of the Go AgentFence a field is a name, whatever stands in it.
    """
    try:
        return parse_selector(field).readings
    except ValueError:
        return ((field,),)
