"""`agentfence approvals`: the questions of all fences that ask by queue, and a person's answers.

While it runs in a terminal, or with --json, fences count as attended: without, they deny at once.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentfence.approval.attending import Fences
from agentfence.approval.prompt import READING_SECONDS, Reply, choices, cut, once_more, read_reply, render
from agentfence.approval.queue_messages import Settled
from agentfence.core.errors import UsageError
from agentfence.core.values import as_dict
from agentfence.core.visible import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from agentfence.approval.attending import Waiting
    from agentfence.approval.queue_messages import FromFence

_SETTLING_SECONDS: Final = 1.0
"""After a question that ended unanswered: what is typed so soon was meant for that one."""
_REFUSED: Final = 1
_WIDE: Final = 200
"""Columns of a table that is printed elsewhere than on a terminal."""
_NARROWEST_NAME: Final = 4
_SAID: Final = MappingProxyType(
    {
        Reply.APPROVE: "approved",
        Reply.APPROVE_FOR_SESSION: "approved, for the session",
        Reply.DENY: "denied",
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="print what waits now, and end")
    what.add_argument("--approve", metavar="ID", help="approve one call, and end")
    what.add_argument("--deny", metavar="ID", help="deny one call, and end")
    parser.add_argument(
        "--session",
        action="store_true",
        help="with --approve: let the approval hold for the session, where the policy lets it",
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object a line, and ask nothing here"
    )


def run(arguments: argparse.Namespace) -> int:
    """Show what waits, and take answers; give the exit status."""
    if arguments.session and arguments.approve is None:
        raise UsageError("--session goes with --approve")
    if arguments.approve is not None:
        return _say(arguments.approve, Reply.APPROVE_FOR_SESSION if arguments.session else Reply.APPROVE)
    if arguments.deny is not None:
        return _say(arguments.deny, Reply.DENY)
    if arguments.list:
        return _list(as_json=arguments.json)
    if arguments.json:
        return _follow()
    if not sys.stdin.isatty():
        raise UsageError("expected a terminal to answer in: use --json, --approve and --deny in scripts")
    return Dialogue().run()


def _say(id_: str, reply: Reply) -> int:
    fences = Fences(os.environ, attends=False)
    fences.look()
    problem = fences.say(id_, reply)
    if problem is not None:
        print(f"agentfence: `{id_}` was not answered: {problem}", file=sys.stderr)
        return _REFUSED
    return 0


def _list(*, as_json: bool) -> int:
    fences = Fences(os.environ, attends=False)
    silent = fences.look_once()
    columns = shutil.get_terminal_size((_WIDE, 0)).columns
    for line in map(_json_line, fences.waiting) if as_json else _table(fences.waiting, columns):
        print(line)
    if silent:
        print(f"agentfence: fences that did not answer, so that nothing is shown: {silent}", file=sys.stderr)
        return _REFUSED
    return 0


def _follow() -> int:
    fences = Fences(os.environ, attends=True)
    told: set[str] = set()
    while True:
        said, _ = fences.receive(1.0)
        for waiting in fences.waiting:
            id_ = waiting.asked.id
            if id_ not in told:
                told.add(id_)
                print(_json_line(waiting), flush=True)
                fences.show(id_)
        for message in said:
            if isinstance(message, Settled) and message.id in told:
                told.remove(message.id)
                print(json.dumps({"type": "settled", **as_dict(message)}), flush=True)


def _json_line(waiting: Waiting) -> str:
    members = {
        "type": "asked",
        "id": waiting.asked.id,
        "process": waiting.process,
        "waited_ms": int((time.monotonic() - waiting.since) * 1000),
        **as_dict(waiting.asked.prompt),
    }
    return json.dumps(members)


def _table(questions: Iterable[Waiting], columns: int) -> list[str]:
    """Give who, what, how long: a line each, under a heading; a name that would wrap one is cut."""
    rows = [("ID", "WHO", "WHAT", "WAITS")]
    for waiting in questions:
        prompt, seconds = waiting.asked.prompt, time.monotonic() - waiting.since
        rows.append((waiting.asked.id, client_name(prompt.client), prompt.subject, f"{seconds:.0f} s"))
    if len(rows) == 1:
        return ["nothing waits"]
    from rich.cells import cell_len

    ids, who, what, waits = (max(map(cell_len, column)) for column in zip(*rows, strict=True))
    left = max(2 * _NARROWEST_NAME, columns - 1 - ids - waits - 3 * len("  "))
    who = min(who, max(left // 2, left - what))
    widths = ids, who, min(what, left - who), waits
    return ["  ".join(map(_filled, row, widths)).rstrip() for row in rows]


def _filled(text: str, columns: int) -> str:
    from rich.cells import cell_len

    shown = cut(text, columns)
    return shown + " " * (columns - cell_len(shown))


def client_name(client: str) -> str:
    """Give `client` with the name of its program, where it is a process on this machine."""
    kind, _, process = client.partition(":")
    if kind != "stdio" or not process.isdecimal():
        return client
    try:
        name = Path(f"/proc/{process}/comm").read_text(errors="replace").strip()
    except OSError:
        return client
    return f"{client} ({visible(name)})"


class _StoppedError(Exception):
    """The person has pressed ^Z."""


def _stop(*_: object) -> None:
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)  # once more it would break into leaving
    raise _StoppedError


class Dialogue:
    """Puts one question after the other to the person at this terminal."""

    def __init__(self) -> None:
        """Begin with no question."""
        from agentfence.approval.terminal import TypedLines

        self._fences = Fences(os.environ, attends=True)
        self._current: Waiting | None = None
        self._deaf_until = 0.0
        self._typed = TypedLines()
        self._input = sys.stdin.fileno()

    def run(self) -> int:
        """Go on until the person ends it, by ^D or ^C."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        is_there = False
        while True:
            try:
                if not is_there:
                    is_there = True
                    signal.signal(signal.SIGTSTP, _stop)
                    self._begin()
                said, readable = self._fences.receive(1.0, self._input)
                self._notice(said)
                if readable and not self._read():
                    return 0
                if self._current is None and self._fences.waiting:
                    self._show(self._fences.waiting)
            except _StoppedError:
                is_there = False
                self._leave()
            except KeyboardInterrupt:
                self._print("")  # what the shell says next begins a line
                raise

    def _begin(self) -> None:
        self._fences.look()
        match len(self._fences):
            case 0:
                fences = "no fence asks here yet"
            case 1:
                fences = "1 fence asks here"
            case several:
                fences = f"{several} fences ask here"
        self._print(f"{fences}; waiting for questions, ^C ends")

    def _leave(self) -> None:
        """Be away until the shell has this go on: what would wait for a person who is away is denied."""
        self._fences.close()
        self._current = None
        self._print("\nnobody is there while this is stopped")
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)

    def _print(self, text: str, end: str = "\n") -> None:
        print(text, end=end, flush=True)

    def _show(self, questions: list[Waiting]) -> None:
        from agentfence.approval.terminal import discard_typed, width_of

        self._current, columns = questions[0], width_of(sys.stdout.fileno())
        current = self._current
        if len(questions) > 1:
            self._print("\n" + "\n".join(_table(questions, columns)))
        shown = render(current.asked.prompt, columns, current.asked.id)
        self._print(f"\n{shown}{choices(current.asked.prompt, current.timeout)}", end="")
        discard_typed(self._input)
        self._typed.clear()
        self._deaf_until = max(self._deaf_until, time.monotonic() + READING_SECONDS)
        self._fences.show(current.asked.id)

    def _notice(self, said: list[FromFence]) -> None:
        """Drop the question that stands here when it ended elsewhere."""
        for message in said:
            if (
                self._current is not None
                and isinstance(message, Settled)
                and message.id == self._current.asked.id
            ):
                by = f" by {message.by}" if message.by else ""
                self._print(f"\nthat question has ended without you: {message.outcome}{by}")
                self._current = None
                self._deaf_until = time.monotonic() + _SETTLING_SECONDS

    def _read(self) -> bool:
        """Take what was typed; False at the end of the input."""
        typed = os.read(self._input, 1024)
        if not typed:
            return False
        lines = self._typed.feed(typed)
        if self._current is None:
            return True
        if time.monotonic() < self._deaf_until:
            self._typed.clear()
            self._print(once_more(self._current.asked.prompt), end="")
            return True
        for line in lines:
            reply = read_reply(line, self._current.asked.prompt)
            if reply is None:
                self._print(once_more(self._current.asked.prompt), end="")
                continue
            id_, self._current = self._current.asked.id, None
            problem = self._fences.say(id_, reply)
            self._print(f"not answered: {problem}" if problem else f"{id_}: {_SAID[reply]}")
            return True
        return True
