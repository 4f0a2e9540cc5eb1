"""Events as tables on a terminal, and as their own lines elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agentfence.cli.terminal import Paint
from agentfence.core.late_regex import late_regex
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

_ROWS = 200
"""Of one table; so a log of any size is shown in bounded memory."""
_COLUMNS = ("time", "kind", "decision", "server", "tool or method", "reason")
_FRACTION = late_regex(r"\.[0-9]{6}Z\Z")
"""Of a second: the lines themselves have it."""
_WIDTHS = (20, 8, 5, 8, 24, 0)
_STYLES = {"allow": "green", "deny": "red", "ask": "yellow"}


def print_events(events: Iterable[tuple[bytes, Mapping[str, Any]]], output: str | None) -> None:
    """Print events with their lines: as `table` or `json`; None: what suits stdout."""
    if output == "json" or (output is None and not sys.stdout.isatty()):
        for line, _ in events:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        return
    rows: list[Mapping[str, Any]] = []
    for _, event in events:
        rows.append(event)
        if len(rows) == _ROWS:
            _print_table(rows)
            rows = []
    if rows:
        _print_table(rows)


def print_event(line: bytes, event: Mapping[str, Any], output: str | None) -> None:
    """Print an event that has just come: in a line for people, or as `print_events` does."""
    if output == "json" or (output is None and not sys.stdout.isatty()):
        print_events([(line, event)], output)
        return
    paint, decision = Paint(sys.stdout), str(event.get("decision") or event.get("status") or "")
    texts = [
        visible(str(cell or "")).ljust(width) for cell, width in zip(_cells(event), _WIDTHS, strict=True)
    ]
    text = "  ".join(texts).rstrip()
    print(paint(text, _STYLES[decision]) if decision in _STYLES else text, flush=True)


def print_counts(title: str, counts: Mapping[str, int]) -> None:
    """Print a table of counts; nothing where there are none."""
    if not counts:
        return
    from rich.console import Console

    table = _table(title, "count")
    for name, count in counts.items():
        table.add_row(_cell(name), str(count))
    Console().print(table)


def _print_table(rows: Iterable[Mapping[str, Any]]) -> None:
    from rich.console import Console

    table = _table(*_COLUMNS)
    for event in rows:
        cells = _cells(event)
        table.add_row(*map(_cell, cells), style=_STYLES.get(str(cells[2])))
    Console().print(table)


def _cells(event: Mapping[str, Any]) -> tuple[object, ...]:
    """Give what stands in `_COLUMNS` of an event."""
    decision = event.get("decision") or event.get("status")
    subject = event.get("tool") or event.get("method")
    time = _FRACTION.sub("Z", str(event.get("timestamp") or ""))
    return time, event.get("kind"), decision, event.get("server"), subject, event.get("reason")


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "time")
    return table


def _cell(value: object) -> str:
    from rich.markup import escape

    return "" if value is None else escape(visible(str(value)))
