"""What a run says to whoever watches its terminal or its log: one line a decision.

| level     | what is said                                                                        |
| --------- | ----------------------------------------------------------------------------------- |
| `quiet`   | problems                                                                            |
| `normal`  | also start and summary, changes of the policy, what waits for a person, decisions   |
|           | but housekeeping                                                                    |
| `verbose` | every decision                                                                      |

Invariant: nothing is said that is not in the audit event or a prompt, redacted as they are, and no
argument ever; texts of peers are made visible before they reach a terminal.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from agentfence.core.visible import visible
from agentfence.tally import observed_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TextIO

    from agentfence.core.effects import Event, Question
    from agentfence.tally import Tally

    type Write = Callable[[str], None]
    """Writes one line without its end; never waits, never raises."""
    type Cell = tuple[str, int, str]
    """A text, the columns it gets, and its style."""

MAX_LINE: Final = 4_096
"""Bytes that a pipe which can be written takes at once (PIPE_BUF of Linux)."""
_LONGEST_SUBJECT: Final = 128
"""Characters of a name that an agent chose: a longer one could fill lines of a terminal as it likes."""
_STYLES: Final = {
    "allow": "green",
    "deny": "bold red",
    "ask": "yellow",
    "problem": "bold red",
    "start": "bold",
    "changed": "bold",
}
_HOUSEKEEPING: Final = frozenset({"housekeeping", "response_match"})


class LogLevel(StrEnum):
    """How much is said; the module's table has it."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


class LogFormat(StrEnum):
    """How it is said."""

    TEXT = "text"
    JSON = "json"


class Reporter:
    """Says what happens, as much of it and in the form that was asked for."""

    def __init__(
        self,
        write: Write,
        level: LogLevel = LogLevel.NORMAL,
        log_format: LogFormat = LogFormat.TEXT,
        *,
        write_problem: Write | None = None,
        colours: bool = False,
    ) -> None:
        """Take where lines go, and problems when it is elsewhere; `colours` where they are shown."""
        self._write = write
        self._write_problem = write_problem or write
        self._level = level
        self._is_json = log_format is LogFormat.JSON
        self._paint: Callable[[list[Cell]], str] = _painter() if colours and not self._is_json else _plain

    def problem(self, text: str) -> None:
        """Say what a person must know, at every level."""
        self._say("problem", text, self._write_problem)

    def start(self, text: str) -> None:
        """Say what is in force."""
        if self._level is not LogLevel.QUIET:
            self._say("start", text, self._write)

    def changed(self, text: str) -> None:
        """Say what is in force from now on."""
        if self._level is not LogLevel.QUIET:
            self._say("changed", text, self._write)

    def summary(self, tally: Tally, *, is_asked_for: bool) -> None:
        """Say what was counted: at the end of a run, or at every level when it was asked for."""
        if self._level is LogLevel.QUIET and not is_asked_for:
            return
        if self._is_json:
            self._write_json({"kind": "summary", **tally.as_json()}, self._write)
            return
        for line in tally.as_lines():
            self._say("start", line, self._write)

    def asked(self, question: Question) -> None:
        """Say that a call waits for a person."""
        if self._level is LogLevel.QUIET:
            return
        subject = _subject(question.server, question.tool, question.method)
        reason = f"waits for a person: {question.reason}"
        names = {"server": question.server, "tool": question.tool, "method": question.method}
        members = {**names, "client": question.client, "rule": question.rule, "reason": reason}
        self._decision("ask", subject, question.rule, reason, {**members, "call_id": question.call_id})

    def decided(self, event: Event) -> None:
        """Say what an audit event records."""
        if not self._is_worth(event):
            return
        decision = str(event["decision"])
        approval = event.get("approval")
        reason = str(event.get("reason"))
        if isinstance(approval, dict) and approval["outcome"] != "no_approver":  # the reason says that
            reason = f"{approval['outcome']} by {approval['by'] or approval['approver']}: {reason}"
        verdict = observed_verdict(event)
        reason = f"would be {verdict}: {reason}" if verdict else reason
        subject = _subject(event.get("server"), event.get("tool"), event.get("method"))
        members = {name: event[name] for name in _EVENT_MEMBERS if event.get(name) is not None}
        self._decision(decision, subject, str(event.get("rule") or ""), reason, members)

    def _is_worth(self, event: Event) -> bool:
        if "decision" not in event:  # it tells of an answer, or of the run
            return False
        if self._level is LogLevel.NORMAL:
            return event.get("decision") != "allow" or event.get("reason_code") not in _HOUSEKEEPING
        return self._level is LogLevel.VERBOSE

    def _decision(
        self, decision: str, subject: str, rule: str, reason: str, members: Mapping[str, Any]
    ) -> None:
        if self._is_json:
            self._write_json({"kind": "decision", **members, "decision": decision}, self._write)
            return
        cells: list[Cell] = [
            (decision, 5, _STYLES.get(decision, "")),
            (subject if len(subject) <= _LONGEST_SUBJECT else f"{subject[:_LONGEST_SUBJECT]}…", 32, "bold"),
            (rule, 20, "cyan"),
            (reason, 0, ""),
        ]
        self._write(self._paint(cells))

    def _say(self, kind: str, text: str, write: Write) -> None:
        if self._is_json:
            self._write_json({"kind": kind, "text": text}, write)
        else:
            write(self._paint([(f"agentfence: {text}", 0, _STYLES[kind])]))

    def _write_json(self, members: Mapping[str, Any], write: Write) -> None:
        line = json.dumps({"time": round(time.time(), 3), **members})
        if len(line) >= MAX_LINE:  # half an object is none
            line = json.dumps({name: members.get(name) for name in ("kind", "decision", "call_id")})
        write(line)


