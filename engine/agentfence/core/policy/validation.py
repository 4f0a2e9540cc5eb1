"""Holds a document to the shape of the language, and finds everything that is wrong at once.

A key that begins with `x-` belongs to the user wherever the language has keys: it is left out here,
so that nothing after this sees it. Inside values that are the user's own (a JSON Schema, the arguments
of a test) such keys are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.policy.nodes import Entry, Items, Node, Scalar, Table, in_order
from agentfence.core.policy.shapes import (
    AnyTable,
    Anything,
    Choice,
    Constant,
    Either,
    Flag,
    Keys,
    ListOf,
    Names,
    Reserved,
    Shape,
    Text,
    Whole,
    join_words,
)
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentfence.core.errors import Problem
    from agentfence.core.policy.nodes import Path

OWN_KEYS = "x-"
"""How keys begin that belong to the user."""
_LONGEST_SHOWN = 60
_YES = frozenset({"yes", "on", "true", "y"})
_NO = frozenset({"no", "off", "false", "n"})
_NO_BLANK = late_regex(r"[^\s:{\[]+:[^\s:/][^\s:]*\Z")


@frozen
class Validated:
    """What came of holding a document to a shape."""

    node: Node
    """The document without the user's own keys."""
    problems: tuple[Problem, ...]
    """Whatever does not fit."""
    doubts: tuple[Problem, ...]
    """What fits, and may not mean what the user thinks."""


def validate(node: Node, shape: Shape, own_keys: str | None = OWN_KEYS) -> Validated:
    """Hold a document to a shape; keys that begin with `own_keys` are the user's."""
    validation = _Validation(own_keys)
    kept = validation.check(node, shape, ())
    return Validated(kept, in_order(validation.problems), in_order(validation.doubts))


class _Validation:
    def __init__(self, own_keys: str | None) -> None:
        self._own_keys = own_keys
        self.problems: list[Problem] = []
        self.doubts: list[Problem] = []

    def check(self, node: Node, shape: Shape, path: Path) -> Node:
        match shape:
            case Anything():
                return node
            case Either():
                return self._either(node, shape, path)
            case Keys() | Names() | AnyTable():
                return self._table(node, shape, path)
            case ListOf():
                return self._list(node, shape, path)
            case _:
                return self._scalar(node, shape, path)

    def _either(self, node: Node, shape: Either, path: Path) -> Node:
        for candidate in shape.shapes:
            if _has_type(node, candidate):
                return self.check(node, candidate, path)
        return self._unexpected(node, shape, path)

    def _table(self, node: Node, shape: Keys | Names | AnyTable, path: Path) -> Node:
        if not isinstance(node, Table):
            return self._unexpected(node, shape, path)
        if isinstance(shape, AnyTable):
            return node
        kept = {key: entry for key, entry in node.entries.items() if not self._is_own(key)}
        if isinstance(shape, Names):
            self._doubt_names(node, kept, shape, path)
        if len(kept) < shape.least:
            self._note(node, "empty", f"expected {shape.what}, got an empty mapping", path)
        if isinstance(shape, Keys):
            return Table(self._known_entries(node, kept, shape, path), node.position)
        return Table(self._named_entries(kept, shape, path), node.position)

    def _doubt_names(self, node: Table, kept: Mapping[str, Entry], shape: Names, path: Path) -> None:
        # A deny for a tool named `x-…` would vanish without a word.
        for key in node.entries.keys() - kept.keys():
            message = f"`{key}` is ignored, like every key that begins with `{self._own_keys}`"
            advice = _advice_for_own_key(key, shape.name)
            self.doubts.append(node.entries[key].key.problem("ignored_name", message, (*path, key), advice))

    def _is_own(self, key: str) -> bool:
        return self._own_keys is not None and key.startswith(self._own_keys)

    def _known_entries(
        self, node: Table, kept: Mapping[str, Entry], shape: Keys, path: Path
    ) -> dict[str, Entry]:
        for key, meant in shape.keys.items():
            if meant.is_required and key not in kept:
                self._note(node, "missing_key", f"missing key `{key}`", path)
        entries: dict[str, Entry] = {}
        for key, entry in kept.items():
            here = (*path, key)
            known = shape.keys.get(key)
            if known is None:
                advice = _advice_for_key(key, shape)
                self.problems.append(entry.key.problem("unknown_key", f"unknown key `{key}`", here, advice))
            elif isinstance(known.shape, Reserved):
                message = f"`{key}` needs a newer AgentFence"
                self.problems.append(entry.key.problem("reserved_key", message, here))
            else:
                entries[key] = Entry(entry.key, self.check(entry.value, known.shape, here))
        return entries

    def _named_entries(self, kept: Mapping[str, Entry], shape: Names, path: Path) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for name, entry in kept.items():
            here = (*path, name)
            wrong = _wrong_text(name, shape.name)
            if wrong:
                self.problems.append(entry.key.problem("wrong_name", wrong, here))
            entries[name] = Entry(entry.key, self.check(entry.value, shape.value, here))
        return entries

    def _list(self, node: Node, shape: ListOf, path: Path) -> Node:
        if not isinstance(node, Items):
            return self._unexpected(node, shape, path)
        if len(node.items) < shape.least:
            message = "expected at least one entry, got an empty list"
            self._note(node, "empty", message, path, "fill it, or leave the key out")
        items = (self.check(item, shape.item, (*path, index)) for index, item in enumerate(node.items))
        return Items(tuple(items), node.position)

    def _scalar(self, node: Node, shape: Shape, path: Path) -> Node:
        if not isinstance(node, Scalar) or not _is_of_type(node.value, shape):
            return self._unexpected(node, shape, path)
        match shape, node.value:
            case Choice(words), value if value not in words:
                return self._unexpected(node, shape, path, _close_to(node.text, words))
            case Constant(meant), value if value != meant:
                return self._unexpected(node, shape, path)
            case Whole(least, most), int(value) if not least <= value <= most:
                return self._unexpected(node, shape, path)
            case Text(), str(value):
                wrong = _wrong_text(value, shape)
                if wrong:
                    self._note(node, "wrong_value", wrong, path)
            case _:
                pass
        return node

    def _unexpected(self, node: Node, shape: Shape, path: Path, advice: str | None = None) -> Node:
        code = "wrong_value" if _has_type(node, shape) else "wrong_type"
        got = described(node)
        if code == "wrong_type" and isinstance(node, Scalar) and node.is_quoted:
            got = f"the text {got}"  # or else `"true"` would be told to be what was expected
        self._note(node, code, f"expected {shape.what}, got {got}", path, advice or _advice_for(node, shape))
        return node

    def _note(self, node: Node, code: str, message: str, path: Path, advice: str | None = None) -> None:
        self.problems.append(node.position.problem(code, message, path, advice))


