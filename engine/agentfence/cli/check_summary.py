"""What a run of `agentfence check` counts, for `--summary` and the line at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agentfence.core.policy.model import Verdict
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json
    from agentfence.core.offline import Outcome

_MOST_NAMES = 10_000
_SHOWN = 10
_OTHERS = "(others)"


@frozen
class Gate:
    """When a run counts as failed."""

    fail_on: tuple[Verdict, ...]
    is_dry_run: bool


class Summary:
    """Counts outcomes; what it keeps does not grow with their number."""

    def __init__(self) -> None:
        self.unreadable = 0
        self._alike: dict[tuple[str, ...], int] = {}
        """Outcomes that differ by their id alone, not yet counted below."""
        self._by_decision: Counter[str] = Counter()
        self._by_reason_code: Counter[str] = Counter()
        self._denied_tools: Counter[str] = Counter()
        self._denied_reasons: Counter[str] = Counter()

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        alike, key = self._alike, outcome[1:]
        if key in alike:
            alike[key] += 1
            return
        if len(alike) >= _MOST_NAMES:
            self._count_alike()
        alike[key] = 1

    def add_unreadable(self, outcome: Outcome) -> None:
        """Count one record that could not be read; the tables of tools and reasons leave it out."""
        self.unreadable += 1
        self._by_decision[outcome.decision] += 1
        self._by_reason_code[outcome.reason_code] += 1

    def _count_alike(self) -> None:
        for (tool, decision, reason_code, reason), number in self._alike.items():
            self._by_decision[decision] += number
            self._by_reason_code[reason_code] += number
            if decision == Verdict.DENY:
                _count(self._denied_tools, tool, number)
                _count(self._denied_reasons, reason, number)
        self._alike.clear()

    @property
    def by_decision(self) -> dict[str, int]:
        """How many were decided how, all three decisions named."""
        self._count_alike()
        return {verdict.value: self._by_decision[verdict] for verdict in Verdict}

    @property
    def total(self) -> int:
        """How many records there were, unreadable ones too."""
        return sum(self.by_decision.values())

    def matched(self, gate: Gate) -> int:
        """Give how many outcomes the gate is about."""
        by_decision = self.by_decision
        return sum(by_decision[verdict] for verdict in gate.fail_on)

    def line(self) -> str:
        """Give all in one line for people."""
        decisions = " ".join(f"{verdict}={number}" for verdict, number in self.by_decision.items())
        return f"{self.total} records, {self.unreadable} of them unreadable: {decisions}"

    @property
    def is_all_unreadable(self) -> bool:
        """Whether there were lines, and none of them was a record."""
        return 0 < self.total == self.unreadable

    def as_json(self, gate: Gate, policy_digest: str) -> dict[str, Json]:
        """Give all for machines."""
        matched = self.matched(gate)
        return {
            "total": self.total,
            "parse_errors": self.unreadable,
            "by_decision": {**self.by_decision},
            "by_reason_code": dict(sorted(self._by_reason_code.items())),
            "top_denied_tools": [{"tool": tool, "count": n} for tool, n in _top(self._denied_tools)],
            "top_denied_reasons": [{"reason": text, "count": n} for text, n in _top(self._denied_reasons)],
            "fail_on": [verdict.value for verdict in gate.fail_on],
            "matched": matched,
            "failed": self.is_all_unreadable or (matched > 0 and not gate.is_dry_run),
            "dry_run": gate.is_dry_run,
            "policy_digest": policy_digest,
        }


def _count(counter: Counter[str], name: str, number: int) -> None:
    counter[name if name in counter or len(counter) < _MOST_NAMES else _OTHERS] += number


def _top(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda counted: (-counted[1], counted[0]))[:_SHOWN]
