"""Lint of what stands in constraints and can never make a difference.

Whether that is so is tried out: texts that a pattern fits are made and put to the compiled constraint in
which it stands.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import BuildContext, Circumstances
from agentfence.core.constraints.registry import build_constraint
from agentfence.core.policy.building import text_of
from agentfence.core.policy.globs_covering import samples
from agentfence.core.policy.lint.basis import ToolPattern, field_readings, texts_at
from agentfence.core.policy.lint.url_samples import url_samples
from agentfence.core.policy.nodes import Table, plain, plain_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentfence.core.constraints.interface import Constraint, Failure, Json
    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, Block
    from agentfence.core.policy.nodes import Path

    type Samples = Callable[[str], list[str]]

_ANYTIME = Circumstances()
_FIELD = {"paths": "path", "urls": "url", "command": "command"}
_WILDCARD = re.compile(r"[*?\[]")
_WINDOWS_SEPARATOR = re.compile(r"\\(?![\[\]])")
_MISPLACED_ANCHOR = re.compile(r"(?<!\\)\$[\w(]|\w\^")


def unmatched_values(basis: Basis) -> Iterator[Problem]:
    """Find patterns and values in constraints that can never make a difference."""
    for block in basis.blocks():
        match block.kind:
            case "paths":
                yield from _in_lists(block, _windows_samples if block.is_on_windows() else samples)
            case "urls":
                yield from _in_lists(block, url_samples)
            case "command":
                yield from _in_commands(block)
            case "args":
                yield from _in_arguments(block, BuildContext(original=basis.is_original))
            case _:
                pass


def _in_lists(block: Block, samples_of: Samples) -> Iterator[Problem]:
    field = _field_of(block)
    for pattern in texts_at(block.node, "allow", block.path):
        failures = _tried(block.constraint, field, _samples_of(pattern.text, samples_of))
        if failures and all(failures):
            yield _unmatched(pattern, f"what it allows is refused all the same: {_reason(failures)}")
    # A deny of hosts that no rule opens is a second lock; one of paths outside mostly means others, inside.
    for pattern in texts_at(block.node, "deny", block.path) if block.kind == "paths" else ():
        failures = _tried(block.constraint, field, _samples_of(pattern.text, samples_of))
        if failures and not any(failure and failure.code == "path_denied" for failure in failures):
            why = "no path that may come fits: patterns begin below a root, and those with `/` are absolute"
            yield _unmatched(pattern, why)


def _windows_samples(pattern: str) -> list[str]:
    """Give texts that a pattern below Windows roots fits: there a backslash parts folders."""
    return samples(_WINDOWS_SEPARATOR.sub("/", pattern))


def _samples_of(pattern: str, samples_of: Samples) -> list[str]:
    try:
        return list(samples_of(pattern))
    except ValueError:  # `[` alone, which in a policy of the Go AgentFence stands for itself
        return []


def _in_commands(block: Block) -> Iterator[Problem]:
    if "argv" in block.node.entries and "fields" not in block.node.entries:
        return
    field = _field_of(block)
    for entry in texts_at(block.node, "allow", block.path):
        lines = samples(entry.text, separator=" ") if _WILDCARD.search(entry.text) else [entry.text]
        as_lists: list[list[Json]] = [[*line.split()] for line in lines]
        failures = _tried(block.constraint, field, [*lines, *as_lists])
        if failures and all(failures):
            yield _unmatched(entry, f"what it allows is refused all the same: {_reason(failures)}")
    first_words = [text_of(node).split()[0] for node in block.node.items("allow")]
    if not first_words or any(map(_WILDCARD.search, first_words)):
        return
    for program in texts_at(block.node, "allow_executables", block.path):
        if program.text not in first_words:
            yield _unmatched(program, "no command in `allow` begins with it, and both lists must hold")


def _in_arguments(block: Block, context: BuildContext) -> Iterator[Problem]:
    for name, entry in block.node.entries.items():
        if not isinstance(entry.value, Table):
            continue
        path, limits = (*block.path, name), plain_table(entry.value)
        others = {key: limit for key, limit in limits.items() if key not in ("in", "equals")}
        constraint = build_constraint("args", {name: others}, context)
        for place, value in _listed_values(entry.value, path):
            failures = _tried(constraint, name, [value])
            if all(failures):
                yield _unmatched(place, f"another limit refuses it: {_reason(failures)}")
        for pattern in (
            texts_at(entry.value, "allow", path) if limits.get("type", "string") == "string" else ()
        ):
            failures = _tried(constraint, name, samples(pattern.text))
            if failures and all(failures):
                yield _unmatched(pattern, f"another limit refuses what it allows: {_reason(failures)}")
        yield from _misplaced_anchors(entry.value, path)


def _listed_values(limits: Table, path: Path) -> Iterator[tuple[ToolPattern, Json]]:
    equals = limits.get("equals")
    if equals is not None:
        yield ToolPattern("equals", equals.position, (*path, "equals")), plain(equals)
    for index, node in enumerate(limits.items("in")):
        yield ToolPattern(text_of(node) or "in", node.position, (*path, "in", index)), plain(node)


def _misplaced_anchors(limits: Table, path: Path) -> Iterator[Problem]:
    regex = limits.get("regex")
    if regex is not None and _MISPLACED_ANCHOR.search(text_of(regex)):
        pattern = ToolPattern(text_of(regex), regex.position, (*path, "regex"))
        yield _unmatched(pattern, "`^` or `$` stands inside of it, where no text begins or ends")


def _tried(constraint: Constraint, field: str, values: Iterable[Json]) -> list[Failure | None]:
    """Give what a constraint says of each value of a field."""
    return [constraint.check(_arguments(field, value), _ANYTIME) for value in values]


def _arguments(field: str, value: Json) -> dict[str, Json]:
    """Give arguments in which a field has a value."""
    first, *below = next(iter(field_readings(field)), ("any",))
    for key in reversed(below):
        value = {key: value}
    return {first: value}


def _field_of(block: Block) -> str:
    fields = block.node.items("fields")
    return text_of(fields[0]) if fields else _FIELD[block.kind]


def _reason(failures: Sequence[Failure | None]) -> str:
    return next((failure.reason for failure in failures if failure is not None), "")


def _unmatched(pattern: ToolPattern, why: str) -> Problem:
    message = f"`{pattern.text}` never makes a difference: {why}"
    advice = "take it out, or change what stands in its way"
    return pattern.position.problem("unmatched_pattern", message, pattern.path, advice)
