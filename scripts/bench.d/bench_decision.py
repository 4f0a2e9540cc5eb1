"""One decision with its event, as the Go AgentFence measured it: M groups, M wildcards, no I/O."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from figures import Figure, in_turn, load_text, sized_policy

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call
from agentfence.core.offline import OfflineJudge
from agentfence.core.recorded_calls import RecordedCall
from agentfence.core.redaction import build_redactor

if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY = "a decision with its redacted event, 16 and 64 groups and wildcards"

_CALLS = 10_000
_ROUNDS = 9
_MOST_MICROSECONDS = {16: 20.0, 64: 25.0}
_MOST_TIMES = 1.3


def run(scale: float) -> list[Figure]:
    """Measure."""
    count = int(_CALLS * scale)
    works = [_work(size, count) for size in _MOST_MICROSECONDS]
    times = [1e6 * taken / count for taken in in_turn(_ROUNDS, *works, clock=time.process_time)]
    return [
        *(
            Figure(f"decision, {size} groups and {size} wildcards", taken, "µs", most=most)
            for (size, most), taken in zip(_MOST_MICROSECONDS.items(), times, strict=True)
        ),
        Figure("decision, 64 against 16", times[1] / times[0], "times", most=_MOST_TIMES),
    ]


def _work(size: int, count: int) -> Callable[[], object]:
    """Lookup, constraint, redaction and event; a quarter each by group, wildcard, name and default."""
    policy = load_text(sized_policy(size, has_constraints=True))
    judge = OfflineJudge(policy, build_redactor(builtin=True, patterns=()), None)
    calls = [_call(size, number) for number in range(count)]
    circumstances = Circumstances(0.0)
    return lambda: [judge.judge(call, circumstances, 0.0) for call in calls]


def _call(size: int, number: int) -> RecordedCall:
    names = ("team{at:02}_read_x", "zone{at:02}_x", "exact{at:02}", "unknown")
    arguments = {"path": f"/work/src/module_{number}.py", "limit": number}
    return RecordedCall(f"call-{number}", Call(names[number % 4].format(at=number // 4 % size), arguments))
