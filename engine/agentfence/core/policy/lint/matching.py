"""Lint of patterns of tools, methods, resources and prompts that can never match."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.policy.building import text_of
from agentfence.core.policy.globs_covering import covers
from agentfence.core.policy.globs_overlap import may_overlap
from agentfence.core.policy.lint.basis import texts_at
from agentfence.core.policy.lint.url_samples import url_samples
from agentfence.core.policy.nodes import Table
from agentfence.core.policy.validation import did_you_mean
from agentfence.core.revisions import HOUSEKEEPING, METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, ToolPattern
    from agentfence.core.policy.model import PatternRule

_CHOICE = re.compile(r"(?<!\\)\{[^{}]*,[^{}]*\}")


def unmatched_tools(basis: Basis) -> Iterator[Problem]:
    """Find patterns of `server/tool` that no server of the policy fits."""
    if basis.is_original:
        return
    servers = [server.name for server in basis.policy.servers]
    for pattern in tool_patterns(basis):
        if "/" not in pattern.text or any(may_overlap(pattern.text, f"{name}/*") for name in servers):
            continue
        if pattern.path[0] == "taint" and pattern.path[1] != "sinks" and _is_method(pattern.text, servers):
            continue
        if servers:
            message = f"`{pattern.text}` fits no tool: it has to be a server's name, `/` and a tool's"
            advice = did_you_mean(pattern.text.partition("/")[0], servers)
        else:
            message = f"`{pattern.text}` fits no tool, as the policy names no server"
            advice = "name the server under `servers`; without that only `--server` makes it count"
        yield pattern.position.problem("unmatched_pattern", message, pattern.path, advice)


def literal_braces(basis: Basis) -> Iterator[Problem]:
    """Find `{a,b}` in patterns, which is no choice here."""
    patterns = [*tool_patterns(basis)]
    for block in basis.blocks():
        if block.kind in ("paths", "urls"):
            patterns += [
                *texts_at(block.node, "allow", block.path),
                *texts_at(block.node, "deny", block.path),
            ]
    for pattern in patterns:
        found = _CHOICE.search(pattern.text)
        if found:
            message = f"`{found[0]}` in `{pattern.text}` is no choice: it stands for these very characters"
            yield pattern.position.problem(
                "unmatched_pattern", message, pattern.path, "write a pattern for each"
            )


def misspelt_methods(basis: Basis) -> Iterator[Problem]:
    """Find methods that MCP does not have, and that look like one that it has."""
    from difflib import get_close_matches

    known = sorted(METHODS - HOUSEKEEPING)
    for method, entry in basis.table.table("methods").entries.items():
        close = get_close_matches(method, known, 1, 0.85)
        if close and method not in METHODS:
            message = f"MCP has no method `{method}`, so the entry decides nothing"
            advice = f"did you mean `{close[0]}`?"
            yield entry.key.problem("unmatched_pattern", message, ("methods", method), advice)


def misspelt_servers_of_tests(basis: Basis) -> Iterator[Problem]:
    """Find tests on a server that the policy does not name: rules for `server/tool` are then not tested."""
    servers = [server.name for server in basis.policy.servers]
    tests = [(test, ("tests", index)) for index, test in enumerate(basis.table.items("tests"))]
    for test, path in tests if servers else ():
        for one in (test, *(test.items("steps") if isinstance(test, Table) else ())):
            node = one.get("server") if isinstance(one, Table) else None
            if node is not None and text_of(node) not in servers:
                message = f"the policy names no server `{text_of(node)}`"
                advice = did_you_mean(text_of(node), servers)
                yield node.position.problem("unmatched_pattern", message, (*path, "server"), advice)


def hidden_subjects(basis: Basis) -> Iterator[Problem]:
    """Find entries of `resources` and `prompts` of which another one always comes first."""
    yield from _hidden(basis, "resources", basis.policy.resources or ())
    yield from _hidden(basis, "prompts", basis.policy.prompts or ())


def _hidden(basis: Basis, section: str, rules: Sequence[PatternRule]) -> Iterator[Problem]:
    entries = basis.table.table(section).entries
    for position, rule in enumerate(rules):
        hides = _hides_resource if section == "resources" else _hides_prompt
        hiding = next((one for one in rules[:position] if hides(one, rule)), None)
        if hiding is not None:
            message = f"`{rule.pattern}` never decides: `{hiding.pattern}` covers all of it"
            advice = f"make `{hiding.pattern}` narrower: an entry that denies or asks comes first"
            yield entries[rule.pattern].key.problem(
                "hidden_pattern", message, (section, rule.pattern), advice
            )


def _hides_prompt(earlier: PatternRule, later: PatternRule) -> bool:
    return covers(earlier.pattern, later.pattern, separator=None)


def _hides_resource(earlier: PatternRule, later: PatternRule) -> bool:
    uris = [uri for uri in url_samples(later.pattern) if later.matches.matches(uri)]
    return bool(uris) and all(map(earlier.matches.matches, uris))


def _is_method(text: str, servers: Sequence[str]) -> bool:
    """Whether a source of taint is a method, by its own name or with its server's."""
    server, _, method = text.partition("/")
    return text in METHODS or (server in servers and method in METHODS)


def tool_patterns(basis: Basis, *, with_rules: bool = True) -> Iterator[ToolPattern]:
    """Give what stands for tools: in rules and their groups, `forbid` and `taint`."""
    for rule, entry in basis.rules() if with_rules else ():
        yield from basis.patterns_of(rule, entry)
    for index, node in enumerate(basis.table.items("forbid")):
        if isinstance(node, Table):
            yield from texts_at(node, "tools", ("forbid", index))
    for key in ("sources", "sinks", "trusted_tools"):
        yield from texts_at(basis.table.table("taint"), key, ("taint",))