def _advice_for_own_key(key: str, name: Text) -> str:
    if "pattern" in name.what:
        return f"if it is {name.what}, write `[x]{key[1:]}`"
    if name.what == "a field":
        return f"if it is a field, write `'\"{key}\"'`"
    if name.what == "a method's name":
        return "if it is a method, `defaults.methods` decides on it"
    return f"if it is {name.what}, choose another"


def _has_type(node: Node, shape: Shape) -> bool:
    match shape:
        case Keys() | Names() | AnyTable():
            return isinstance(node, Table)
        case ListOf():
            return isinstance(node, Items)
        case Either(shapes):
            return any(_has_type(node, candidate) for candidate in shapes)
        case _:
            return isinstance(node, Scalar) and _is_of_type(node.value, shape)


def _is_of_type(value: object, shape: Shape) -> bool:
    match shape:
        case Text() | Choice():
            return isinstance(value, str)
        case Flag():
            return isinstance(value, bool)
        case Whole() | Constant():
            return isinstance(value, int) and not isinstance(value, bool)
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool)


def _wrong_text(text: str, shape: Text) -> str | None:
    if not text:
        return f"expected {shape.what}, got an empty text"
    held = next((character for character in text if character in shape.without), None)
    return f"expected {shape.what} without `{held}`, got `{_cut(text)}`" if held else None


def _advice_for_key(key: str, shape: Keys) -> str:
    """Give where an unknown key belongs, what it may be meant for, or else what is known there."""
    usable = {
        name: meant.shape for name, meant in shape.keys.items() if not isinstance(meant.shape, Reserved)
    }
    holder = next((name for name, inner in usable.items() if key in _keys_of(inner)), None)
    return f"it belongs under `{holder}`" if holder else did_you_mean(key, usable)


def _advice_for(node: Node, shape: Shape) -> str | None:
    """Give what to do about a value that is of another kind than it should be."""
    match shape, node:
        case Keys() | Names(), Scalar(value=str()) if _NO_BLANK.match(node.text):
            return f"write a blank behind the colon: `{node.text.replace(':', ': ', 1)}`"
        case Names(), _:
            return f"write an entry for each, as `NAME: {_example_of(shape.value)}`"
        case ListOf(item=item), _ if _has_type(node, item):
            return "write it as a list, between `[` and `]`"
        case ((Flag() | Text() | Choice()), Scalar()):
            return _advice_for_type(node, shape)
        case Either(), Scalar(value=None):
            return None
        case _:
            keys = _keys_of(shape)
            return f"known here: {', '.join(keys)}" if keys else None


def _keys_of(shape: Shape) -> tuple[str, ...]:
    """Give the keys of a mapping, or of the mapping that may stand there."""
    match shape:
        case Keys(keys):
            return tuple(name for name, meant in keys.items() if not isinstance(meant.shape, Reserved))
        case Either(shapes):
            return next(filter(None, map(_keys_of, shapes)), ())
        case _:
            return ()


def _example_of(shape: Shape) -> str:
    match shape:
        case Choice(words):
            return words[0]
        case Either(shapes):
            return _example_of(shapes[0])
        case ListOf():
            return "[…]"
        case _:
            return "{…}"


def _advice_for_type(node: Scalar, shape: Shape) -> str | None:
    match shape:
        case Flag() if node.text.lower() in _YES:
            return "write `true`"
        case Flag() if node.text.lower() in _NO:
            return "write `false`"
        case Text() if node.value is not None:
            return f'write `"{node.text}"`'
        case Choice(words) if node.text in words:
            return f'write `"{node.text}"`'
        case _:
            return None


def described(node: Node) -> str:
    """Give a value as messages show it: `a list`, `the number 3`."""
    match node:
        case Table():
            return "a mapping"
        case Items():
            return "a list"
        case Scalar(value=None):
            return "nothing"
        case Scalar(value=str()):
            return f"`{_cut(node.text)}`" if node.text else "an empty text"
        case Scalar(value=bool()):
            return node.text
        case Scalar():
            return f"the number {_cut(node.text)}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Give what to do about an unknown word: the one meant, or else all that are known."""
    names = list(known)
    return _close_to(word, names) or f"known here: {', '.join(names)}"


def _close_to(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches  # only bad policies need it

    close = get_close_matches(word.lower(), list(known), 3, 0.6)
    return f"did you mean {join_words(f'`{name}`' for name in close)}?" if close else None
