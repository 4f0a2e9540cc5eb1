"""Counts the events that a log lost, and records the gap when it can be written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError
from agentfence.core.record import timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.audit.interface import AuditLog
    from agentfence.core.effects import Event


class GapLog:
    """A log that knows what it lost: the first event after a failure says how many there were."""

    def __init__(
        self, log: AuditLog, clock: Callable[[], float], report: Callable[[str], None], *, is_strict: bool
    ) -> None:
        """Take the log; unless `is_strict`, a failure is only reported (`on_failure: warn`)."""
        self.description = log.description
        self._log = log
        self._clock = clock
        self._report = report
        self.is_strict = is_strict
        """Whether an event that is lost stops its message; the policy in force says so."""
        self._lost = 0
        self._since = 0.0
        self._reason = ""

    def append(self, event: Event) -> None:
        """Write one event, after one about those that were lost before.

        Raises:
            AuditError: It is not written, and the policy says `on_failure: deny`.

        """
        try:
            if self._lost:
                self._fill()
            self._log.append(event)
        except AuditError as error:
            self._lose(error)
            if self.is_strict:
                raise

    def close(self) -> None:
        """End the log, with a last word on what it lost."""
        if self._lost:
            try:
                self._fill()
            except AuditError:
                self._report(f"{self._lost} events are in no audit log")
        self._log.close()

    def _fill(self) -> None:
        self._log.append(
            {
                "kind": "audit_gap",
                "timestamp": timestamp(self._clock()),
                "lost": self._lost,
                "since": timestamp(self._since),
                "messages": "refused" if self.is_strict else "sent on",
                "reason": self._reason,
            }
        )
        self._lost = 0

    def _lose(self, error: AuditError) -> None:
        if not self._lost:
            self._since, self._reason = self._clock(), str(error)
            if not self.is_strict:
                self._report(f"{error}; messages go on without a record, as the policy says")
        self._lost += 1
