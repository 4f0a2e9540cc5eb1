"""Messages of the largest size: against `json.loads`, and how long one of any shape holds the loop."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from figures import Figure, in_turn
from messages import Bench, call, sized_call, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

SUMMARY = "4 MiB as one string and as a batch of 100, against json.loads; the longest hold of any shape"

_LIMIT = 4_194_304
_ROUNDS = 5
_MOST_TIMES = {False: 4.0, True: 7.0}
_MOST_MILLISECONDS = 250.0


def run(scale: float) -> list[Figure]:
    """Measure."""
    size = int(_LIMIT * scale)
    single = sized_call(1, size - 64)
    batch = json.dumps([json.loads(sized_call(id_, size // 100 - 64)) for id_ in range(100)]).encode()
    figures: list[Figure] = []
    for name, body in (("one string", single), ("a batch of 100", batch)):
        figures += _ratios(f"{size / 2**20:.3g} MiB, {name}", body)
    holds = {name: _hold(body) for name, body in _shapes(size).items()}
    longest = max(holds, key=holds.__getitem__)
    figures.append(Figure(f"longest hold ({longest})", holds[longest], "ms", most=_MOST_MILLISECONDS))
    answers = {name: _hold_of_list(tools) for name, tools in _lists_of_tools(size - 64).items()}
    longest = max(answers, key=answers.__getitem__)
    figures.append(Figure(f"longest hold ({longest})", answers[longest], "ms", most=_MOST_MILLISECONDS))
    return figures


def _ratios(name: str, body: bytes) -> list[Figure]:
    benches = {logs: Bench(logs_arguments=logs) for logs in _MOST_TIMES}
    works = [_through(bench, body) for bench in benches.values()]
    loads, *times = in_turn(_ROUNDS, lambda: json.loads(body), *works, clock=time.process_time)
    figures = [Figure(f"json.loads of {name}", 1e3 * loads, "ms")]
    for (logs, most), taken in zip(_MOST_TIMES.items(), times, strict=True):
        how = "redacted and logged" if logs else "not logged"
        figures.append(Figure(f"{name}, {how}, against json.loads", taken / loads, "times", most=most))
    return figures


def _through(bench: Bench, body: bytes) -> Callable[[], None]:
    def work() -> None:
        if not bench.judge(body):
            raise SystemExit("a message was refused that must pass")
        bench.forget(range(100))

    return work


def _hold(body: bytes) -> float:
    """The CPU milliseconds of one message, the quicker of two, whatever is said of it."""
    bench = Bench(logs_arguments=True)
    times = []
    for _ in range(2):
        began = time.process_time()
        bench.judge(body)
        times.append(time.process_time() - began)
        bench.forget(range(100))
    return 1e3 * min(times)


def _hold_of_list(tools: list[dict[str, object]]) -> float:
    """The CPU milliseconds of an answer with these tools, in a session of its own."""
    bench = Bench(logs_arguments=True)
    bench.judge(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).encode()
    began = time.process_time()
    bench.answer(body)
    return 1e3 * (time.process_time() - began)


def _lists_of_tools(size: int) -> dict[str, list[dict[str, object]]]:
    """Lists as large as one page may be, of plain tools and of such that each make a note."""
    words = {"plain": text_of(size // 2_000 - 64), "hiding": "a\u200b" * (size // 16_000 - 8)}
    return {
        f"2,000 {kind} tools": [{"name": f"tool{number}", "description": text} for number in range(2_000)]
        for kind, text in words.items()
    } | {"one tool": [{"name": "tool", "description": text_of(size - 128)}]}


def _shapes(size: int) -> dict[str, bytes]:
    """Arguments that each make another part of the work large, honest ones and others."""
    key = "sk-" + "a1B2" * 12
    texts: dict[str, object] = {
        "prose": text_of(size),
        "one letter": "a" * size,
        "escapes": "\\" * (size // 2),
        "quotes": '"' * (size // 2),
        "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0" * (size // 36),
        "secrets": f"token={key} " * (size // 60),
        "percent": "%41" * (size // 3),
        "assignments": "password=hunter22 " * (size // 18),
        "numbers": [*range(100_000_000_000, 100_000_000_000 + min(90_000, size // 14))],
        "short texts": ["abc"] * min(90_000, size // 7),
        "keys": {f"key_{number}": "value" for number in range(min(90_000, size // 26))},
        "secret keys": {f"password_{number}": "v4lue" for number in range(min(90_000, size // 32))},
        "JSON in a text": json.dumps([{"a": "b", "c": 1}] * (size // 32)),
        "not ASCII": "äöü€" * (size // 24),
        "blocks": "password={a:1 " * (size // 14),
        "escaped": '\\"password\\": \\"hunter22\\", ' * (size // 36),
        "hidden letters": "\\u0070assword=x " * (size // 18),
        "base64 of secrets": "cGFzc3dvcmQ9aHVudGVyMjI= " * (size // 26),
        "headers": "authorization: Bearer abcdefg " * (size // 30),
        "texts of secrets": [f"password=hunter{number}" for number in range(min(90_000, size // 24))],
        "texts like tokens": [f"ghp_{number}" for number in range(min(90_000, size // 12))],
        "texts of JSON": [f'{{"a":"key=abcdefghijkl{number}"}}' for number in range(min(90_000, size // 36))],
        "rows": [{"a": number} for number in range(min(45_000, size // 14))],
        "rows of secrets": [{"password": f"x{number}"} for number in range(min(45_000, size // 24))],
        "secrets told again": [
            *({"password": f"hunter{number:04}x"} for number in range(min(100, size // 99))),
            " ".join(f"hunter{number % 64:04}x" for number in range(size // 14)),
        ],
    }
    lists = {
        "paths": ("read_many", "/work/src/a.py"),
        "choices of paths": ("read_many", "/work/{a,b}{c,d}{e,f}"),
        "lists of paths": ("read_many", '["/work/a", "/work/b"]'),
        "URLs": ("fetch_many", "https://api.example.com/%61"),
        "foreign URLs": ("fetch_many", "https://ä.example.com/"),
        "commands": ("run_many", "ls a; ls b; ls c"),
    }
    shapes = {name: _fitting(text, size) for name, text in texts.items()}
    for name, (tool, text) in lists.items():
        shapes[name] = _fitting([text] * min(90_000, size // (2 * len(text))), size, tool)
    return shapes


def _fitting(text: object, size: int, tool: str = "write_file") -> bytes:
    body = json.dumps(
        call(1, "") | {"params": {"name": tool, "arguments": {"path": "/work/a", "content": text}}}
    )
    if len(body) > size and isinstance(text, str):
        return _fitting(text[: len(text) * (size - 256) // len(body)], size)
    return body.encode()
