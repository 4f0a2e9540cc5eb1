"""The words in which `language.py` says what a policy file may contain.

One table of shapes serves three readers: `validation.py` holds files to it, `json_schema.py` turns it
into the JSON Schema for editors, and people read it. So the three cannot disagree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_SAFE = 2**53 - 1  # beyond it JSON readers disagree about whole numbers


@frozen
class Text:
    """Any text that is not empty."""

    what: str = "a text"
    """How messages call it."""
    without: str = ""
    """Characters that it may not hold."""


@frozen
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def what(self) -> str:
        """How messages call it."""
        return join_words(f"`{word}`" for word in self.words)


@frozen
class Constant:
    """One value that is not a text."""

    value: int

    @property
    def what(self) -> str:
        """How messages call it."""
        return f"`{self.value}`"


@frozen
class Flag:
    """`true` or `false`."""

    what: str = "true or false"


@frozen
class Whole:
    """A whole number."""

    least: int = 0
    most: int = _SAFE

    @property
    def what(self) -> str:
        """How messages call it."""
        most = f" and at most {self.most}" if self.most < _SAFE else ""
        return f"a whole number of at least {self.least}{most}"


@frozen
class Number:
    """Any number."""

    what: str = "a number"


@frozen
class Anything:
    """Any JSON value; nothing in it is looked at."""

    what: str = "any value"


@frozen
class AnyTable:
    """A mapping whose keys and values are the user's own."""

    what: str = "a mapping"


@frozen
class Reserved:
    """A key that a later AgentFence may use."""

    what: str = "nothing"


@frozen
class ListOf:
    """A list of one shape."""

    item: Shape
    least: int = 1

    @property
    def what(self) -> str:
        """How messages call it."""
        return "a list"


@frozen
class Key:
    """One key of a mapping."""

    shape: Shape
    description: str
    """For editors: what the key does, in a sentence or two."""
    is_required: bool = False


@frozen
class Keys:
    """A mapping with known keys."""

    keys: Mapping[str, Key]
    what: str = "a mapping"
    least: int = 0
    """How many keys must be there."""


@frozen
class Names:
    """A mapping from names that the user chooses to one shape."""

    value: Shape
    name: Text = Text("a name")
    what: str = "a mapping"
    least: int = 0


@frozen
class Either:
    """One of several shapes, which a value's JSON type tells apart."""

    shapes: tuple[Shape, ...]
    name: str = ""

    @property
    def what(self) -> str:
        """How messages call it: the name, or else the shapes."""
        if self.name:
            return self.name
        words: list[str] = []
        for shape in self.shapes:
            words += [f"`{word}`" for word in shape.words] if isinstance(shape, Choice) else [shape.what]
        return join_words(words)


type Shape = (
    Text
    | Choice
    | Constant
    | Flag
    | Whole
    | Number
    | Anything
    | AnyTable
    | Reserved
    | ListOf
    | Keys
    | Names
    | Either
)


def join_words(words: Iterable[str]) -> str:
    """Give words as in a sentence: `a`, `a or b`, `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
