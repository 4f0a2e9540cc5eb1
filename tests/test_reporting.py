"""A line a decision, in the form and to the extent that was asked for, and nothing that must not be seen."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from approval.questions import QUESTION
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import ASK, Talk, call

from agentfence.reporting import MAX_LINE, LogFormat, LogLevel, Reporter, StandardError, is_colourful

ALLOWED = {
    "decision": "allow",
    "verdict": "allow",
    "reason_code": "rule_match",
    "reason": "tool `read_file` has its own rule: allow",
    "rule": "read_file",
    "server": "files",
    "tool": "read_file",
    "method": "tools/call",
    "call_id": "call-1",
    "client": "stdio:1",
}
DENIED = {**ALLOWED, "decision": "deny", "verdict": "deny", "tool": "delete_file", "server": None}
HOUSEKEEPING = {**ALLOWED, "tool": None, "method": "ping", "reason_code": "housekeeping"}


def lines(event: Any, *arguments: Any, **options: Any) -> list[str]:
    written: list[str] = []
    Reporter(written.append, *arguments, **options).decided(event)
    return written


@pytest.mark.parametrize(
    ("level", "said"),
    [
        (LogLevel.QUIET, []),
        (LogLevel.NORMAL, ["allow", "deny"]),
        (LogLevel.VERBOSE, ["allow", "deny", "allow"]),
    ],
)
def test_level_says_how_much(level: LogLevel, said: list[str]) -> None:
    written = [line for event in (ALLOWED, DENIED, HOUSEKEEPING) for line in lines(event, level)]

    assert [line.split()[0] for line in written] == said


def test_refused_housekeeping_is_always_said() -> None:
    assert lines({**HOUSEKEEPING, "decision": "deny"}) != []


@pytest.mark.parametrize(
    ("level", "count"), [(LogLevel.QUIET, 1), (LogLevel.NORMAL, 3), (LogLevel.VERBOSE, 3)]
)
def test_problems_are_said_at_every_level(level: LogLevel, count: int) -> None:
    written: list[str] = []
    reporter = Reporter(written.append, level)
    reporter.start("here we are")
    reporter.asked(QUESTION)
    reporter.problem("the log is full")

    assert len(written) == count
    assert written[-1] == "agentfence: the log is full"


def test_columns_are_aligned() -> None:
    (allowed,), (denied,) = lines(ALLOWED), lines(DENIED)

    assert allowed == (
        "allow  files/read_file                   read_file             "
        "tool `read_file` has its own rule: allow"
    )
    assert allowed.index("tool `") == denied.index("tool `")


def test_long_names_push_the_rest_aside() -> None:
    (line,) = lines({**ALLOWED, "tool": "t" * 100})

    assert "t" * 100 + "  read_file  " in line


def test_nobody_is_not_named_as_who_answered() -> None:
    approval = {"outcome": "no_approver", "approver": "queue", "by": None, "waited_ms": 0}

    assert "no_approver" not in lines({**DENIED, "approval": approval})[0]


def test_what_is_only_observed_is_said() -> None:
    (line,) = lines({**ALLOWED, "verdict": "deny"})

    assert line.startswith("allow ")
    assert "  would be deny: tool `read_file`" in line


def test_approval_is_said_with_who_gave_it() -> None:
    approval = {"outcome": "approved", "approver": "queue", "by": "eva", "waited_ms": 1}

    assert "approved by eva: tool" in lines({**ALLOWED, "approval": approval})[0]
    assert (
        "timeout by tty: tool"
        in lines({**DENIED, "approval": {**approval, "outcome": "timeout", "approver": "tty", "by": None}})[0]
    )


def test_question_is_said() -> None:
    written: list[str] = []
    Reporter(written.append).asked(QUESTION)

    assert written[0].split()[:3] == ["ask", "files/write_file", "write_file"]
    assert "waits for a person" in written[0]


def test_json_has_a_line_for_each() -> None:
    written: list[str] = []
    reporter = Reporter(written.append, log_format=LogFormat.JSON)
    reporter.start("here we are")
    reporter.asked(QUESTION)
    reporter.decided(DENIED)
    reporter.problem("the log is full")
    said = [json.loads(line) for line in written]

    assert [line["kind"] for line in said] == ["start", "decision", "decision", "problem"]
    assert (said[1]["decision"], said[1]["call_id"], said[1]["tool"]) == ("ask", "call-7", "write_file")
    assert (said[2]["decision"], said[2]["reason_code"]) == ("deny", "rule_match")
    assert "server" not in said[2]
    assert all(isinstance(line["time"], float) for line in said)


def test_json_that_is_too_long_stays_json() -> None:
    (line,) = lines({**DENIED, "reason": "x" * MAX_LINE}, log_format=LogFormat.JSON)

    assert json.loads(line) == {"kind": "decision", "decision": "deny", "call_id": "call-1"}


def test_problems_may_go_elsewhere() -> None:
    written: list[str] = []
    problems: list[str] = []
    reporter = Reporter(written.append, write_problem=problems.append)
    reporter.start("here we are")
    reporter.problem("the log is full")

    assert (len(written), problems) == (1, ["agentfence: the log is full"])


@pytest.mark.parametrize("colours", [True, False])
@pytest.mark.parametrize("name", ["a\x1b[2Jb", "a\rb", "a\u202eb", "a\nb", "a\x9b0mb"])
def test_names_are_not_obeyed(name: str, colours: bool) -> None:
    (line,) = lines({**DENIED, "tool": name, "rule": name, "reason": name}, colours=colours)
    without_colours = re.sub(r"\x1b\[[0-9;]*m", "", line)

    assert name not in line
    assert without_colours.isprintable()


def test_colours_lay_out_as_without() -> None:
    (plain,), (coloured,) = lines(DENIED), lines(DENIED, colours=True)

    assert "\x1b[1;31mdeny\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).rstrip() == plain


@settings(max_examples=100, deadline=None)
@given(st.text(), st.text(), st.text())
def test_line_is_one_line_whatever_a_peer_says(tool: str, rule: str, reason: str) -> None:
    event = {**DENIED, "tool": tool, "rule": rule, "reason": reason}

    assert lines(event)[0].isprintable()
    assert lines(event, log_format=LogFormat.JSON)[0].isprintable()


def test_no_argument_is_ever_said() -> None:
    talk = Talk(ASK + "audit: {include_redacted_arguments: true}\n")
    asked = talk.agent(call("t", a="needle"))
    event = talk.say(asked, "denied")[0].event
    assert "needle" in str(event["arguments"])
    written: list[str] = []
    for log_format in LogFormat:
        reporter = Reporter(written.append, LogLevel.VERBOSE, log_format)
        reporter.asked(asked[0].question)
        reporter.decided(event)

    assert len(written) == 4
    assert "needle" not in "".join(written)


WRITES = """
import os, sys
from agentfence.reporting import StandardError
write = StandardError()
for number in range(int(sys.argv[1])):
    write("line %d %s" % (number, "x" * int(sys.argv[2])))
