"""The loop of `agentfence check`: lines in, outcomes out, each recorded before it is printed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentfence.cli.check_summary import Summary
from agentfence.cli.lines import LONGEST_LINE
from agentfence.cli.terminal import say
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.errors import ProtocolViolation
from agentfence.core.recorded_calls import read_recorded_call

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.audit.interface import AuditLog
    from agentfence.cli.check_output import OutcomeWriter
    from agentfence.cli.progress import ByteProgress
    from agentfence.core.constraints.interface import LinkResolver
    from agentfence.core.offline import OfflineJudge
    from agentfence.core.recorded_calls import RecordedCall

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TOO_LONG = f"the line is over the limit of {LONGEST_LINE} bytes"


class CheckRun:
    """One way through all records."""

    def __init__(
        self,
        judge: OfflineJudge,
        log: AuditLog | None,
        writer: OutcomeWriter,
        resolve_links: LinkResolver | None,
    ) -> None:
        """Take what judges, records and prints; `resolve_links` where links are followed."""
        self.summary = Summary()
        self.failures = 0
        """Records on which the judge itself failed."""
        self._judge = judge
        self._log = log
        self._writer = writer
        self._resolve_links = resolve_links
        # A record without a time is of now: one now for all, so that a run can be repeated.
        self._began = time.time()

    def judge_all(self, lines: Iterable[bytes | None], progress: ByteProgress) -> None:
        """Judge each line, and end what is printed; None stands for a line that is too long.

        Raises:
            AuditError: An event cannot be written.

        """
        for number, line in enumerate(lines, 1):
            if line is None:
                self._refuse_line(number, _TOO_LONG)
                continue
            progress.advance(len(line))
            text = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            if text.isspace() or not text:
                continue
            try:
                call = read_recorded_call(text)
            except ProtocolViolation as violation:
                self._refuse_line(number, str(violation))
            else:
                self._judge_call(call, number)
        self._writer.end()

    def _judge_call(self, call: RecordedCall, number: int) -> None:
        told = self._began if call.time is None else call.time
        circumstances = Circumstances(told, self._resolve_links, Effort())
        now = None if self._log is None else time.time()
        try:
            outcome, event = self._judge.judge(call, circumstances, now)
        except Exception as error:  # noqa: BLE001 - the one guard: whatever fails here is a deny
            self.failures += 1
            say(f"internal error in line {number}: {type(error).__name__}")
            reason = "AgentFence failed on this call; see its own output"
            outcome, event = self._judge.refuse(call.id, "internal_error", reason, now)
        if self._log is not None and event is not None:
            self._log.append(event)
        self._writer.write(outcome)
        self.summary.add(outcome)

    def _refuse_line(self, number: int, problem: str) -> None:
        now = None if self._log is None else time.time()
        reason = f"parse error: {problem}"
        outcome, event = self._judge.refuse(f"line-{number}", "parse_error", reason, now)
        if self._log is not None and event is not None:
            self._log.append(event)
        self._writer.write(outcome)
        self.summary.add_unreadable(outcome)
