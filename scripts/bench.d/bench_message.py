"""A whole message: the bytes of a `tools/call` in, effects and the sealed event out, against `json.loads`."""

from __future__ import annotations

import json
import time

from figures import Figure, in_turn
from messages import Bench, sized_call

SUMMARY = "a 1 KB tools/call through the gate, event and hash included, against json.loads"

_MESSAGES = 1_000
_ROUNDS = 15
_SIZE = 1_024
_MOST_TIMES = 8.0


def run(scale: float) -> list[Figure]:
    """Measure."""
    count = max(50, int(_MESSAGES * scale))
    bodies = [sized_call(id_, _SIZE) for id_ in range(count)]
    benches = [Bench(logs_arguments=logs) for logs in (False, True)]

    def through(bench: Bench) -> None:
        if not all(bench.judge(body) for body in bodies):
            raise SystemExit("a message was refused that must pass")
        bench.forget(range(count))

    loads, bare, logged = in_turn(
        _ROUNDS,
        lambda: [json.loads(body) for body in bodies],
        *(lambda bench=bench: through(bench) for bench in benches),
        clock=time.process_time,
    )
    return [
        Figure("json.loads of a 1 KB call", 1e6 * loads / count, "µs"),
        Figure("message, arguments not logged", 1e6 * bare / count, "µs"),
        Figure("message, arguments redacted and logged", 1e6 * logged / count, "µs"),
        Figure("message against json.loads, not logged", bare / loads, "times", most=_MOST_TIMES),
        Figure("message against json.loads, redacted and logged", logged / loads, "times", most=_MOST_TIMES),
    ]
