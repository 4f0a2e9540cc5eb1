"""What changed in which tool since it was pinned, in parts that a person can judge."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.pins import Pin

_PROSE = frozenset({"description", "title"})
"""What is shown as it is; other texts are shown as JSON, as `"1"` is not `1`."""


class ChangeKind(StrEnum):
    """What became of a tool."""

    ADDED = "new"
    REMOVED = "gone"
    CHANGED = "changed"


@frozen
class PartChange:
    """One part of a definition, as `description` or `inputSchema.properties.path.type`."""

    part: str
    before: str | None
    """None: it was not there."""
    after: str | None
    """None: it is not there any more."""


@frozen
class ToolChange:
    """One tool that is not what is pinned."""

    tool: str
    kind: ChangeKind
    parts: tuple[PartChange, ...]
    """Empty for a change of which only digests are known."""


def changes_of(pinned: Mapping[str, Pin], now: Mapping[str, Pin]) -> list[ToolChange]:
    """Give what differs between two sets of a server's tools, by name."""
    return [
        _change(name, pinned.get(name), now.get(name))
        for name in sorted({*pinned, *now})
        if name not in pinned or name not in now or pinned[name].digest != now[name].digest
    ]


def _change(name: str, before: Pin | None, after: Pin | None) -> ToolChange:
    if before is None:
        return ToolChange(name, ChangeKind.ADDED, _parts_changed({}, _parts_of(after)))
    if after is None:
        return ToolChange(name, ChangeKind.REMOVED, ())
    is_known = before.definition is not None and after.definition is not None
    parts = _parts_changed(_parts_of(before), _parts_of(after)) if is_known else ()
    return ToolChange(name, ChangeKind.CHANGED, parts)


def _parts_of(pin: Pin | None) -> dict[str, str]:
    definition = None if pin is None else pin.definition
    members = definition if isinstance(definition, dict) else {}
    return dict(part for key, value in members.items() if key != "name" for part in _leaves((key,), value))


def _parts_changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[PartChange, ...]:
    """Give the parts that differ; texts come before schemas, as they are what models act on."""
    parts = [part for part in {**before, **after} if before.get(part) != after.get(part)]
    parts.sort(key=lambda part: (part != "description", "." in part, part))
    return tuple(PartChange(part, before.get(part), after.get(part)) for part in parts)


def _leaves(place: tuple[str, ...], value: Json) -> Iterator[tuple[str, str]]:
    """Give each text, number and empty or plain list in a value, with its place."""
    waiting: list[tuple[tuple[str, ...], Json]] = [(place, value)]
    while waiting:
        keys, inner = waiting.pop()
        if isinstance(inner, dict) and inner:
            waiting.extend(((*keys, key), member) for key, member in inner.items())
        elif isinstance(inner, list) and any(isinstance(element, dict | list) for element in inner):
            waiting.extend(((*keys, str(at)), element) for at, element in enumerate(inner))
        else:
            is_prose = isinstance(inner, str) and keys[-1] in _PROSE
            yield (
                ".".join(map(_quoted, keys)),
                str(inner) if is_prose else json.dumps(inner, ensure_ascii=False),
            )


def _quoted(key: str) -> str:
    """Give a key so that none can be taken for two."""
    return json.dumps(key) if "." in key or not key else key
