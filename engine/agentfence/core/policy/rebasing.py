"""Relative roots of an imported file, as seen from the folder of the file that imports it.

After this a merged document means the same as one written in the root file, and nothing need remember
in which folder an entry once stood.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import literal_pattern
from agentfence.core.late_regex import late_regex
from agentfence.core.policy.nodes import Items, Node, Scalar, Table, made

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.policy.nodes import Entry

_ELSEWHERE = late_regex(r"[/\\~]|\$\{|[A-Za-z]:")  # absolute, or expanded to something absolute
_READ_ANYWHERE = late_regex(r"[\\%]|\$\{")  # an escape, a variable
_RELATIVE_FILE = late_regex(r"\Afile:(?!/)", re.IGNORECASE)


def is_readable_otherwise(prefix: str) -> bool:
    """Whether roots and resources would read a folder's name as a home folder, a variable, an escape."""
    return _ELSEWHERE.match(prefix) is not None or _READ_ANYWHERE.search(prefix) is not None


def rebased(document: Table, prefix: str) -> Table:
    """Give the document with `prefix` before every relative root in its rules and every relative `file:`."""
    if not prefix:
        return document
    for section, change in (("tools", _with_rebased_roots), ("resources", _with_rebased_files)):
        table = document.table(section)
        if table.entries:
            document = document.having(section, table._replace(entries=change(table.entries, prefix)))
    return document


def _with_rebased_files(entries: Mapping[str, Entry], prefix: str) -> dict[str, Entry]:
    folder = literal_pattern(prefix)
    return {
        _RELATIVE_FILE.sub(lambda scheme: f"{scheme[0]}{folder}/", key): entry
        for key, entry in entries.items()
    }


def _with_rebased_roots(entries: Mapping[str, Entry], prefix: str) -> dict[str, Entry]:
    return {key: entry._replace(value=_rule(entry.value, prefix)) for key, entry in entries.items()}


def _rule(rule: Node, prefix: str) -> Node:
    if not isinstance(rule, Table):
        return rule
    constraints = rule.table("constraints")
    match constraints.get("paths"):
        case None:
            return rule
        case Items(items) as blocks:
            paths: Node = blocks._replace(items=tuple(_block(block, prefix) for block in items))
        case block:
            paths = _block(block, prefix)
    return rule.having("constraints", constraints.having("paths", paths))


def _block(block: Node, prefix: str) -> Node:
    roots = block.get("roots") if isinstance(block, Table) else None
    if not isinstance(block, Table) or not isinstance(roots, Items):
        return block
    moved = roots._replace(items=tuple(_root(root, prefix) for root in roots.items))
    return block.having("roots", moved)


def _root(root: Node, prefix: str) -> Node:
    if not isinstance(root, Scalar) or _ELSEWHERE.match(root.text):
        return root
    return made(prefix if root.text in (".", "./") else f"{prefix}/{root.text}", root.position)
