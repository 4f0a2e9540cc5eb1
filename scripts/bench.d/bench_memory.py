"""Memory of the proxies: after many flows, and with many streams open."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from bench_http import burst
from bench_sse import open_stream
from figures import Figure
from messages import sized_call
from proxies import PROXY, SCRIPT, STREAMING, WEB, connect, post, running

if TYPE_CHECKING:
    import socket

    from proxies import Target

SUMMARY = "memory of the proxies after 50,000 flows, and for each of 1,000 open event streams"

_FLOWS = 50_000
_STREAMS = 1_000
_CONNECTIONS = 16
_MOST_GROWTH = 16.0
_MOST_KILOBYTES = 12.0
_SETTLE = 2.0


def run(scale: float) -> list[Figure]:
    """Measure."""
    figures: list[Figure] = []
    for name in (SCRIPT, PROXY, WEB):
        with running((name,)) as targets:
            grown = _growth(targets[name], max(200, int(_FLOWS * scale)))
            figures.append(
                Figure(f"{name}: grown by the second half of the flows", grown, "MB", most=_MOST_GROWTH)
            )
    with running((STREAMING, SCRIPT, PROXY)) as targets:
        held = {name: _per_stream(target, max(20, int(_STREAMS * scale))) for name, target in targets.items()}
    figures += [Figure(f"{name}: an open stream", held[name], "KB") for name in held]
    figures += [
        Figure(
            f"{name}: an open stream, over {STREAMING}",
            held[name] - held[STREAMING],
            "KB",
            most=_MOST_KILOBYTES,
        )
        for name in (SCRIPT, PROXY)
    ]
    return figures


def _growth(target: Target, count: int) -> float:
    """MB that the second half of `count` flows adds; the first half warms up."""
    request = post(sized_call(1, 1_024))
    sizes = []
    for _ in range(2):
        burst([connect(target) for _ in range(_CONNECTIONS)], request, count // 2)
        sizes.append(target.resident_bytes)
    return (sizes[1] - sizes[0]) / 1e6


def _per_stream(target: Target, count: int) -> float:
    """KB that each of `count` streams holds while it is open; the first twentieth warms up."""
    streams = [_opened(target) for _ in range(count // 20)]
    time.sleep(_SETTLE)
    before = target.resident_bytes
    streams += [_opened(target) for _ in range(count)]
    time.sleep(_SETTLE)
    held = target.resident_bytes - before
    for stream in streams:
        stream.close()
    return held / count / 1e3


def _opened(target: Target) -> socket.socket:
    stream = open_stream(target, 0, 0.0)
    received = b""
    while b"\n\n" not in received.partition(b"data:")[2]:
        received += stream.recv(65_536)
    return stream
