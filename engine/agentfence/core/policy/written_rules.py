"""The rules that a policy's own file writes, by the names that decisions give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.policy.imports import Document
    from agentfence.core.policy.nodes import Position, Table


class WrittenRule(NamedTuple):
    """One entry that may decide on a message."""

    name: str
    """As `Decision.rule` has it: `read_*`, `forbid[0]`, `resources.file:///a/**`."""
    position: Position


def written_rules(document: Document) -> list[WrittenRule]:
    """Give the rules in the order of the file; those of imported files are left out."""
    rules = [rule for rule in _rules(document.table) if rule.position.source.name == document.file.name]
    return sorted(rules, key=lambda rule: (rule.position.line, rule.position.column))


def _rules(table: Table) -> Iterator[WrittenRule]:
    for name, entry in table.table("tools").entries.items():
        yield WrittenRule(name, entry.key)
    for index, node in enumerate(table.items("forbid")):
        yield WrittenRule(f"forbid[{index}]", node.position)
    for section in ("methods", "resources", "prompts"):
        for name, entry in table.table(section).entries.items():
            yield WrittenRule(f"{section}.{name}", entry.key)