_EVENT_MEMBERS: Final = (
    "call_id",
    "transport",
    "server",
    "client",
    "direction",
    "method",
    "tool",
    "verdict",
    "reason_code",
    "reason",
    "rule",
    "approval",
    "overruled",
    "mode",
)


class StandardError:
    """Writes lines to stderr, and leaves out what it would have to wait for.

    A client that does not read the relay's stderr must not bring the protocol to a stop.
    """

    def __init__(self) -> None:
        """Write to this process's stderr."""
        self._left_out = 0

    def __call__(self, line: str) -> None:
        """Write one line, cut to what a pipe takes at once."""
        if self._left_out:
            line = f"{line} ({self._left_out} lines before it were left out)"
        octets = line.encode(errors="replace")[: MAX_LINE - 1] + b"\n"
        try:
            descriptor = sys.stderr.fileno()
            if select.select([], [descriptor], [], 0)[1]:
                os.write(descriptor, octets)
                self._left_out = 0
                return
        except (OSError, ValueError, AttributeError):  # closed, or there never was one
            pass
        self._left_out += 1


def is_colourful(environment: Mapping[str, str], stream: TextIO | None) -> bool:
    """Whether a stream of this process is a terminal that may be given colours."""
    if environment.get("NO_COLOR") or environment.get("TERM") == "dumb":
        return False
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def _subject(server: object, tool: object, method: object) -> str:
    name = str(tool or method or "message")
    return f"{server}/{name}" if server else name


def _plain(cells: list[Cell]) -> str:
    return "  ".join(visible(text).ljust(columns) for text, columns, _ in cells).rstrip()


def _painter() -> Callable[[list[Cell]], str]:
    """Give what lays out cells with colours; rich is imported for a terminal only."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    console = Console(force_terminal=True, soft_wrap=True, highlight=False, width=10_000)

    def paint(cells: list[Cell]) -> str:
        line = Text()
        for text, columns, style in cells:
            shown = visible(text)
            line.append(shown, style)
            line.append(" " * (max(0, columns - cell_len(shown)) + 2))
        line.rstrip()
        with console.capture() as capture:
            console.print(line, end="")
        return capture.get()

    return paint
