"""`agentfence check` on recorded calls: how many a second on one core, and how much memory."""

from __future__ import annotations

import json
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from figures import Figure, agentfence, best, run_on_one_core, sized_policy, sized_tools

if TYPE_CHECKING:
    from typing import IO

SUMMARY = "agentfence check: recorded calls a second on one core, and memory for a gigabyte"

_CALLS = 100_000
_SIZE = 64
_LEAST_CALLS = 20_000
_GIGABYTE = 1_000_000_000
_MOST_MEGABYTES = 100
_RUNS = 3


def run(scale: float) -> list[Figure]:
    """Measure."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = []
        for label, has_constraints in (("", False), (", paths checked", True)):
            figures += _throughput(folder, int(_CALLS * scale), label, has_constraints=has_constraints)
        figures.append(_memory(folder, int(_GIGABYTE * scale)))
        return figures


def _throughput(folder: Path, count: int, label: str, *, has_constraints: bool) -> list[Figure]:
    policy, calls = folder / "policy.yaml", folder / "calls.jsonl"
    policy.write_text(sized_policy(_SIZE, has_constraints=has_constraints))
    with calls.open("w") as file:
        for number, tool in enumerate(islice(sized_tools(_SIZE), count)):
            arguments = {"path": f"/work/src/module_{number}.py", "limit": number}
            file.write(json.dumps({"id": f"call-{number}", "tool": tool, "arguments": arguments}) + "\n")
    command = agentfence("check", "--policy", str(policy), "--call", str(calls), "--output", "jsonl")
    cost = best(_RUNS, lambda: run_on_one_core(command))
    name = f"check, 64 groups and 64 wildcards{label}"
    return [
        Figure(name, count / cost.cpu, "calls a CPU second", least=_LEAST_CALLS),
        Figure(f"{name}: by the clock", count / cost.wall, "calls a second"),
    ]


def _memory(folder: Path, size: int) -> Figure:
    policy = folder / "policy.yaml"
    policy.write_text(sized_policy(_SIZE, has_constraints=False))
    tools = sized_tools(_SIZE)
    text = "lorem ipsum dolor sit amet " * 300

    def feed(stdin: IO[bytes]) -> None:
        written = number = 0
        while written < size:
            record = {"id": f"call-{number}", "tool": next(tools), "arguments": {"text": text, "n": number}}
            line = json.dumps(record).encode() + b"\n"
            stdin.write(line)
            written += len(line)
            number += 1

    command = agentfence("check", "--policy", str(policy), "--call", "-", "--output", "jsonl")
    cost = run_on_one_core(command, feed)
    label = f"check, peak memory for {size / 1e9:.3g} GB of records"
    return Figure(label, cost.peak_bytes / 1e6, "MB", most=_MOST_MEGABYTES)
