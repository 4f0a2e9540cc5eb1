"""Decisions stand beside their flows, in words that a filter finds and no peer can forge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from approval.questions import QUESTION
from mitmproxy import flowfilter
from mitmproxy.test import tflow

from agentfence.core.values import replace
from agentfence.mitm.view.notes import METADATA, FlowNotes

if TYPE_CHECKING:
    from mitmproxy import http

EVENT = {
    "kind": "judged",
    "method": "tools/call",
    "tool": "delete_file",
    "client": "user:eva",
    "direction": "to_server",
    "verdict": "deny",
    "decision": "deny",
    "rule": "delete_file",
    "reason_code": "path_denied",
    "reason": "the path is denied",
    "call_id": "call-1",
}
APPROVAL = {"outcome": "denied", "approver": "intercept", "by": None, "waited_ms": 2_400}


def noted(*events: dict[str, Any]) -> http.HTTPFlow:
    flow, notes = tflow.tflow(), FlowNotes()
    for event in events:
        notes.decided(flow, event)
    return flow


@pytest.mark.parametrize(
    ("changes", "mark", "comment"),
    [
        ({}, ":no_entry:", "⛔ deny delete_file: path_denied"),
        ({"verdict": "allow", "decision": "allow"}, ":white_check_mark:", "✅ allow delete_file"),
        (
            {"decision": "allow"},
            ":white_check_mark:",
            "✅ allow delete_file: would be deny, path_denied",
        ),
        ({"verdict": "ask", "approval": APPROVAL}, ":no_entry:", "⛔ deny delete_file: approval_denied"),
        ({"tool": None}, ":no_entry:", "⛔ deny tools/call: path_denied"),
        ({"tool": None, "method": None}, ":no_entry:", "⛔ deny message: path_denied"),
        (
            {"tool": None, "method": None, "direction": "to_client", "reason_code": "answer_refused"},
            ":no_entry:",
            "⛔ deny answer: answer_refused",
        ),
    ],
)
def test_decision_is_told_in_few_words(changes: dict[str, Any], mark: str, comment: str) -> None:
    flow = noted({**EVENT, **changes})

    assert (flow.marked, flow.comment) == (mark, comment)


def test_metadata_has_a_line_a_member() -> None:
    flow = noted({**EVENT, "verdict": "ask", "approval": {**APPROVAL, "by": "eva"}})

    assert flow.metadata[METADATA].splitlines() == [
        "decision: deny",
        "verdict: ask",
        "method: tools/call",
        "tool: delete_file",
        "client: user:eva",
        "rule: delete_file",
        "reason_code: path_denied",
        "reason: the path is denied",
        "approval: denied by eva after 2 s",
        "call_id: call-1",
    ]
    flow.copy()  # as saving does: it is plain data


@pytest.mark.parametrize(
    "expression",
    ['~meta "tool: delete_file"', "~meta path_denied", "~comment delete_file", "~marker no_entry"],
)
def test_filters_find_it(expression: str) -> None:
    matches = flowfilter.parse(expression)

    assert matches(noted(EVENT))
    assert not matches(
        noted({**EVENT, "tool": "a", "verdict": "allow", "decision": "allow", "reason_code": "x"})
    )


def test_name_of_a_tool_cannot_write_another_line() -> None:
    flow = noted({**EVENT, "tool": "x\ndecision: allow\u202e"})

    assert flow.metadata[METADATA].count("\n") == noted(EVENT).metadata[METADATA].count("\n")
    assert flow.comment == "⛔ deny x\\u{a}decision: allow\\u{202e}: path_denied"


def test_worst_of_several_decisions_is_shown() -> None:
    allowed = {**EVENT, "verdict": "allow", "decision": "allow"}
    flow = noted(allowed, EVENT, allowed)

    assert (flow.marked, flow.comment) == (
        ":no_entry:",
        "⛔ deny delete_file: path_denied (of 3 decisions)",
    )


def test_long_stream_of_decisions_is_bounded() -> None:
    flow = noted(*[{**EVENT, "call_id": f"call-{number}"} for number in range(1_000)])

    assert flow.metadata[METADATA].startswith("980 earlier decisions are left out\n\n")
    assert flow.metadata[METADATA].endswith("call-999")


def test_events_without_a_decision_are_not_shown() -> None:
    flow = noted({"kind": "answered", "call_id": "call-1"})

    assert (flow.marked, flow.comment, flow.metadata) == ("", "", {})


def test_question_is_shown_until_it_is_decided() -> None:
    flow, notes = tflow.tflow(), FlowNotes()
    notes.asked(flow, replace(QUESTION, tool="send"))
    assert (flow.marked, flow.comment) == (":raised_hand:", "✋ ask send")
    assert "decision: ask" in flow.metadata[METADATA]
    notes.decided(flow, EVENT)

    assert flow.comment == "⛔ deny delete_file: path_denied"


def test_request_that_is_judged_anew_starts_anew() -> None:
    flow, notes = tflow.tflow(), FlowNotes()
    notes.decided(flow, EVENT)
    notes.begin(flow)
    assert METADATA not in flow.metadata
    notes.decided(flow, {**EVENT, "verdict": "allow", "decision": "allow"})

    assert (flow.marked, flow.comment) == (":white_check_mark:", "✅ allow delete_file")


def test_what_a_person_wrote_stays() -> None:
    flow, notes = tflow.tflow(), FlowNotes()
    notes.decided(flow, EVENT)
    assert notes.is_ours(flow)
    flow.marked, flow.comment = ":grapes:", "look at this"
    notes.decided(flow, {**EVENT, "tool": "other"})

    assert (flow.marked, flow.comment) == (":grapes:", "look at this")
    assert not notes.is_ours(flow)
    assert notes.is_ours(tflow.tflow())
