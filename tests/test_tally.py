"""What a run counts, in bounded memory, and how it is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.reporting import MAX_LINE, LogFormat, Reporter
from agentfence.tally import MOST_COUNTERS, OTHERS, Tally


def decided(tool: str, decision: str = "allow", **more: Any) -> dict[str, Any]:
    return {"kind": "judged", "tool": tool, "decision": decision, "reason_code": "rule_match", **more}


def test_names_of_an_agent_never_make_more_counters_than_there_may_be() -> None:
    tally = Tally()
    for number in range(3 * MOST_COUNTERS):
        tally.count(decided(f"tool-{number}"))
    tally.count(decided("late", "deny"))

    assert len(tally._decisions) <= MOST_COUNTERS + 2
    assert tally._decisions.total() == 3 * MOST_COUNTERS + 1
    assert tally.as_json()["totals"] == {"allow": 3 * MOST_COUNTERS, "deny": 1}
    assert OTHERS in tally.as_lines()[1]


def test_long_names_leave_the_json_line_whole() -> None:
    tally, written = Tally(), list[str]()
    for number in range(40):
        tally.count(decided(f"{number}" + "\N{SNOWMAN}" * 256, server="s" * 64))
    Reporter(written.append, log_format=LogFormat.JSON).summary(tally, is_asked_for=True)

    assert len(written[0]) < MAX_LINE
    assert json.loads(written[0])["decisions_not_shown"] == 20


@pytest.mark.parametrize(
    ("event", "subject", "code"),
    [
        (decided("read", server="files"), "files/read", "rule_match"),
        ({"kind": "judged", "method": "ping", "decision": "allow", "reason_code": "h"}, "ping", "h"),
        ({"kind": "refused", "decision": "deny", "reason_code": "oversize"}, "message", "oversize"),
        ({"kind": "tunnel", "decision": "allow", "host": "a"}, "message", "tunnel"),
    ],
)
def test_decisions_are_counted_by_what_and_why(event: dict[str, Any], subject: str, code: str) -> None:
    tally = Tally()
    tally.count(event)
    told: Any = tally.as_json()["decisions"]

    assert (told[0]["subject"], told[0]["reason_code"]) == (subject, code)


def test_answers_that_never_came_are_errors() -> None:
    tally = Tally()
    tally.count({"kind": "answered", "status": "result"})
    tally.count({"kind": "answered", "status": "unanswered"})

    assert tally.as_json()["errors"] == {"upstream_unreachable": 1}


def test_notes_are_counted_by_what_they_are() -> None:
    tally = Tally()
    tally.count({"kind": "noted", "reason_code": "taint_forgotten", "reason": "more came back"})

    assert tally.as_json()["notes"] == {"taint_forgotten": 1}
    assert "  notes: 1 taint_forgotten" in tally.as_lines()


@given(st.lists(st.integers(0, 1 << 60), min_size=1))
def test_work_is_below_what_is_said(times: list[int]) -> None:
    tally = Tally()
    for nanoseconds in times:
        tally.worked(nanoseconds)
    told: Any = tally.as_json()["own_work"]
    median = sorted(times)[(len(times) - 1) // 2]

    assert told["messages"] == len(times)
    assert told["longest_ms"] == round(max(times) / 1e6, 3)
    if median < 1 << 39:
        assert median / 1e6 <= told["median_below_ms"] + 0.001
    assert told["median_below_ms"] <= told["p99_below_ms"] <= told["longest_ms"]


def test_what_is_only_observed_is_counted_by_what_it_would_be() -> None:
    tally = Tally()
    for verdict in ("allow", "deny", "deny", "ask"):
        tally.count(decided("read", verdict=verdict))
    tally.count(decided("write", verdict="ask", approval={"outcome": "approved"}))

    lines = tally.as_lines()
    told: Any = tally.as_json()

    assert lines[0].endswith("s: 5 allow, of which 2 would be deny, 1 would be ask")
    assert "        2  allow  read  rule_match, would be deny" in lines
    assert "        1  allow  write  rule_match" in lines
    assert told["totals"] == {"allow": 5}
    assert {(one["subject"], one.get("would_be")): one["count"] for one in told["decisions"]} == {
        ("read", None): 1,
        ("read", "deny"): 2,
        ("read", "ask"): 1,
        ("write", None): 1,
    }
