"""Lint of patterns that are written in another notation: regular expressions, agents' names of tools.

Each of them loads, as every character may stand in a pattern, and then fits nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.policy.lint.basis import ToolPattern, texts_at
from agentfence.core.policy.lint.matching import tool_patterns
from agentfence.core.policy.nodes import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis

_CLASS = re.compile(r"\[[!^]?.[^]]*\]")
_IN_NO_NAME = re.compile(r"[^A-Za-z0-9_.\-/*?\\]")  # MCP 2025-11-25, server/tools: names of tools
_REGEX = re.compile(r"\A\^|\$\Z|\\[.dswDSW]|\.\+|\(\?|[)\]]\+|(?:\A|[_-])\.\*")
_REGEX_IN_COMMAND = re.compile(r"\w\.\*[^\s.]")
_REGEX_ADVICE = "patterns are no regular expressions: `*` is any text within a segment, and `**` any text"
_CHOICE = "{"


def foreign_tool_names(basis: Basis) -> Iterator[Problem]:
    """Find names of tools that no tool can have, or that only an agent shows."""
    if basis.is_original:
        return
    for pattern in tool_patterns(basis):
        found = _foreign(pattern.text, [server.name for server in basis.policy.servers])
        if found:
            yield _unmatched(pattern, *found)


def _foreign(text: str, servers: list[str]) -> tuple[str, str] | None:
    odd = _IN_NO_NAME.search(_CLASS.sub("", text))
    parts = re.match(r"mcp__(.+?)__(.+)|(.+?)(?:[.:]|__)(.+)", text)
    if text.endswith("/"):
        return "it names no tool", f"write `{text}*` for all tools of that server"
    if parts and parts[1]:
        return "it is how agents show a tool", f"write `{parts[1]}/{parts[2]}`, or `{parts[2]}`"
    if parts and parts[3] in servers:
        return "a server and its tool are parted by `/`", f"write `{parts[3]}/{parts[4]}`"
    if _REGEX.search(text):
        return "it looks like a regular expression", _REGEX_ADVICE
    if odd and odd[0] != _CHOICE:
        return f"no tool has `{odd[0]}` in its name", "write the name as the server's `tools/list` has it"
    return None


def groups_as_tools(basis: Basis) -> Iterator[Problem]:
    """Find names of groups where only tools and patterns count."""
    groups = basis.table.table("groups")
    members = [one for name in groups.entries for one in texts_at(groups, name, ("groups",))]
    for pattern in (*members, *tool_patterns(basis, with_rules=False)):
        own = {one.text for one in texts_at(groups, pattern.text, ())}
        if pattern.text in groups.entries and pattern.text not in own:
            why = "it is taken for the name of a tool here, not of the group"
            yield _unmatched(pattern, why, "write what the group holds")


def regular_expressions(basis: Basis) -> Iterator[Problem]:
    """Find regular expressions where patterns stand."""
    for block in basis.blocks():
        lists = [(block.node, block.path)]
        if block.kind == "args":
            entries = block.node.entries.items()
            lists = [(one.value, (*block.path, key)) for key, one in entries if isinstance(one.value, Table)]
        keys = {"paths": ("allow", "deny"), "args": ("allow", "deny"), "command": ("deny_patterns",)}
        for node, path in lists:
            for key in keys.get(block.kind, ()):
                for pattern in texts_at(node, key, path):
                    is_odd = block.kind == "command" and _REGEX_IN_COMMAND.search(pattern.text)
                    if is_odd or _REGEX.search(pattern.text):
                        yield _unmatched(pattern, "it looks like a regular expression", _REGEX_ADVICE)


def _unmatched(pattern: ToolPattern, why: str, advice: str) -> Problem:
    message = f"`{pattern.text}` will hardly match: {why}"
    return pattern.position.problem("unmatched_pattern", message, pattern.path, advice)
