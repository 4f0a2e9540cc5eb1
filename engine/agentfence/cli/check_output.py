"""How `agentfence check` prints what became of each record: text, one JSON array, or a JSON object a line."""

from __future__ import annotations

from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING, Protocol

from agentfence.cli.terminal import Paint
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from typing import TextIO

    from agentfence.core.offline import Outcome

FORMATS = ("text", "json", "jsonl")
_MOST_REMEMBERED = 4_096


class OutcomeWriter(Protocol):
    """Prints outcomes as they come."""

    def write(self, outcome: Outcome) -> None:
        """Print one."""
        ...

    def end(self) -> None:
        """Print what comes after the last."""
        ...


def make_writer(format_: str, stream: TextIO, *, is_dry_run: bool) -> OutcomeWriter:
    """Give the writer of one of `FORMATS`."""
    match format_:
        case "json":
            return _ArrayWriter(stream)
        case "jsonl":
            return _LineWriter(stream)
        case _:
            return _TextWriter(stream, is_dry_run=is_dry_run)


class _TextWriter:
    def __init__(self, stream: TextIO, *, is_dry_run: bool) -> None:
        self._stream = stream
        self._paint = Paint(stream)
        self._end = " [dry-run]\n" if is_dry_run else "\n"

    def write(self, outcome: Outcome) -> None:
        tool = visible(outcome.tool) or "-"
        decision = self._paint.decision(outcome.decision)
        line = f"{visible(outcome.id)} {tool} -> {decision} ({visible(outcome.reason)}){self._end}"
        self._stream.write(line)

    def end(self) -> None:
        pass


class _LineWriter:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = _Rows()

    def write(self, outcome: Outcome) -> None:
        self._stream.write(self._rows.row(outcome) + "\n")

    def end(self) -> None:
        pass


class _ArrayWriter:
    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rows = _Rows()
        self._before = "[\n  "

    def write(self, outcome: Outcome) -> None:
        self._stream.write(self._before + self._rows.row(outcome))
        self._before = ",\n  "

    def end(self) -> None:
        self._stream.write("[]\n" if self._before.startswith("[") else "\n]\n")


class _Rows:
    """JSON objects; what is alike but for the id is put together once."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, ...], str] = {}

    def row(self, outcome: Outcome) -> str:
        key = outcome[1:]
        end = self._ends.get(key)
        if end is None:
            if len(self._ends) >= _MOST_REMEMBERED:
                self._ends.clear()
            end = self._ends[key] = _end(outcome)
        return f'{{"id": {encode_basestring_ascii(outcome.id)}, {end}'


def _end(outcome: Outcome) -> str:
    members = {
        "tool": outcome.tool,
        "decision": outcome.decision.value,
        "reason_code": outcome.reason_code,
        "reason": outcome.reason,
    }
    return ", ".join(f'"{name}": {encode_basestring_ascii(text)}' for name, text in members.items()) + "}"
