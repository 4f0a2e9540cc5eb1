"""A policy file as a tree in which every value and every key knows its place.

Values are JSON's. Nothing here says what a policy may contain: that is `language.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, assert_never

from agentfence.core.errors import Place, Problem
from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from agentfence.core.constraints.interface import Json

MAX_BYTES = 1024 * 1024
"""The largest file that is read."""
_LINE_END = late_regex("\r\n|\r|\n")
_PLAIN_KEY = late_regex(r"[\w-]+\Z")

type Path = tuple[str | int, ...]
"""The keys and indices that lead from a document's root to a value."""


class Source:
    """A file's name, as people are to see it, and its text."""

    __slots__ = ("_lines", "name", "text")

    def __init__(self, name: str, text: str = "") -> None:
        self.name = name
        self.text = text
        self._lines: list[str] | None = None

    def line(self, number: int) -> str:
        """Give one line, counted from 1; empty past the end."""
        if self._lines is None:
            self._lines = _LINE_END.split(self.text)
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def position_at(self, index: int, width: int = 1) -> Position:
        """Give the position of the character at `index` of the text."""
        ends = [match.end() for match in _LINE_END.finditer(self.text, 0, index)]
        return Position(self, len(ends) + 1, index - (ends[-1] if ends else 0) + 1, width)


class Position(NamedTuple):
    """Where something stands; line and column count from 1."""

    source: Source
    line: int
    column: int
    width: int = 1
    """How many characters it spans; 0 for all that is left of its line."""

    @property
    def place(self) -> Place:
        """The same without the text."""
        return Place(self.source.name, self.line, self.column)

    def problem(self, code: str, message: str, path: Path = (), advice: str | None = None) -> Problem:
        """Give a problem that stands here."""
        line = self.source.line(self.line)
        width = self.width or len(line.rstrip()) - self.column + 1
        return Problem(self.place, code, message, advice, path_text(path), line, max(width, 1))


class Scalar(NamedTuple):
    """Text, a number, true, false or null."""

    value: bool | int | float | str | None
    position: Position
    text: str
    """As written, without quotes."""
    is_quoted: bool = False


class Items(NamedTuple):
    """A list."""

    items: tuple[Node, ...]
    position: Position


class Entry(NamedTuple):
    """A key's position and its value."""

    key: Position
    value: Node


class Table(NamedTuple):
    """A mapping, in the order of the file."""

    entries: Mapping[str, Entry]
    position: Position

    def get(self, key: str) -> Node | None:
        """Give the value of `key`; None when it is not there."""
        entry = self.entries.get(key)
        return entry.value if entry else None

    def table(self, key: str) -> Table:
        """Give the mapping at `key`; an empty one when it is not there."""
        value = self.get(key)
        return value if isinstance(value, Table) else Table({}, self.position)

    def items(self, key: str) -> tuple[Node, ...]:
        """Give the list at `key`; an empty one when it is not there."""
        value = self.get(key)
        return value.items if isinstance(value, Items) else ()

    def having(self, key: str, value: Node) -> Table:
        """Give the same mapping with `key` set; a key that was there keeps its position."""
        present = self.entries.get(key)
        entry = Entry(present.key if present else value.position, value)
        return self._replace(entries={**self.entries, key: entry})

    def without(self, *keys: str) -> Table:
        """Give the same mapping without some keys."""
        return self._replace(entries={key: entry for key, entry in self.entries.items() if key not in keys})


type Node = Scalar | Items | Table


def made(value: bool | int | str, position: Position) -> Scalar:  # noqa: FBT001 - it is the value itself
    """Give a value that stands in no file but is owed to what stands at `position`."""
    return Scalar(value, position, str(value))


def plain(node: Node) -> Json:
    """Give a node's JSON value, without places."""
    match node:
        case Scalar():
            return node.value
        case Items():
            return [plain(item) for item in node.items]
        case Table():
            return plain_table(node)
        case _:
            assert_never(node)


def plain_table(table: Table) -> dict[str, Json]:
    """Give a mapping's JSON value."""
    return {key: plain(entry.value) for key, entry in table.entries.items()}


def position_of(node: Node, path: Sequence[str | int]) -> Position:
    """Give the position of the value at `path`, or of the nearest one around it."""
    for step in path:
        match node:
            case Table() if isinstance(step, str) and step in node.entries:
                node = node.entries[step].value
            case Items() if isinstance(step, int) and step < len(node.items):
                node = node.items[step]
            case _:
                break
    return node.position


def in_order(problems: Iterable[Problem], first_file: str = "") -> tuple[Problem, ...]:
    """Give problems in order of place, those of one file before all others."""

    def order(problem: Problem) -> tuple[bool, str, int, int]:
        place = problem.place
        return place.file != first_file, place.file, place.line, place.column

    return tuple(sorted(problems, key=order))


def path_text(path: Path) -> str:
    """Give a path as people write it, as `tools.write_file.constraints.paths.allow[0]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.match(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f'["{step}"]')
    return "".join(parts)
