"""Which kinds of constraint there are, in the order in which they are checked.

A kind's module is imported only when a policy uses the kind: some bring parsers that cost more than
everything else at start-up.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from agentfence.core.constraints.optional import WhenPresent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from agentfence.core.constraints.interface import BuildContext, Constraint

    type Build = Callable[[Mapping[str, Any], BuildContext], Constraint]

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "schema": "agentfence.core.constraints.schema",
        "paths": "agentfence.core.constraints.paths",
        "args": "agentfence.core.constraints.args",
        "urls": "agentfence.core.constraints.urls",
        "command": "agentfence.core.constraints.command",
        "memory_write": "agentfence.core.constraints.memory_write",
    }
)
"""The module of each kind."""

_OWN_FIELD = {"paths": "path", "urls": "url", "command": "command"}
"""What a kind with `fields` reads when a block names none."""


def build_constraint(kind: str, spec: Mapping[str, Any], context: BuildContext) -> Constraint:
    """Give the constraint of one block; raises `SpecError` when the block cannot be compiled."""
    build = cast("Build", import_module(KINDS[kind]).build)
    if kind not in _OWN_FIELD or "required" not in spec:
        return build(spec, context)
    constraint = build({key: value for key, value in spec.items() if key != "required"}, context)
    if spec["required"]:
        return constraint
    fields = [*spec.get("argv", ()), *spec.get("fields", ())]
    return WhenPresent(constraint, fields or [_OWN_FIELD[kind]])
