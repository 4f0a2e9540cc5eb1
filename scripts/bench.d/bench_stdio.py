"""A call through the relay against the same call to the server itself, in turn."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Self

from figures import Figure, cpu_seconds, peak_bytes
from line_server import NODE
from messages import policy_text, sized_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

SUMMARY = "a call through the relay against direct: added time, calls a second, large results, memory"

_CALLS = 1_000
_PIPELINED = 20_000
_LARGE = 200
_ROUNDS = 5
_IN_FLIGHT = 32
_MOST_ADDED = {100: 0.15, 10_240: 0.3}
_LEAST_PIPELINED = 5_000
_LEAST_OF_DIRECT = 0.85
_MOST_MEGABYTES = 34
_SERVER = [sys.executable, str(Path(__file__).with_name("line_server.py"))]


class Peer:
    """A child process that is sent lines and answers each with one."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._rest = b""

    def __enter__(self) -> Self:
        self._child = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._stdin, self._stdout = self._child.stdin.fileno(), self._child.stdout.fileno()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for pipe in (self._child.stdin, self._child.stdout):
            assert pipe is not None
            pipe.close()
        self._child.terminate()
        self._child.wait()

    @property
    def cpu_seconds(self) -> float:
        """What it has used so far."""
        return cpu_seconds(self._child.pid)

    @property
    def peak_megabytes(self) -> float:
        """The most memory that it held so far."""
        return peak_bytes(self._child.pid) / 1e6

    def call(self, line: bytes) -> None:
        """Send one line and wait for its answer."""
        os.write(self._stdin, line)
        self._take(1)

    def call_all(self, lines: Sequence[bytes], in_flight: int) -> None:
        """Send all lines, never more than `in_flight` of them unanswered."""
        unsent = iter(lines)
        waiting = self._send(unsent, in_flight)
        while waiting:
            answered = self._take(1)
            waiting += self._send(unsent, answered) - answered

    def _send(self, lines: Iterator[bytes], count: int) -> int:
        some = [line for _, line in zip(range(count), lines, strict=False)]
        rest = memoryview(b"".join(some))
        while rest:
            rest = rest[os.write(self._stdin, rest) :]
        return len(some)

    def _take(self, least: int) -> int:
        answered = 0
        while answered < least:
            received = os.read(self._stdout, 1_048_576)
            if not received:
                raise SystemExit(f"{' '.join(self._command[:4])} ended its output")
            answered += received.count(b"\n")
        return answered


def run(scale: float) -> list[Figure]:
    """Measure."""
    figures: list[Figure] = []
    node = shutil.which("node")
    servers = {"Python": _SERVER, **({"Node": [node, "-e", NODE]} if node else {})}
    for language, server in servers.items():
        for size in _MOST_ADDED:
            figures += _latency(language, server, size, int(_CALLS * scale))
    figures += _pipelined(int(_PIPELINED * scale))
    figures += _large(max(_IN_FLIGHT, int(_LARGE * scale)))
    return figures


def _both(stack: ExitStack, server: Sequence[str]) -> tuple[Peer, Peer]:
    """The server itself, and one behind the relay: constraints, redaction and the chain on, a log on disk."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    (folder / "policy.yaml").write_text(policy_text(logs_arguments=True))
    relay = [sys.executable, "-m", "agentfence.stdio", "--policy", str(folder / "policy.yaml")]
    relay += ["--audit-log", str(folder / "audit.jsonl"), "--log-level", "quiet", "--", *server]
    return stack.enter_context(Peer(server)), stack.enter_context(Peer(relay))


def _lines(count: int, size: int) -> list[bytes]:
    return [sized_call(id_, size) + b"\n" for id_ in range(count)]


def _latency(language: str, server: Sequence[str], size: int, count: int) -> list[Figure]:
    name = f"{language} server, {size:,} B"
    lines = _lines(count, size)
    with ExitStack() as stack:
        peers = _both(stack, [*server, "16"])
        direct, through = _one_at_a_time(peers, lines)
        many = _in_rounds(peers, lines)
    return [
        Figure(f"{name}: a call direct", 1e3 * direct, "ms"),
        Figure(f"{name}: added by the relay", 1e3 * (through - direct), "ms", most=_MOST_ADDED[size]),
        Figure(f"{name}: added with {_IN_FLIGHT} in flight", 1e3 * (many[1] - many[0]), "ms a call"),
    ]


def _one_at_a_time(peers: tuple[Peer, Peer], lines: Sequence[bytes]) -> list[float]:
    """The median of a call to each peer, call by call in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for number, line in enumerate(lines):
        for peer, taken in zip(peers, times, strict=True):
            began = time.perf_counter()
            peer.call(line)
            if number >= len(lines) // 10:  # the first ones warm up
                taken.append(time.perf_counter() - began)
    return [median(taken) for taken in times]


def _in_rounds(peers: tuple[Peer, Peer], lines: Sequence[bytes]) -> list[float]:
    """The median time a call with many in flight, in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for peer, taken in zip(peers, times, strict=True):
            began = time.perf_counter()
            peer.call_all(lines, _IN_FLIGHT)
            taken.append((time.perf_counter() - began) / len(lines))
    return [median(taken) for taken in times]


def _pipelined(count: int) -> list[Figure]:
    lines = _lines(count, 100)
    with ExitStack() as stack:
        peers = _both(stack, [*_SERVER, "16"])
        direct, through = _in_rounds(peers, lines)
        used, peak = peers[1].cpu_seconds, peers[1].peak_megabytes
    return [
        Figure(f"calls a second with {_IN_FLIGHT} in flight, direct", 1 / direct, ""),
        Figure(f"calls a second with {_IN_FLIGHT} in flight, relay", 1 / through, "", least=_LEAST_PIPELINED),
        Figure("relay, CPU a call in these, its start included", 1e6 * used / (_ROUNDS * count), "µs"),
        Figure("relay, peak memory after these", peak, "MB", most=_MOST_MEGABYTES),
    ]


def _large(count: int) -> list[Figure]:
    with ExitStack() as stack:
        peers = _both(stack, [*_SERVER, "1000000"])
        direct, through = _in_rounds(peers, _lines(count, 100))
    return [
        Figure("results of 1 MB, direct", 1 / direct, "MB a second"),
        Figure("results of 1 MB, relay against direct", direct / through, "times", least=_LEAST_OF_DIRECT),
    ]
