"""The latest decisions of a run, for a person to look at; the audit log is what knows them all."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from agentfence.core.values import frozen
from agentfence.core.visible import visible
from agentfence.mitm.view.notes import code_of
from agentfence.tally import observed_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentfence.core.effects import Event

MAX_RECENT: Final = 50


@frozen
class Decided:
    """One decision; each text is visible characters."""

    timestamp: str
    decision: str
    subject: str
    """The tool with its server, else the method."""
    client: str
    rule: str
    reason_code: str
    reason: str


class RecentDecisions:
    """The latest `MAX_RECENT` decisions."""

    def __init__(self) -> None:
        """Begin with none."""
        self._latest: deque[Decided] = deque(maxlen=MAX_RECENT)

    def add(self, event: Event) -> None:
        """Take what an audit event says, if it tells of a decision."""
        if "decision" not in event:
            return
        name = str(event.get("tool") or event.get("method") or "message")
        server, verdict = event.get("server"), observed_verdict(event)
        would_be = f"would be {verdict}: " if verdict else ""
        self._latest.appendleft(
            Decided(
                timestamp=str(event.get("timestamp")),
                decision=str(event["decision"]),
                subject=visible(f"{server}/{name}" if server else name),
                client=visible(str(event.get("client") or "")),
                rule=visible(str(event.get("rule") or "")),
                reason_code=code_of(event),
                reason=would_be + visible(str(event.get("reason") or "")),
            )
        )

    def latest(self) -> Sequence[Decided]:
        """Give them, the latest first."""
        return tuple(self._latest)
