"""Counts what a run does, for its operators: decisions, errors, notes, and the time of its own work.

Invariant: the number of counters is bounded, whatever names an agent chooses.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json
    from agentfence.core.effects import Event

MOST_COUNTERS: Final = 512
OTHERS: Final = "(others)"
"""Under which tools are counted that came when there were counters enough."""
_MOST_SHOWN: Final = 20
_LONGEST_SHOWN: Final = 60
_BUCKETS: Final = 40
"""Powers of two of nanoseconds: the last begins at nine minutes."""


class Decided(NamedTuple):
    """What is counted together."""

    subject: str
    """The tool, or the method of what is no call; qualified by the server's name."""
    decision: str
    reason_code: str
    would_be: str = ""
    """The policy's word, where that is only observed."""

    @property
    def why(self) -> str:
        """The reason, as people are shown it."""
        return f"{self.reason_code}, would be {self.would_be}" if self.would_be else self.reason_code


def observed_verdict(event: Event) -> str:
    """Give the policy's word on a message that passes all the same, as it is only observed; else nothing."""
    verdict = event.get("verdict", "allow")
    if verdict == "allow" or event["decision"] != "allow" or "approval" in event:
        return ""
    return str(verdict)


class Tally:
    """The counters of one run."""

    __slots__ = ("_buckets", "_decisions", "_errors", "_longest", "_notes", "_started")

    def __init__(self) -> None:
        """Begin now."""
        self._started = time.monotonic()
        self._decisions: Counter[Decided] = Counter()
        self._errors: Counter[str] = Counter()
        self._notes: Counter[str] = Counter()
        self._buckets = [0] * _BUCKETS
        self._longest = 0

    def count(self, event: Event) -> None:
        """Count what an audit event says; `error` is for what has none."""
        if "decision" in event:
            self._count_decision(event)
        elif event.get("status") == "unanswered":
            self.error("upstream_unreachable")
        elif event.get("kind") == "noted":
            self._notes[str(event["reason_code"])] += 1

    def error(self, kind: str) -> None:
        """Count something that went wrong; kinds are our own words."""
        self._errors[kind] += 1

    def worked(self, nanoseconds: int) -> None:
        """Count the time of our own work on one message: judging it, and writing its events."""
        self._buckets[min(nanoseconds.bit_length(), _BUCKETS - 1)] += 1
        self._longest = max(self._longest, nanoseconds)

    def _count_decision(self, event: Event) -> None:
        name = str(event.get("tool") or event.get("method") or "message")
        subject = f"{event['server']}/{name}" if event.get("server") else name
        code = str(event.get("reason_code", event["kind"]))
        key = Decided(subject, str(event["decision"]), code, observed_verdict(event))
        if key not in self._decisions and len(self._decisions) >= MOST_COUNTERS:
            key = key._replace(subject=OTHERS)
        self._decisions[key] += 1

    def decisions(self) -> list[tuple[Decided, int]]:
        """Give how often what was decided for which reason, the most frequent first."""
        return self._decisions.most_common()

    def as_json(self) -> dict[str, Json]:
        """Give all of it, the most frequent decisions alone."""
        shown = self._decisions.most_common(_MOST_SHOWN)
        return {
            "seconds": round(time.monotonic() - self._started, 1),
            "totals": dict(self.totals()),
            "decisions": [
                {
                    "subject": _short(key.subject),
                    "decision": key.decision,
                    "reason_code": key.reason_code,
                    **({"would_be": key.would_be} if key.would_be else {}),
                    "count": n,
                }
                for key, n in shown
            ],
            "decisions_not_shown": self._decisions.total() - sum(n for _, n in shown),
            "errors": dict(self._errors),
            "notes": dict(self._notes),
            "own_work": self._own_work(),
        }

    def as_lines(self) -> list[str]:
        """Give the same for people."""
        told = self.as_json()
        totals = ", ".join(f"{n} {decision}" for decision, n in self.totals().items())
        would_be = ", ".join(f"{n} would be {verdict}" for verdict, n in self._observed().items())
        totals += f", of which {would_be}" if would_be else ""
        lines = [f"summary of {told['seconds']} s: {totals or 'nothing was judged'}"]
        lines += [
            f"  {n:>7}  {key.decision:<5}  {_short(key.subject)}  {key.why}"
            for key, n in self._decisions.most_common(_MOST_SHOWN)
        ]
        if told["decisions_not_shown"]:
            lines.append(f"  {told['decisions_not_shown']:>7}  others")
        for what, counted in ("errors", self._errors), ("notes", self._notes):
            if counted:
                lines.append(f"  {what}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counted.items())))
        if any(self._buckets):
            work = self._own_work()
            lines.append(
                f"  own work a message: half below {work['median_below_ms']} ms, "
                f"99 % below {work['p99_below_ms']} ms, longest {work['longest_ms']} ms"
            )
        return lines

    def totals(self) -> Counter[str]:
        """Give how many decisions there were of each sort."""
        totals: Counter[str] = Counter()
        for key, number in self._decisions.items():
            totals[key.decision] += number
        return totals

    def _observed(self) -> Counter[str]:
        observed: Counter[str] = Counter()
        for key, number in self._decisions.items():
            if key.would_be:
                observed[key.would_be] += number
        return observed

    def _own_work(self) -> dict[str, Json]:
        return {
            "messages": sum(self._buckets),
            "median_below_ms": self._below(0.5),
            "p99_below_ms": self._below(0.99),
            "longest_ms": _milliseconds(self._longest),
        }

    def _below(self, share: float) -> float:
        """Give the end of the bucket below which this share of the messages was done."""
        left = share * sum(self._buckets)
        for exponent, number in enumerate(self._buckets):
            left -= number
            if left <= 0:
                return _milliseconds(min(1 << exponent, self._longest))
        return _milliseconds(self._longest)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}…"


def _milliseconds(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)
