"""Lint of deny patterns that cover less than they look like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.policy.globs_covering import common
from agentfence.core.policy.lint.basis import ToolPattern, texts_at
from agentfence.core.policy.model import Unlisted, Verdict
from agentfence.core.policy.nodes import Table, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, Block

_ABSOLUTE = re.compile(r"/|[A-Za-z]:")
_HOST_ALONE = re.compile(r"[\w-]+/")
_ROOT_ALONE = re.compile(r"\A(?:[a-z]+://)?[^/]+/\Z", re.IGNORECASE)
_WILDCARD = re.compile(r"[*?\[]")


def narrow_values(basis: Basis) -> Iterator[Problem]:
    """Find deny patterns that let pass what they seem to deny."""
    for block in basis.blocks():
        if block.kind == "paths":
            yield from _paths(block)
        elif block.kind == "command":
            yield from _commands(block)
        elif block.kind == "urls":
            yield from _urls(block)
    for pattern, rule in basis.table.table("resources").entries.items():
        if _HOST_ALONE.match(pattern) and plain(rule.value) != "allow":
            place = ToolPattern(pattern, rule.key, ("resources", pattern))
            why = "without a scheme it begins with the name of a host"
            yield _narrow(place, why, f"write `file:{pattern}` for files, or `**/{pattern}` for any host")


def named_servers_alone(basis: Basis) -> Iterator[Problem]:
    """Find denials for every named server, where what has no name would be let through."""
    if basis.is_original or basis.policy.unlisted is Unlisted.BLOCK or not basis.policy.servers:
        return
    denied = list(_rule_patterns(basis, is_denied=True))
    for index, node in enumerate(basis.table.items("forbid")):
        if isinstance(node, Table):
            denied += texts_at(node, "tools", ("forbid", index))
    texts = {pattern.text for pattern in denied}
    passing = [one.text for one in _rule_patterns(basis, is_denied=False) if "/" not in one.text]
    passing += ["*"] if basis.policy.default.decision is not Verdict.DENY else []
    for pattern in denied:
        server, _, tool = pattern.text.partition("/")
        if server not in ("*", "**") or not tool or tool in texts:
            continue
        if any(common(one, tool) for one in passing):
            why = "a server that `servers` does not name has bare names alone"
            yield _narrow(pattern, why, f"write `{tool}`, which holds on every server")


def _rule_patterns(basis: Basis, *, is_denied: bool) -> Iterator[ToolPattern]:
    for rule, entry in basis.rules():
        if is_denied is (rule.decision is Verdict.DENY):
            yield from basis.patterns_of(rule, entry)


def _paths(block: Block) -> Iterator[Problem]:
    patterns = list(texts_at(block.node, "deny", block.path))
    texts = {pattern.text for pattern in patterns}
    for pattern in patterns:
        text = pattern.text.removeprefix("./")
        if text.startswith("**/") and text.endswith("/.*") and f"{text}/**" not in texts:
            why = "it covers hidden folders, and not what is in them"
            yield _narrow(pattern, why, f"write `{text}/**`, which covers hidden files, too")
        if text in ("", ".") or "**" in text:
            continue
        if text.endswith("/*"):
            if f"{text}*" not in texts:
                why = f"it covers what is right in the folder, and not `{text[:-1]}a/b`"
                yield _narrow(pattern, why, f"write `{text}*` for all below it")
        elif "/" not in text and not _ABSOLUTE.match(text) and f"**/{text}" not in texts:
            why = "it covers that name at the top alone, and not in a folder"
            yield _narrow(
                pattern, why, f"write `**/{text}` for every folder, or `/{text}` with the whole path"
            )


def _commands(block: Block) -> Iterator[Problem]:
    patterns = list(texts_at(block.node, "deny_patterns", block.path))
    texts = {pattern.text for pattern in patterns}
    for pattern in patterns:
        text = pattern.text
        is_alone = not any(other.startswith(text) and other != text for other in texts)
        if is_alone and not _WILDCARD.search(text):
            why = "it covers exactly these words, and nothing with more behind them"
            yield _narrow(pattern, why, f"write `{text}**`")


def _urls(block: Block) -> Iterator[Problem]:
    for pattern in texts_at(block.node, "deny", block.path):
        if _ROOT_ALONE.search(pattern.text):
            why = "it covers the root alone"
            yield _narrow(pattern, why, f"write `{pattern.text[:-1]}` for all of the host")


def _narrow(pattern: ToolPattern, why: str, advice: str) -> Problem:
    message = f"`{pattern.text}` denies less than it looks: {why}"
    return pattern.position.problem("narrow_pattern", message, pattern.path, advice)
