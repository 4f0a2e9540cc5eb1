"""One entry of `tools:` into a compiled rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import SpecError
from agentfence.core.constraints.registry import KINDS, build_constraint
from agentfence.core.policy.building import flag, optional_text, text_of
from agentfence.core.policy.model import RateLimit, Rule, RuleKind, Verdict
from agentfence.core.policy.nodes import Items, Table, plain_table, position_of
from agentfence.core.policy.times import TIME_ADVICE, parse_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.constraints.interface import Constraint
    from agentfence.core.policy.building import Building
    from agentfence.core.policy.nodes import Entry, Node, Path

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}


def compile_rule(name: str, kind: RuleKind, entry: Entry, building: Building) -> Rule:
    """Give the rule of one entry; what is wrong in it is noted in `building`."""
    body, path = entry.value, ("tools", name)
    if not isinstance(body, Table):
        body = Table({}, body.position).having("decision", body)
    decision = Verdict(text_of(body.get("decision")))
    otherwise = optional_text(body, "otherwise")
    if otherwise and decision is Verdict.DENY:
        message = "`otherwise: ask` would ask about what the decision denies"
        building.note(body.entries["otherwise"].key, "useless_otherwise", message, (*path, "otherwise"))
    constraints = body.table("constraints")
    return Rule(
        name,
        kind,
        decision,
        entry.key.place,
        constraints=tuple(_constraints(constraints, (*path, "constraints"), building)),
        rate=_rate(constraints.table("rate")),
        message=optional_text(body, "message"),
        otherwise=Verdict(otherwise) if otherwise else None,
        expires=_expiry(body.get("expires"), (*path, "expires"), building),
        remember=optional_text(body, "remember"),
        taint=flag(body, "taint", default=True),
    )


def _constraints(table: Table, path: Path, building: Building) -> Iterator[Constraint]:
    for kind in KINDS:
        node = table.get(kind)
        if node is None and kind == "paths" and building.context.original:
            node = Table({}, table.position)  # the Go AgentFence: path safety in every rule
        blocks = node.items if isinstance(node, Items) else (node,) if node else ()
        for index, block in enumerate(blocks):
            here = (*path, kind, index) if isinstance(node, Items) else (*path, kind)
            constraint = compile_constraint(kind, block, here, building)
            if constraint is not None:
                yield constraint


def compile_constraint(kind: str, block: Node, path: Path, building: Building) -> Constraint | None:
    """Give one block of a constraint; None, and a problem, when it cannot be compiled."""
    spec = plain_table(block) if isinstance(block, Table) else {}
    try:
        return build_constraint(kind, spec, building.context)
    except SpecError as error:
        position = position_of(block, error.path)
        building.note(position, "wrong_constraint", error.message, (*path, *error.path), error.help)
        return None


def _rate(table: Table) -> RateLimit | None:
    limit = table.get("limit")
    if limit is None:
        return None
    return RateLimit(int(text_of(limit)), _SECONDS[text_of(table.get("per"))])


def _expiry(node: Node | None, path: Path, building: Building) -> float | None:
    if node is None:
        return None
    try:
        return parse_time(text_of(node))
    except ValueError as error:
        building.note(node.position, "wrong_time", str(error), path, TIME_ADVICE)
        return None
