"""Event streams through `agentfence proxy-http` against direct: the first byte, and each event."""

from __future__ import annotations

import json
import time
from statistics import median
from typing import TYPE_CHECKING

from figures import Figure
from proxies import DIRECT, PROXY, connect, running

if TYPE_CHECKING:
    import socket

    from proxies import Target

SUMMARY = "event streams through agentfence proxy-http against direct: first byte, each event, memory"

_STREAMS = 40
_EVENTS = 1_000
_EVERY = 0.005
_MOST_ADDED = 5.0
_LARGE = 300_000_000
_LARGE_EVENT = 100_000
_MOST_GROWTH = 50.0


def run(scale: float) -> list[Figure]:
    """Measure."""
    with running((DIRECT, PROXY)) as targets:
        first: dict[str, list[float]] = {name: [] for name in targets}
        for _ in range(max(3, int(_STREAMS * scale))):
            for name, target in targets.items():
                first[name].append(_first_byte(target))
        delays = {name: _delays(target, int(_EVENTS * scale)) for name, target in targets.items()}
        growth = _growth(targets[PROXY], int(_LARGE * scale))
    figures: list[Figure] = []
    for what, found in (("first byte", first), ("an event", delays)):
        direct, through = (1e3 * median(found[name]) for name in (DIRECT, PROXY))
        figures.append(Figure(f"SSE, {what}, direct", direct, "ms"))
        figures.append(Figure(f"SSE, {what}, added by the fence", through - direct, "ms", most=_MOST_ADDED))
    name = f"SSE, growth while {_LARGE * scale / 1e6:,.0f} MB pass on one stream"
    return [*figures, Figure(name, growth / 1e6, "MB", most=_MOST_GROWTH)]


def open_stream(target: Target, count: int, every: float, size: int = 0) -> socket.socket:
    """Give a connection on which a stream was asked for."""
    connection = connect(target)
    connection.sendall(
        f"GET /mcp/events?count={count}&every={every}&size={size} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Accept: text/event-stream\r\n\r\n".encode()
    )
    return connection


def _first_byte(target: Target) -> float:
    """Seconds from the request to the first event's end, on a connection of its own."""
    began = time.monotonic()
    with open_stream(target, 1, 0.0) as connection:
        received = b""
        while b"\n\n" not in received.partition(b"data:")[2]:
            received += connection.recv(65_536)
        return time.monotonic() - began


def _delays(target: Target, count: int) -> list[float]:
    """Seconds from the server's clock reading in each event to its arrival here."""
    delays: list[float] = []
    with open_stream(target, count, _EVERY) as connection:
        received = b""
        while len(delays) < count:
            received += connection.recv(65_536)
            now = time.monotonic()
            while b"\n\n" in received:
                event, _, received = received.partition(b"\n\n")
                message = json.loads(event[event.rindex(b"data:") + 5 :])
                delays.append(now - message["params"]["data"])
    return delays


def _growth(target: Target, size: int) -> int:
    """The most that the process held more than before, while so many bytes of events passed."""
    before, most, received = target.resident_bytes, 0, 0
    with open_stream(target, size // _LARGE_EVENT, 0.0, _LARGE_EVENT) as connection:
        while received < size:
            piece = connection.recv(1_048_576)
            if not piece:
                raise SystemExit(f"the stream ended after {received:,} bytes")
            received += len(piece)
            most = max(most, target.resident_bytes)
    return most - before
