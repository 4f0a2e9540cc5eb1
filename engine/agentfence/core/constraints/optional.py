"""A block with `required: false`: it holds of a call that has none of its fields.

For rules that cover many tools, as `read_*`, of which only some take a path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.fields import parse_selectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.constraints.interface import Arguments, Circumstances, Constraint, Failure


class WhenPresent:
    """Another constraint, asked only about calls that hold one of its fields, or a twin of one."""

    __slots__ = ("_constraint", "_selectors", "kind")

    def __init__(self, constraint: Constraint, fields: Iterable[str]) -> None:
        """Take the constraint and the selectors that it reads."""
        self.kind = constraint.kind
        self._constraint = constraint
        self._selectors = parse_selectors(fields)

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the constraint's failure; None when there is nothing for it to look at."""
        is_absent = self._selectors.find_twin(arguments) is None and not any(
            selector.select(arguments) for selector in self._selectors
        )
        return None if is_absent else self._constraint.check(arguments, circumstances)

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the constraint's own."""
        return self._constraint.constrained_fields()
