"""What changed in which tool, for people: signs, words, and colours on a terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentfence.cli.terminal import Paint
from agentfence.core.pin_changes import ChangeKind
from agentfence.core.tool_texts import ToolTexts
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentfence.core.pin_changes import PartChange, ToolChange
    from agentfence.core.pins import Pin

_SIGNS = {
    ChangeKind.ADDED: ("+", "green"),
    ChangeKind.REMOVED: ("-", "red"),
    ChangeKind.CHANGED: ("~", "yellow"),
}


def print_changes(changes: Mapping[str, Sequence[ToolChange]], now: Mapping[str, Mapping[str, Pin]]) -> None:
    """Print what differs in the tools of each server, and what is odd about the new texts."""
    paint = Paint(sys.stdout)
    for server, found in changes.items():
        print(paint(f"server {visible(server) or '(without a name)'}: {_counted(found)}", "bold"))
        for change in found:
            for line in _lines(change, now[server].get(change.tool), paint):
                print(line)


def _counted(found: Sequence[ToolChange]) -> str:
    counts = {kind: sum(change.kind is kind for change in found) for kind in ChangeKind}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count) or "nothing changed"


def _lines(change: ToolChange, pin: Pin | None, paint: Paint) -> Iterator[str]:
    sign, colour = _SIGNS[change.kind]
    yield paint(f"{sign} tool {visible(change.tool)} is {change.kind}", colour)
    for part in change.parts:
        yield from _part_lines(part, paint)
    if change.kind is ChangeKind.CHANGED and not change.parts:
        yield "    only the digests are known, and they differ"
    definition = None if pin is None else pin.definition
    for code, text in ToolTexts().oddities(definition) if isinstance(definition, dict) else ():
        yield paint(f"    ! {text} ({code})", "red")


def _part_lines(part: PartChange, paint: Paint) -> Iterator[str]:
    yield f"    {visible(part.part)}"
    for sign, text, colour in (("-", part.before, "red"), ("+", part.after, "green")):
        for line in () if text is None else text.split("\n"):
            yield paint(f"      {sign} {visible(line)}", colour)
