"""The keys at the top of a JSON text, found as leniently as the most lenient reader would.

Every object counts that stands at the top or in arrays there; duplicate keys all count; a text may
end early or go on after its first value.

Invariant: time and memory are bounded whatever the text is; nothing here raises.
"""

from __future__ import annotations

import re
from contextlib import suppress
from json import JSONDecoder

import jiter

from agentfence.core.jsonrpc import fold_key
from agentfence.core.values import field, slotted

_MAX_CONTAINERS = 400_000
"""Reading more would take memory; a legal message has a quarter of them."""
_MAX_MEMBERS = 100_000
"""Reading more would hold up everything else, and no legal message has them."""
_MAX_STEPS = 10_000
"""How far a broken text is followed."""
_BLANKS = re.compile(r"[\s,\ufeff\x00]*")
_NESTED = (tuple, list, dict)
# Objects become tuples of pairs, so that duplicates stay. Numbers become truth values: nobody asks for them.
_DECODER = JSONDecoder(object_pairs_hook=tuple, parse_int=bool, parse_float=bool, strict=False)


@slotted
class TopLevel:
    """What was found."""

    members: list[tuple[str, object]] = field(default_factory=list)
    """Folded keys with their values; what is cut off is None."""
    is_complete: bool = False
    """Whether a whole JSON value was read."""
    is_too_much: bool = False
    """Whether it was not looked at, as it has more than any legal message."""

    @property
    def keys(self) -> set[str]:
        """The folded keys."""
        return {key for key, _ in self.members}


def read_top_level(text: str) -> TopLevel:
    """Give the members of every object at the top of `text`, as far as they can be read."""
    if text.count("[") + text.count("{") > _MAX_CONTAINERS or text.count(":") > _MAX_MEMBERS:
        return TopLevel(is_too_much=True)
    try:
        value = jiter.from_json(text.encode(), catch_duplicate_keys=True, cache_mode="keys")
    except ValueError:
        return _read_leniently(text)
    return TopLevel(members_of(value), is_complete=True)


def _read_leniently(text: str) -> TopLevel:
    try:
        value, _ = _DECODER.raw_decode(text, _end_of_blanks(text, 0))
    except (ValueError, RecursionError):
        return _read_broken(text)
    return TopLevel(members_of(value), is_complete=True)


def members_of(value: object) -> list[tuple[str, object]]:
    """Give the members of an object, or of all objects in an array, with folded keys."""
    found: list[tuple[str, object]] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as members:
                found.extend((fold_key(key), member) for key, member in members.items())
            case tuple() as pairs:
                found.extend((fold_key(key), member) for key, member in pairs)
            case list() as items:
                waiting.extend(item for item in items if item and isinstance(item, _NESTED))
    return found


def _read_broken(text: str) -> TopLevel:
    found = TopLevel()
    with suppress(ValueError, RecursionError):  # what comes before that place was found
        _walk(text, found.members)
    return found


def _walk(text: str, members: list[tuple[str, object]]) -> None:
    """Collect members until the text breaks, for so many steps.

    Raises:
        ValueError: the text is no JSON from some place on.
        RecursionError: it is nested too deeply there.

    """
    in_object, place = False, 0
    for _ in range(_MAX_STEPS):
        place = _end_of_blanks(text, place)
        match text[place : place + 1]:
            case "[" | "{" as opening if not in_object:
                in_object = opening == "{"
                place += 1
            case "]" | "}":
                in_object = False
                place += 1
            case '"' if in_object:
                place = _read_member(text, place, members)
            case _:
                _, place = _DECODER.raw_decode(text, place)


def _read_member(text: str, place: int, members: list[tuple[str, object]]) -> int:
    key, place = _DECODER.raw_decode(text, place)
    folded = fold_key(key)
    members.append((folded, None))
    place = _end_of_blanks(text, place)
    if text[place : place + 1] != ":":
        raise ValueError("a key without a value")
    value, place = _DECODER.raw_decode(text, _end_of_blanks(text, place + 1))
    members[-1] = (folded, value)
    return place


def _end_of_blanks(text: str, place: int) -> int:
    match = _BLANKS.match(text, place)
    return match.end() if match else place
