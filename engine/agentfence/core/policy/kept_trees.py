"""A policy file's tree as a JSON value and back, so that a surface can keep what a file said.

| node    | kept as                                                                             |
| ------- | ----------------------------------------------------------------------------------- |
| scalar  | line, column, width, text, whether it is quoted, and its value where that is no text |
| list    | line, column, width, the nodes in it                                                |
| mapping | line, column, width, by each key the key's line, column and width, and the value     |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

from agentfence.core.policy.nodes import Entry, Items, Position, Scalar, Table

if TYPE_CHECKING:
    from agentfence.core.policy.nodes import Node, Source


def keep(node: Node) -> list[Any]:
    """Give the JSON value of a tree."""
    place = node.position[1:]
    match node:
        case Scalar():
            value = () if node.value == node.text else (node.value,)
            return [*place, node.text, node.is_quoted, *value]
        case Items():
            return [*place, [keep(item) for item in node.items]]
        case Table():
            entries = node.entries.items()
            return [*place, {key: [*entry.key[1:], keep(entry.value)] for key, entry in entries}]
        case _:
            assert_never(node)


def restore(kept: list[Any], source: Source) -> Node:
    """Give the tree of a JSON value that `keep` gave, of the same text."""
    line, column, width, content, *rest = kept
    position = Position(source, line, column, width)
    if isinstance(content, str):
        return Scalar(rest[-1] if len(rest) > 1 else content, position, content, rest[0])
    if isinstance(content, list):
        return Items(tuple(restore(item, source) for item in content), position)
    entries = {
        key: Entry(Position(source, *place), restore(value, source))
        for key, (*place, value) in content.items()
    }
    return Table(entries, position)
