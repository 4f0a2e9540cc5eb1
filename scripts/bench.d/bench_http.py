"""A POST through mitmproxy with and without the fence, in reverse mode, in turn."""

from __future__ import annotations

import selectors
import time
from itertools import product
from statistics import median
from typing import TYPE_CHECKING

from figures import Figure
from messages import sized_call
from proxies import BARE, DIRECT, PROXY, SCRIPT, SMALL, connect, post, running, take_answer

if TYPE_CHECKING:
    import socket

    from proxies import Target

SUMMARY = "a POST through mitmdump and agentfence proxy-http, with and without the fence"

_IN_TURN = ((DIRECT, BARE, SCRIPT), (SMALL, PROXY))
"""What is called in turn: each proxy finds the processor's caches as the one that it is held against."""
_NAMES = tuple(name for names in _IN_TURN for name in names)
_CALLS = 1_000
_BURST = 2_000
_ROUNDS = 5
_CONNECTIONS = 16
_MOST_ADDED = {SCRIPT: (BARE, 0.45), PROXY: (SMALL, 0.3)}
_LEAST_OF_BARE = {SCRIPT: 0.8, PROXY: 1.5}


def run(scale: float) -> list[Figure]:
    """Measure."""
    figures: list[Figure] = []
    with running(_NAMES) as targets:
        for size in (100, 1_024, 10_240):
            figures += _latency(targets, size, int(_CALLS * scale))
        figures += _throughput(targets, int(_BURST * scale))
    return figures


def _latency(targets: dict[str, Target], size: int, count: int) -> list[Figure]:
    requests = [post(sized_call(id_, size)) for id_ in range(count)]
    connections = {name: connect(target) for name, target in targets.items()}
    times: dict[str, list[float]] = {name: [] for name in targets}
    before = {name: target.cpu_seconds for name, target in targets.items()}
    for names, (number, request) in product(_IN_TURN, enumerate(requests)):
        for name in names:
            began = time.perf_counter()
            connections[name].sendall(request)
            take_answer(connections[name])
            if number >= count // 10:  # the first ones warm up
                times[name].append(time.perf_counter() - began)
    used = {name: (target.cpu_seconds - before[name]) / count for name, target in targets.items()}
    for connection in connections.values():
        connection.close()
    took = {name: 1e3 * median(taken) for name, taken in times.items()}
    return [
        *(Figure(f"{size:,} B: {name}", took[name], "ms a call") for name in targets),
        *(
            Figure(f"{size:,} B: {name}, added to {base}", took[name] - took[base], "ms a call", most=most)
            for name, (base, most) in _MOST_ADDED.items()
        ),
        *(
            Figure(f"{size:,} B: {name}, CPU added to {base}", 1e3 * (used[name] - used[base]), "ms a call")
            for name, (base, _) in _MOST_ADDED.items()
        ),
    ]


def _throughput(targets: dict[str, Target], count: int) -> list[Figure]:
    request = post(sized_call(1, 1_024))
    rates: dict[str, list[float]] = {name: [] for name in targets}
    for _ in range(_ROUNDS):
        for name, target in targets.items():
            began = time.perf_counter()
            burst([connect(target) for _ in range(_CONNECTIONS)], request, count)
            rates[name].append(count / (time.perf_counter() - began))
    rate = {name: median(found) for name, found in rates.items()}
    return [
        *(Figure(f"{_CONNECTIONS} connections: {name}", rate[name], "calls a second") for name in targets),
        *(
            Figure(
                f"{_CONNECTIONS} connections: {name} against {BARE}",
                rate[name] / rate[BARE],
                "times",
                least=least,
            )
            for name, least in _LEAST_OF_BARE.items()
        ),
    ]


def burst(connections: list[socket.socket], request: bytes, count: int) -> None:
    """Make `count` calls, each connection one after the other."""
    unsent = count
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
            connection.sendall(request)
            unsent -= 1
        while selector.get_map():
            for key, _ in selector.select():
                connection = key.fileobj  # type: ignore[assignment]
                take_answer(connection)
                if unsent > 0:
                    connection.sendall(request)
                    unsent -= 1
                else:
                    selector.unregister(connection)
                    connection.close()
