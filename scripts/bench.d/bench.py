"""Runs the benchmarks of this folder, prints a table and writes JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from figures import Figure

FOLDER = Path(__file__).parent
PREFIX = "bench_"
QUICK = 0.05


def names() -> list[str]:
    """Every benchmark of this folder."""
    return sorted(path.stem.removeprefix(PREFIX) for path in FOLDER.glob(f"{PREFIX}*.py"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; the exit status is 1 when a bound is not held."""
    parser = argparse.ArgumentParser(prog="scripts/bench", allow_abbrev=False)
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args(arguments)
    unknown = set(given.names) - set(names())
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    if given.list:
        for name in names():
            print(f"{name:12} {importlib.import_module(PREFIX + name).SUMMARY}")
        return 0
    machine = describe_machine()
    print("  ".join(f"{key}: {value}" for key, value in machine.items()))
    figures: list[Figure] = []
    for name in given.names or names():
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        figures += importlib.import_module(PREFIX + name).run(QUICK if given.quick else 1.0)
    if given.quick:  # where starting up is most of it, no bound says anything
        figures = [replace(figure, least=None, most=None) for figure in figures]
    print(table(figures))
    if given.json:
        write_json(Path(given.json), machine, figures, is_quick=given.quick)
    return 1 if any(figure.holds is False for figure in figures) else 0


def describe_machine() -> dict[str, str]:
    """What the figures depend on; the loop tells how fast the machine is right now."""
    began = time.process_time()
    total = 0
    for number in range(5_000_000):
        total += number
    loop = time.process_time() - began
    load = "/".join(f"{one:.1f}" for one in os.getloadavg())
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(os.cpu_count()),
        "load": load,
        "loop of 5 million additions": f"{loop:.2f} s",
    }


def table(figures: Sequence[Figure]) -> str:
    """The figures for people."""
    head = ("figure", "value", "", "bound", "")
    rows = [head, *((f.name, f.shown, f.unit, f.bound or "", f.mark) for f in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column == 1 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_json(path: Path, machine: dict[str, str], figures: Sequence[Figure], *, is_quick: bool) -> None:
    """The figures for machines."""
    content = {
        "agentfence": __version__,
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "is_quick": is_quick,
        "machine": machine,
        "figures": [{**asdict(figure), "holds": figure.holds} for figure in figures],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
