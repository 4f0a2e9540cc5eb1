"""Taint: what a call and a result cost while very much is remembered, and how much memory that takes."""

from __future__ import annotations

import random
import time
import tracemalloc
from base64 import b64encode
from typing import TYPE_CHECKING

from figures import Figure

from agentfence.core.policy.model import TaintSettings
from agentfence.core.taint import TaintRules
from agentfence.core.taint_memory import AT_ONCE, TaintMemory

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SUMMARY = "a call against 100,000 remembered fragments, and the memory of a session"

_FRAGMENTS = 100_000
_CALLS = 400
_RUNS = 5
_MOST_MILLISECONDS = 1
_MOST_MIB = 20
_MOST_HOLD = 250
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def run(scale: float) -> list[Figure]:
    """Measure."""
    random.seed(1)
    rules, count = TaintRules(TaintSettings(enabled=True)), max(20, int(_CALLS * scale))
    few, many = TaintMemory(), TaintMemory()
    _remember(rules, few, 1_000)
    began = time.process_time()
    _remember(rules, many, int(_FRAGMENTS * scale))
    each = (time.process_time() - began) / int(_FRAGMENTS * scale)
    short, usual = _calls(count, 1, 20), _calls(count, 4, 70)
    usual_name = f"a call with 280 characters in 4 arguments, {int(_FRAGMENTS * scale):,} fragments"
    return [
        Figure("a call with 280 characters in 4 arguments, 1,000 fragments", _cost(rules, few, usual), "ms"),
        Figure(usual_name, _cost(rules, many, usual), "ms", most=_MOST_MILLISECONDS),
        Figure("a call with one argument of 20 characters", _cost(rules, many, short), "ms"),
        Figure("remembering a result of 25 characters", each * 1e3, "ms"),
        Figure("remembering a result of 100 KB", _remembering(rules, int(100_000 * scale)), "ms"),
        Figure(
            "longest hold while 1 MB of base64 is remembered",
            _longest_hold(rules, int(750_000 * scale)),
            "ms",
            most=_MOST_HOLD,
        ),
        Figure(
            "memory of a session that uses all of it",
            _full_mib(int(1_300_000 * scale)),
            "MiB",
            most=_MOST_MIB,
        ),
    ]


def _text(length: int) -> str:
    """Words by chance."""
    words: list[str] = []
    while sum(map(len, words)) + len(words) < length:
        words.append("".join(random.choices(_LETTERS, k=random.randint(3, 9))))
    return " ".join(words)


def _result(length: int) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": _text(length)}]}


def _calls(count: int, arguments: int, length: int) -> list[dict[str, Any]]:
    return [{f"field{at}": _text(length) for at in range(arguments)} for _ in range(count)]


def _remember(rules: TaintRules, memory: TaintMemory, count: int) -> None:
    for number in range(count):
        rules.remember(memory, f"web/tool{number % 7}", _result(25))


def _best(work: Callable[[], object]) -> float:
    return min(_took(work) for _ in range(_RUNS)) * 1e3


def _took(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _cost(rules: TaintRules, memory: TaintMemory, calls: list[dict[str, Any]]) -> float:
    return _best(lambda: [rules.find(memory, arguments) for arguments in calls]) / len(calls)


def _remembering(rules: TaintRules, length: int) -> float:
    result = _result(length)

    def remember() -> None:
        memory = TaintMemory()
        rules.remember(memory, "web/fetch", result)
        memory.catch_up()

    return _best(remember)


def _longest_hold(rules: TaintRules, length: int) -> float:
    """The longest of the turns in which a large result is remembered."""
    memory, text = TaintMemory(), b64encode(_text(length).encode()).decode()
    turns = [_took(lambda: rules.remember(memory, "web/fetch", {"text": text}))]
    while memory.is_behind:
        turns.append(_took(lambda: memory.catch_up(AT_ONCE)))
    return max(turns) * 1e3


def _full_mib(count: int) -> float:
    memory = TaintMemory()
    tracemalloc.start()
    for start in range(0, count, 1_000):
        shingles = [hash((start, number)) for number in range(1_000)]
        memory.remember(f"tool {start}", shingles)
        memory.own(shingles)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / (1 << 20)
