"""Lint of arguments: those that no constraint looks at, and those that no tool has.

What a tool takes is known from `--tools`, from the rule's own schema and from the policy's tests.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.constraints.fields import EVERYTHING
from agentfence.core.policy.building import flag
from agentfence.core.policy.lint.basis import ToolPattern, field_readings, texts_at
from agentfence.core.policy.model import RuleKind, Verdict
from agentfence.core.policy.nodes import Table, plain_table
from agentfence.core.policy.validation import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, Block
    from agentfence.core.policy.model import Rule
    from agentfence.core.policy.nodes import Entry

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_PATH_WORDS_TEXT = """
    path paths file files filename filenames filepath filepaths dir dirs directory directories folder folders
    cwd workdir
"""
_PATH_WORDS = frozenset(_PATH_WORDS_TEXT.split())
_URL_WORDS = frozenset(["url", "urls", "uri", "uris", "href", "link", "webhook", "endpoint", "website"])
_PATH_VALUE = re.compile(r"(?:/|~/|\.{1,2}/|[A-Za-z]:[\\/])\S")
_URL_VALUE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S")
_FIELD_KEYS = ("fields", "argv", "payload_fields")
_URL_FORMATS = frozenset({"uri", "uri-reference", "iri", "iri-reference"})


class _Argument(NamedTuple):
    """An argument of a tool that some rule allows."""

    tool: str
    name: str
    schema: Mapping[str, Json]
    value: Json = None


def uncovered_arguments(basis: Basis) -> Iterator[Problem]:
    """Find arguments that look like a path or a URL, and that no constraint of the rule reads."""
    entries = {rule.name: entry for rule, entry in basis.rules()}
    reported: set[tuple[str, str]] = set()
    for rule, argument in _known_arguments(basis):
        what = _kind_of(argument)
        entry = entries.get(rule.name)
        if what is None or entry is None or rule.decision is not Verdict.ALLOW or _reads(rule, argument.name):
            continue
        if (rule.name, argument.name) in reported:
            continue
        reported.add((rule.name, argument.name))
        message = (
            f"argument `{argument.name}` of `{argument.tool}` looks like a {what}, and no field covers it"
        )
        section = "paths" if what == "path" else "urls"
        advice = f"name it under `{section}`: `fields: [{argument.name}]`, or under `args`"
        yield entry.key.problem("uncovered_argument", message, ("tools", rule.name), advice)


def _known_arguments(basis: Basis) -> Iterator[tuple[Rule, _Argument]]:
    for tool in basis.tools:
        rule = basis.policy.tools.find(tool.server, tool.name)
        if rule is not None:
            for name, schema in tool.properties.items():
                yield rule, _Argument(tool.name, name, schema if isinstance(schema, dict) else {})
    for rule, entry in basis.rules():
        for name, schema in _schema_properties(entry).items():
            yield rule, _Argument(rule.name, name, schema if isinstance(schema, dict) else {})
    for step in (step for test in basis.policy.tests for step in test.steps):
        rule = basis.policy.tools.find(step.server, step.tool or "")
        if rule is not None and step.tool is not None and step.expect is Verdict.ALLOW:
            for name, value in step.arguments.items():
                if isinstance(value, str | list):
                    yield rule, _Argument(step.tool, name, {}, value)


def _schema_properties(entry: Entry) -> dict[str, Json]:
    body = entry.value
    schema = body.table("constraints").table("schema") if isinstance(body, Table) else Table({}, entry.key)
    return plain_table(schema.table("properties"))


def _kind_of(argument: _Argument) -> str | None:
    if argument.schema.get("type", "string") not in ("string", "array"):
        return None
    words = [word.lower() for word in _WORD.findall(argument.name)]
    value = argument.value if isinstance(argument.value, str) else ""
    if argument.schema.get("format") in _URL_FORMATS or (words and words[-1] in _URL_WORDS):
        return "URL"
    if _URL_VALUE.match(value):
        return "URL"
    if (words and words[-1] in _PATH_WORDS) or _PATH_VALUE.match(value):
        return "path"
    return None


def _reads(rule: Rule, name: str) -> bool:
    """Whether a constraint of the rule reads an argument; a schema says nothing of where a path leads."""
    return any(
        name in constraint.constrained_fields() or EVERYTHING in constraint.constrained_fields()
        for constraint in rule.constraints
        if constraint.kind != "schema"
    )


def unknown_arguments(basis: Basis) -> Iterator[Problem]:
    """Find fields that no tool under the rule has, and tools under a rule that none of its fields fit."""
    tools = _tools_by_rule(basis)
    for block in basis.blocks():
        covered = tools.get(block.rule.name)
        fields = _fields(block)
        if not covered or not fields or not flag(block.node, "required", default=True):
            continue
        known = sorted({name for properties in covered.values() for name in properties})
        for field in fields:
            if _names(field.text).isdisjoint(known):
                message = f"no tool that `{block.rule.name}` covers has an argument `{field.text}`"
                advice = did_you_mean(field.text, known) if known else "the tools take no arguments at all"
                yield field.position.problem("unknown_argument", message, field.path, advice)
        yield from _denied_tools(block, covered, fields)


def _denied_tools(
    block: Block, covered: Mapping[str, Mapping[str, Json]], fields: list[ToolPattern]
) -> Iterator[Problem]:
    """Find tools whose every call is denied, because a block asks for arguments that other tools have."""
    names = {name for field in fields for name in _names(field.text)}
    if block.kind == "args" or not any(names & properties.keys() for properties in covered.values()):
        return
    for tool, properties in covered.items():
        if not names & properties.keys():
            message = f"`{tool}` has none of the arguments that `{block.kind}` reads, so each call is denied"
            advice = "write `required: false` into the block, or give the tool a rule of its own"
            yield block.node.position.problem("always_denied", message, block.path, advice)


def _tools_by_rule(basis: Basis) -> dict[str, dict[str, Mapping[str, Json]]]:
    """Give the tools of the servers, with their arguments, by the rule that covers them."""
    tools: dict[str, dict[str, Mapping[str, Json]]] = {}
    for tool in basis.tools:
        rule = basis.policy.tools.find(tool.server, tool.name)
        if rule is not None and rule.decision is not Verdict.DENY:
            tools.setdefault(rule.name, {})[tool.name] = tool.properties
    return tools


def _fields(block: Block) -> list[ToolPattern]:
    if block.kind == "args":
        return [
            ToolPattern(name, entry.key, (*block.path, name))
            for name, entry in block.node.entries.items()
            if not isinstance(entry.value, Table) or flag(entry.value, "required", default=True)
        ]
    fields = [field for key in _FIELD_KEYS for field in texts_at(block.node, key, block.path)]
    return [field for field in fields if field.text != EVERYTHING]


def _names(field: str) -> set[str]:
    return {keys[0] for keys in field_readings(field)}


def unknown_tools(basis: Basis) -> Iterator[Problem]:
    """Find rules for tools that the servers do not have."""
    for rule, entry in basis.rules():
        for pattern in basis.patterns_of(rule, entry):
            offered = _offered(basis, pattern.text)
            is_name = rule.kind is RuleKind.EXACT or not any(one in pattern.text for one in "*?[\\")
            if offered and is_name and pattern.text not in offered:
                message = f"no server has a tool `{pattern.text}`"
                advice = did_you_mean(pattern.text, sorted(offered))
                yield pattern.position.problem("unknown_tool", message, pattern.path, advice)


def _offered(basis: Basis, name: str) -> set[str]:
    """Give the names that a rule's name may be one of; none where not all servers' tools are known."""
    server, slash, _ = name.rpartition("/")
    if slash and not basis.is_original:
        return {f"{tool.server}/{tool.name}" for tool in basis.tools if tool.server == server}
    known = {tool.server for tool in basis.tools}
    servers = {one.name for one in basis.policy.servers}
    is_complete = servers <= known or (None in known and len(servers) < 2)
    return {tool.name for tool in basis.tools} if is_complete else set()
