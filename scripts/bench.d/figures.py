"""What benchmarks are made of: figures with bounds, processes with their cost, policies of any size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import BuildContext
from agentfence.core.policy.imports import PolicyFile
from agentfence.core.policy.load import load_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import IO

    from agentfence.core.policy.model import Policy

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that was measured."""

    name: str
    value: float
    unit: str
    least: float | None = None
    """The bound, where there is one: not less than this."""
    most: float | None = None
    """The bound, where there is one: not more than this."""

    @property
    def holds(self) -> bool | None:
        """Whether the bound is held; None without one."""
        if self.least is None and self.most is None:
            return None
        return (self.least is None or self.value >= self.least) and (
            self.most is None or self.value <= self.most
        )

    @property
    def shown(self) -> str:
        """The number, with as many digits as mean something."""
        return f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.2f}"

    @property
    def bound(self) -> str | None:
        """The bound in words."""
        if self.least is not None:
            return f"at least {self.least:,.4g}" if self.least < 100 else f"at least {self.least:,.0f}"
        return None if self.most is None else f"at most {self.most:,.4g}"

    @property
    def mark(self) -> str:
        """Whether it holds, for the table."""
        return {None: "", True: "holds", False: "NOT HELD"}[self.holds]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took."""

    wall: float
    cpu: float
    peak_bytes: int
    """At the end of what it was fed; 0 when it was fed nothing."""


def run_on_one_core(command: Sequence[str], feed: Callable[[IO[bytes]], None] | None = None) -> Cost:
    """Run a command on one core, its output thrown away; `feed` writes what it reads on stdin."""
    core = min(os.sched_getaffinity(0))
    began = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.sched_setaffinity(process.pid, {core})
    peak = 0
    if feed and process.stdin:
        feed(process.stdin)
        peak = peak_bytes(process.pid)
        process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Cost(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, peak)


def peak_bytes(pid: int) -> int:
    """The most memory that a process ever held; what `wait4` says counts that of its parent too."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def best(runs: int, measure: Callable[[], Cost]) -> Cost:
    """The cheapest of several runs: what else the machine does can only add to it."""
    return min((measure() for _ in range(runs)), key=lambda cost: cost.cpu)


def in_turn(
    rounds: int, *works: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The median time of each work, all done once a round, so that what slows the machine slows all alike."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for work, taken in zip(works, times, strict=True):
            began = clock()
            work()
            taken.append(clock() - began)
    return [median(taken) for taken in times]


def load_text(text: str) -> Policy:
    """The policy of a text without imports."""
    return load_policy(
        PolicyFile("policy.yaml", text.encode(), "/policy.yaml", "/"), _no_import, BuildContext()
    ).policy


def _no_import(reference: str, _importer: PolicyFile) -> PolicyFile:
    raise ValueError(reference)


def agentfence(*arguments: str) -> list[str]:
    """The command line of a verb."""
    return [sys.executable, "-m", "agentfence", *arguments]


def sized_policy(size: int, *, has_constraints: bool) -> str:
    """A policy with as many groups, wildcards and exact names each."""
    paths = {"fields": ["path"], "roots": ["/work"], "deny": ["**/.env", "secrets/**"]}
    allow: object = {"decision": "allow", "constraints": {"paths": paths}} if has_constraints else "allow"
    groups = {f"group{i:02}": [f"team{i:02}_read_*", f"team{i:02}_list_*"] for i in range(size)}
    tools = {
        **dict.fromkeys(groups, allow),
        **{f"zone{i:02}_*": "ask" for i in range(size)},
        **{f"exact{i:02}": allow for i in range(size)},
    }
    return json.dumps({"version": "1", "groups": groups, "tools": tools})


def sized_tools(size: int) -> Iterator[str]:
    """Names of some six tools for each rule: a quarter each by group, by wildcard, by exact name, by none."""
    number = 0
    while True:
        at, which = number % size, number // size % 3
        yield f"team{at:02}_read_{which}"
        yield f"zone{at:02}_{which}"
        yield f"exact{at:02}"
        yield f"unknown{at:02}_{which}"
        number += 1
