"""The latest decisions are kept, and no more of them."""

from __future__ import annotations

from agentfence.mitm.view.recent import MAX_RECENT, RecentDecisions

EVENT = {
    "timestamp": "2026-01-01T10:00:00.000000Z",
    "method": "tools/call",
    "server": "files",
    "client": "user:eva",
    "decision": "deny",
    "rule": "read",
    "reason_code": "rule_match",
    "reason": "it has a rule",
}


def test_latest_decision_comes_first() -> None:
    recent = RecentDecisions()
    for number in range(MAX_RECENT + 5):
        recent.add({**EVENT, "tool": f"t{number}\x1b"})
    recent.add({"kind": "answered"})

    assert len(recent.latest()) == MAX_RECENT
    assert recent.latest()[0].subject == f"files/t{MAX_RECENT + 4}\\u{{1b}}"


def test_word_of_a_person_counts_more_than_the_policys() -> None:
    recent = RecentDecisions()
    approval = {"outcome": "denied", "approver": "intercept", "by": None, "waited_ms": 1}
    recent.add({**EVENT, "approval": approval})

    assert (recent.latest()[0].subject, recent.latest()[0].reason_code) == (
        "files/tools/call",
        "approval_denied",
    )


def test_what_is_only_observed_is_shown() -> None:
    recent = RecentDecisions()
    recent.add({**EVENT, "verdict": "ask", "decision": "allow"})

    assert (recent.latest()[0].decision, recent.latest()[0].reason) == (
        "allow",
        "would be ask: it has a rule",
    )
