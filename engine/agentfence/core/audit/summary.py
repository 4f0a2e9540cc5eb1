"""Counts over the events of a log, in memory that does not grow with it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_NAMES = 10_000
_OTHERS = "(others)"
"""What peers name is counted under its own name for so many names, and then together."""


class LogSummary:
    """Counts events as they come."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.events = 0
        self.malformed = 0
        self.first: str | None = None
        self.last: str | None = None
        self.decisions: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.schema_versions: Counter[str] = Counter()
        self.reason_codes: Counter[str] = Counter()
        self.servers: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        self.denied_tools: Counter[str] = Counter()
        self.allowed_tools: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()

    def add(self, event: Mapping[str, Any]) -> None:
        """Count one event."""
        self.events += 1
        time, decision = event.get("timestamp"), event.get("decision")
        if isinstance(time, str):
            self.first = min(self.first or time, time)
            self.last = max(self.last or time, time)
        _count(self.kinds, event.get("kind", "judged"))
        _count(self.schema_versions, event.get("schema_version"))
        if decision is None:
            return
        _count(self.decisions, decision)
        _count(self.reason_codes, event.get("reason_code"))
        _count(self.servers, event.get("server"))
        tool = event.get("tool")
        _count(self.tools, tool)
        if decision == "deny":
            _count(self.denied_tools, tool)
            _count(self.reasons, event.get("reason"))
        elif decision == "allow":
            _count(self.allowed_tools, tool)

    def as_json(self, top: int) -> dict[str, Any]:
        """Give the counts, of names that peers choose the `top` most frequent."""
        return {
            "events": self.events,
            "malformed": self.malformed,
            "first": self.first,
            "last": self.last,
            "by_decision": dict(self.decisions.most_common()),
            "by_kind": dict(self.kinds.most_common()),
            "by_schema_version": dict(self.schema_versions.most_common()),
            "by_reason_code": dict(self.reason_codes.most_common()),
            "by_server": dict(self.servers.most_common(top)),
            "top_tools": dict(self.tools.most_common(top)),
            "top_denied_tools": dict(self.denied_tools.most_common(top)),
            "top_allowed_tools": dict(self.allowed_tools.most_common(top)),
            "top_deny_reasons": dict(self.reasons.most_common(top)),
        }


def _count(counter: Counter[str], name: object) -> None:
    if not isinstance(name, str) or not name:
        return
    if name not in counter and len(counter) >= _MOST_NAMES:
        name = _OTHERS
    counter[name] += 1
