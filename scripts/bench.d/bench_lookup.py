"""Finding a tool's rule: what it costs with few and with many groups and wildcards."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from figures import Figure, load_text, sized_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.policy.model import Policy

SUMMARY = "finding a tool's rule with 64 groups and wildcards against 4"

_LOOKUPS = 200_000
_MOST_TIMES = 1.5
_RUNS = 5
_KNOWN_NAMES = 4_096


def run(scale: float) -> list[Figure]:
    """Measure."""
    few, many = (_lookup_nanoseconds(size, int(_LOOKUPS * scale)) for size in (4, 64))
    remembered = _remembered_nanoseconds(int(_LOOKUPS * scale))
    return [
        Figure("lookup of a new name, 4 groups and 4 wildcards", few, "ns"),
        Figure("lookup of a new name, 64 groups and 64 wildcards", many, "ns"),
        Figure("lookup, 64 against 4", many / few, "times", most=_MOST_TIMES),
        Figure("lookup of a name seen before, 64 groups and 64 wildcards", remembered, "ns"),
    ]


def _policy(size: int) -> Policy:
    return load_text(sized_policy(size, has_constraints=False))


def _best(count: int, work: Callable[[], object]) -> float:
    """The CPU time of one of `count` steps, from the quickest of several runs."""
    times = []
    for _ in range(_RUNS):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times) / count


def _lookup_nanoseconds(size: int, count: int) -> float:
    """Names that fit the first four groups and wildcards alone, so that both sizes answer the same."""
    names = [
        name.format(at=number % 4, number=number)
        for number in range(count // 4)
        for name in ("team{at:02}_read_{number}", "zone{at:02}_{number}", "exact{at:02}", "unknown_{number}")
    ]
    table = _policy(size).tools
    return _best(len(names), lambda: [table._search(None, name) for name in names]) * 1e9  # noqa: SLF001


def _remembered_nanoseconds(count: int) -> float:
    names = [f"team{number % 64:02}_read_{number % (_KNOWN_NAMES // 2)}" for number in range(count)]
    table = _policy(64).tools
    return _best(count, lambda: [table.find(None, name) for name in names]) * 1e9
