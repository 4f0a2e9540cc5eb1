"""Counts the events that a log lost, and records the gap when it can be written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError
from agentfence.core.record import timestamp
from agentfence.core.values import slotted

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.audit.interface import AuditLog
    from agentfence.core.effects import Event

_SENT_ON = frozenset({"answered", "noted"})
"""Kinds of events about messages of a server, which go to the agent whatever becomes of the event."""


@slotted
class _Gap:
    """Events that were lost, and whose messages met one fate."""

    since: float
    reason: str
    lost: int = 0


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
        self._gaps: dict[str, _Gap] = {}
        """By what became of the messages."""

    def append(self, event: Event) -> None:
        """Write one event, after one about those that were lost before.

        Raises:
            AuditError: It is not written, and the policy says `on_failure: deny`.

        """
        try:
            if self._gaps:
                self._fill()
            self._log.append(event)
        except AuditError as error:
            self._lose(event, error)
            if self.is_strict:
                raise

    def attempt(self, event: Event) -> None:
        """Write one event that will come again when it cannot be written: then it is no loss.

        Raises:
            AuditError: It is not written, and the policy says `on_failure: deny`.

        """
        if not self.is_strict:
            self.append(event)
            return
        if self._gaps:
            self._fill()
        self._log.append(event)

    def close(self) -> None:
        """End the log, with a last word on what it lost."""
        if self._gaps:
            try:
                self._fill()
            except AuditError:
                lost = sum(gap.lost for gap in self._gaps.values())
                self._report(f"{lost} event{'s are' if lost > 1 else ' is'} in no audit log")
        self._log.close()

    def _fill(self) -> None:
        for messages, gap in [*self._gaps.items()]:
            self._log.append(
                {
                    "kind": "audit_gap",
                    "timestamp": timestamp(self._clock()),
                    "lost": gap.lost,
                    "since": timestamp(gap.since),
                    "messages": messages,
                    "reason": gap.reason,
                }
            )
            del self._gaps[messages]

    def _lose(self, event: Event, error: AuditError) -> None:
        is_refused = self.is_strict and event.get("kind") not in _SENT_ON
        messages = "refused" if is_refused else "sent on"
        gap = self._gaps.get(messages)
        if gap is None:
            gap = self._gaps[messages] = _Gap(self._clock(), str(error))
            if not self.is_strict:
                self._report(f"{error}; messages go on without a record, as the policy says")
        gap.lost += 1
