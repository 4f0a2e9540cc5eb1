"""`scripts/bench`: one command, a table, a file of figures."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts" / "bench", *arguments], capture_output=True, text=True, check=False
    )


def test_every_benchmark_is_listed_and_told_of():
    listed = [line.split()[0] for line in bench("--list").stdout.splitlines()]
    page = (ROOT / "docs" / "performance.md").read_text()

    assert listed == sorted(
        path.stem.removeprefix("bench_") for path in ROOT.glob("scripts/bench.d/bench_*.py")
    )
    assert {"check", "lookup"} <= set(listed)
    assert [name for name in listed if f"## {name}\n" not in page] == []


def test_figures_are_printed_and_written(tmp_path):
    ended = bench("lookup", "--quick", "--json", str(tmp_path / "figures.json"))
    written = json.loads((tmp_path / "figures.json").read_text())

    assert ended.returncode == 0, ended.stderr
    assert written["is_quick"] is True
    assert written["machine"]["python"]
    assert all(figure["name"] in ended.stdout and figure["value"] > 0 for figure in written["figures"])


@pytest.mark.parametrize(("arguments", "status"), [(["nope"], 2), (["--help"], 0)])
def test_what_it_knows_is_said(arguments, status):
    ended = bench(*arguments)

    assert ended.returncode == status
    assert "check" in ended.stderr or "usage: scripts/bench" in ended.stdout
