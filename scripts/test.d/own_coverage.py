"""Holds that the readers and the gate are covered whole, each module by the tests of its own."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import coverage
import pytest

CORE = Path(__file__).resolve().parents[2] / "engine" / "agentfence" / "core"
READERS = ("json_text", "jsonrpc", "lines", "event_stream", "twins")
GATE = ("gate", "judging", "outcomes", "refusing", "pending", "batches")
MODULES = (*READERS, "envelope", "revisions", "message_revision", *GATE)


class _EachFileApart:
    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._measured.switch_context(Path(nodeid.partition("::")[0]).stem)


def _shortfall(measured: coverage.Coverage, module: str) -> str:
    """What the tests of a module leave out of it; nothing where they leave out nothing."""
    report = StringIO()
    covered = measured.report(
        [str(CORE / f"{module}.py")],
        contexts=["^$", f"^test_{module}$"],  # what runs while modules are imported belongs to no test
        show_missing=True,
        file=report,
    )
    return "" if covered == 100 else report.getvalue()


def main() -> int:
    measured = coverage.Coverage(
        data_file=None,
        branch=True,
        config_file=False,
        include=[str(CORE / f"{module}.py") for module in MODULES],
    )
    tests = [f"tests/core/test_{module}.py" for module in MODULES]
    with measured.collect():
        # Without property tests: chance covers nothing that a table should.
        status = pytest.main(["-q", "-n", "0", "-m", "not hypothesis", *tests], [_EachFileApart(measured)])
    shortfalls = list(filter(None, (_shortfall(measured, module) for module in MODULES)))
    print(*shortfalls, sep="\n")
    if not shortfalls:
        print(f"all {len(MODULES)} modules are covered whole, branches too, by the tests of their own")
    return 1 if status or shortfalls else 0


if __name__ == "__main__":
    sys.exit(main())
