"""What the parts of the compiler share: what they build with, and what they have found wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.policy.nodes import Items, Scalar, plain
from agentfence.core.values import field, slotted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.constraints.globs import Glob
    from agentfence.core.constraints.interface import BuildContext
    from agentfence.core.errors import Problem
    from agentfence.core.policy.nodes import Node, Path, Position, Table


@slotted
class Building:
    """One run of the compiler."""

    context: BuildContext
    problems: list[Problem] = field(default_factory=list)

    def note(
        self, position: Position, code: str, message: str, path: Path, advice: str | None = None
    ) -> None:
        """Add a problem."""
        self.problems.append(position.problem(code, message, path, advice))

    def glob(
        self, pattern: str, position: Position, path: Path, *, separator: str | None = "/"
    ) -> Glob | None:
        """Give the compiled pattern; None, and a problem, when it is malformed."""
        try:
            return compile_glob(pattern, separator=separator)
        except ValueError as error:
            self.note(position, "wrong_pattern", str(error), path)
            return None

    def globs(
        self, nodes: Iterable[Node], path: Path, *, separator: str | None = "/"
    ) -> list[tuple[str, Glob]]:
        """Give the patterns of a list with what they compile to, without those that are malformed."""
        found: list[tuple[str, Glob]] = []
        for index, node in enumerate(nodes):
            glob = self.glob(text_of(node), node.position, (*path, index), separator=separator)
            if glob is not None:
                found.append((text_of(node), glob))
        return found


def text_of(node: Node | None) -> str:
    """Give the text of a value that validation has found to be one; empty when it is not there."""
    return str(node.value) if isinstance(node, Scalar) else ""


def optional_text(table: Table, key: str) -> str | None:
    """Give the text at `key`; None when it is not there."""
    return text_of(table.get(key)) or None


def flag(table: Table, key: str, *, default: bool) -> bool:
    """Give the truth value at `key`."""
    value = table.get(key)
    return default if value is None else plain(value) is True


def texts(table: Table, key: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Give the texts in the list at `key`."""
    value = table.get(key)
    return tuple(text_of(item) for item in value.items) if isinstance(value, Items) else default
