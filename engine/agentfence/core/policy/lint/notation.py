"""Lint of patterns in another notation: of regular expressions, agents, gitignore, shells or Windows.

Each of them loads, as every character may stand in a pattern, and then fits nothing.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.policy.building import text_of
from agentfence.core.policy.lint.basis import ToolPattern, texts_at
from agentfence.core.policy.lint.matching import tool_patterns
from agentfence.core.policy.nodes import Scalar, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis

_CLASS = re.compile(r"\[[!^]?.[^]]*\]")
_IN_NO_NAME = re.compile(r"[^A-Za-z0-9_.\-/*?\\]")  # MCP 2025-11-25, server/tools: names of tools
_SIGNS = r"\A\^.|.\$\Z|\.\+|\(\?|[)\]]\+|\.\*\\."
_REGEX = MappingProxyType(
    {
        "paths": re.compile(_SIGNS),  # where a backslash may part folders, and `.*` begin with a dot
        "args": re.compile(rf"{_SIGNS}|\\[.dswDSW]"),
        "command": re.compile(rf"{_SIGNS}|\\[.dswDSW]|\w\.\*[^\s.]"),
        "tools": re.compile(rf"{_SIGNS}|\\[.dswDSW]|(?:\A|[_-])\.\*"),
    }
)
_REGEX_ADVICE = "patterns are no regular expressions: `*` is any text within a segment, and `**` any text"
_GROUP = re.compile(r"!\(|\([^()]*\|[^()]*\)")
_SEPARATOR = re.compile(r"\\(?=\w|\.|\*\*)")
_IN_NO_ROOT = re.compile(r"[*?]|\$(?!\{)[A-Za-z_]\w*|%\w+%|(?i:file):")
_CHOICE = "{"
_READ_OTHERWISE = re.compile(
    r"(?i:yes|no|on|off)|0x[0-9a-fA-F]+|0o[0-7]+|[-+]?[0-9][0-9_]*_[0-9_]*|\+[0-9.]+|\.[0-9]+|[0-9]+\."
)
"""What other readers of YAML take for truth values and numbers."""


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
    if _REGEX["tools"].search(text):
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
                    if _REGEX[block.kind].search(pattern.text):
                        yield _unmatched(pattern, "it looks like a regular expression", _REGEX_ADVICE)


def foreign_paths(basis: Basis) -> Iterator[Problem]:
    """Find patterns of paths as gitignore, shells and Windows have them, and roots that are no folders."""
    for block in basis.blocks() if not basis.is_original else ():
        if block.kind != "paths":
            continue
        for root in texts_at(block.node, "roots", block.path):
            if odd := _IN_NO_ROOT.search(root.text):
                yield _unmatched(root, f"`{odd[0]}` is a part of the folder's name", _root_advice(odd[0]))
        for key in ("allow", "deny"):
            # Without roots, `deny` reads a backslash as Windows does, too.
            has_escapes = not block.is_on_windows() and (key == "allow" or "roots" in block.node.entries)
            for pattern in texts_at(block.node, key, block.path):
                if found := _foreign_in_path(pattern.text, has_escapes=has_escapes):
                    yield _unmatched(pattern, *found)


def _foreign_in_path(text: str, *, has_escapes: bool) -> tuple[str, str] | None:
    if _GROUP.search(text):
        return "`(` and `|` are these very characters", "write a pattern for each"
    if text.startswith("!"):
        return "`!` takes nothing back", "write under `deny` what `allow` is not to cover"
    if has_escapes and _SEPARATOR.search(text) and not _REGEX["paths"].search(text):
        return "a backslash parts no folders here", "write `/`"
    return None


def _root_advice(odd: str) -> str:
    name = odd.strip("$%")
    return f"write `${{{name}}}`" if name != odd else "write the folder; what may be named in it say patterns"


def texts_like_values(basis: Basis) -> Iterator[Problem]:
    """Find texts without quotes that people may mean as truth values or numbers, where values count."""
    if basis.is_original:
        return
    for block in basis.blocks():
        for name, entry in block.node.entries.items() if block.kind == "args" else ():
            limits = entry.value if isinstance(entry.value, Table) else Table({}, entry.key)
            values = [(key, node) for key in ("allow", "deny", "in") for node in limits.items(key)]
            values += [("equals", node)] if (node := limits.get("equals")) else []
            for key, node in values:
                is_bare = isinstance(node, Scalar) and isinstance(node.value, str) and not node.is_quoted
                if is_bare and _READ_OTHERWISE.fullmatch(text_of(node)):
                    pattern = ToolPattern(text_of(node), node.position, (*block.path, name, key))
                    advice = "quote it where the text is meant, else write it as JSON does: `true`, `16`"
                    yield _unmatched(pattern, "it is a text here, and no truth value or number", advice)


def _unmatched(pattern: ToolPattern, why: str, advice: str) -> Problem:
    message = f"`{pattern.text}` will hardly match: {why}"
    return pattern.position.problem("unmatched_pattern", message, pattern.path, advice)