print("done")
"""


def test_stderr_that_nobody_reads_stops_nothing() -> None:
    read, write = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", WRITES, "2000", "100"],
            stderr=write,
            capture_output=False,
            stdout=-1,
            timeout=60,
        )
        os.close(write)
        write = -1
        with open(read, closefd=False) as file:
            got = file.read().splitlines()
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)

    assert done.stdout == b"done\n"
    assert 100 < len(got) < 2000
    assert all(re.fullmatch(r"line \d+ x{100}", line) for line in got)


def test_lines_that_were_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()

    class Closed:
        def fileno(self) -> int:
            raise ValueError

    class Open:
        def fileno(self) -> int:
            return write

    say = StandardError()
    monkeypatch.setattr(sys, "stderr", Closed())
    say("one")
    say("two")
    monkeypatch.setattr(sys, "stderr", None)
    say("three")
    monkeypatch.setattr(sys, "stderr", Open())
    say("four")
    say("five" * MAX_LINE)
    os.close(write)
    with open(read, "rb") as file:
        first, second = file.read().splitlines()

    assert first == b"four (3 lines before it were left out)"
    assert len(second) == MAX_LINE - 1


class Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        super().isatty()  # raises when it is closed
        return self._is_terminal


def test_colours_are_for_terminals_that_want_them() -> None:
    terminal, closed = Stream(is_terminal=True), Stream(is_terminal=True)
    closed.close()

    assert is_colourful({"TERM": "xterm"}, terminal)
    assert not is_colourful({}, Stream(is_terminal=False))
    assert not is_colourful({"NO_COLOR": "1"}, terminal)
    assert not is_colourful({"TERM": "dumb"}, terminal)
    assert not is_colourful({}, closed)
    assert not is_colourful({}, None)


def test_relay_without_a_terminal_imports_no_rich() -> None:
    program = "import sys, agentfence.stdio, agentfence.relay_start, agentfence.fence, agentfence.reporting\nassert 'rich' not in sys.modules"

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
