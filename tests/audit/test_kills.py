"""A writer that is killed at any byte loses at most the event being written, whose call did not go on."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

from audit_logs import event, events_in, numbers_in, open_log, status_of

from agentfence.core.audit.reports import Status

if TYPE_CHECKING:
    from pathlib import Path

KILLS = int(os.environ.get("KILLS", "200"))
"""`scripts/fuzz --kills` says more."""


def test_kills_at_any_byte_lose_nothing_that_went_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    chance = random.Random(20270131)
    sent_on, first = [], 0
    for _ in range(KILLS):
        went_on = killed_writer(path, first, chance.randrange(4), chance.random())
        sent_on += went_on
        first += 4
        if chance.random() < 0.1:
            open_log(path, "between").append(event(-1))
            assert status_of(path) is Status.OK
    open_log(path, "last").append(event(first))

    recorded = set(numbers_in(path))
    assert status_of(path) is Status.OK
    assert set(sent_on) <= recorded
    assert len(recorded - set(sent_on)) <= KILLS + 1  # the one that was whole but not yet sent on
    assert sum(e["kind"] == "log_repaired" for e in events_in(path)) > KILLS / 2


def killed_writer(path: Path, first: int, lives: int, place: float) -> list[int]:
    """Have a process append four events, killed in event `lives` at `place` of its line; give what went on."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        write_until_killed(path, first, lives, place, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as went_on:
        numbers = [int(line) for line in went_on]
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    return numbers


def write_until_killed(path: Path, first: int, lives: int, place: float, went_on: int) -> None:
    write = os.write
    left = [lives]

    def write_or_die(descriptor: int, line: bytes) -> int:
        if b'"kind":"judged"' in line:
            left[0] -= 1
        if left[0] < 0:
            write(descriptor, line[: round(place * len(line))])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(descriptor, line)

    os.write = write_or_die  # type: ignore[assignment]
    log = open_log(path, f"run-{first}")
    for number in range(first, first + 4):
        log.append(event(number, number % 40))
        write(went_on, b"%d\n" % number)
    os._exit(0)


def test_kills_from_outside_lose_nothing_that_went_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    chance = random.Random(7)
    for run in range(100):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            log, number = open_log(path, f"run-{run}"), run * 1_000_000
            while True:
                log.append(event(number, 20_000))
                os.write(writing, b"%d\n" % number)
                number += 1
        os.close(writing)
        with os.fdopen(reading, "rb") as went_on:
            went_on.readline()
            for _ in range(chance.randrange(2_000)):  # some moment later
                pass
            os.kill(child, signal.SIGKILL)
            last = [run * 1_000_000, *map(int, went_on)][-1]
        os.waitpid(child, 0)
        assert last in numbers_of_run(path, run)
    open_log(path, "last").append(event(-1))

    assert status_of(path) is Status.OK


def numbers_of_run(path: Path, run: int) -> set[int]:
    lines = path.read_bytes().split(b"\n")[:-1]
    runs = b'"session_id":"run-%d"' % run
    return {int(line.split(b'"n":')[1].split(b",")[0]) for line in lines if runs in line and b'"n":' in line}
