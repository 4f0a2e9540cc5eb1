"""Which events of a log are asked for."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping


@frozen
class EventFilter:
    """What an event must be; None: anything."""

    since: float | None = None
    until: float | None = None
    """Seconds since 1970; an event at `until` does not pass."""
    tool: str | None = None
    """A glob."""
    session: str | None = None
    """How its `session_id` begins."""
    values: tuple[tuple[str, str], ...] = ()
    """Members, and the values that they must have."""

    def passes(self, event: Mapping[str, Any]) -> bool:
        """Whether an event is asked for."""
        for member, value in self.values:
            if event.get(member) != value:
                return False
        if self.tool is not None and not fnmatchcase(str(event.get("tool", "")), self.tool):
            return False
        if self.session is not None and not str(event.get("session_id", "")).startswith(self.session):
            return False
        return (self.since is None and self.until is None) or self._is_in_time(event.get("timestamp"))

    def _is_in_time(self, timestamp: object) -> bool:
        try:
            time = datetime.fromisoformat(str(timestamp)).timestamp()
        except ValueError:
            return False
        return (self.since is None or time >= self.since) and (self.until is None or time < self.until)
