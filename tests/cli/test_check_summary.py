"""Counts: what they hold does not grow with the names that come."""

from __future__ import annotations

from agentfence.cli.check_summary import Gate, Summary
from agentfence.core.offline import Outcome
from agentfence.core.policy.model import Verdict

NO_GATE = Gate((), is_dry_run=False)


def test_names_beyond_the_bound_are_counted_together():
    summary = Summary()
    for number in range(12_000):
        summary.add(Outcome("1", f"t{number}", Verdict.DENY, "c", f"r{number}"))
    counts = summary.as_json(NO_GATE, "sha256:x")

    assert counts["total"] == 12_000
    assert counts["top_denied_tools"][0] == {"tool": "(others)", "count": 2_000}


def test_top_is_by_count_and_then_by_name():
    summary = Summary()
    for tool in ("b", "a", "c", "c"):
        summary.add(Outcome("1", tool, Verdict.DENY, "c", "r"))

    assert [entry["tool"] for entry in summary.as_json(NO_GATE, "")["top_denied_tools"]] == ["c", "a", "b"]


def test_ten_of_each_are_shown():
    summary = Summary()
    for number in range(20):
        summary.add(Outcome("1", f"t{number:02}", Verdict.DENY, "c", "r"))

    assert len(summary.as_json(NO_GATE, "")["top_denied_tools"]) == 10
