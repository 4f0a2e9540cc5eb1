"""Decisions are shown where somebody can see them, and cost nothing elsewhere."""

from __future__ import annotations

from approval.questions import QUESTION
from mitm.view.test_notes import EVENT
from mitmproxy.test import tflow

from agentfence.mitm.view.display import HOW_TO_ANSWER, Display
from agentfence.mitm.view.live_view import KEYS


def test_decision_is_noted_beside_its_flow_and_in_the_list() -> None:
    display, flow = Display(), tflow.tflow()
    note = display.note_for(flow)
    assert note is not None
    note(EVENT)

    assert flow.comment == "⛔ deny delete_file: path_denied"
    assert [decided.subject for decided in display.recent.latest()] == ["delete_file"]


def test_flow_that_is_gone_is_still_counted() -> None:
    display = Display()
    note = display.note_for(tflow.tflow())
    assert note is not None
    note(EVENT)

    assert len(display.recent.latest()) == 1


def test_nothing_is_noted_where_nobody_looks() -> None:
    display, flow = Display(is_seen=False), tflow.tflow()
    display.asked(flow, QUESTION)

    assert display.note_for(flow) is None
    assert (flow.comment, flow.metadata) == ("", {})


def test_person_at_the_console_is_told_how_to_answer() -> None:
    hints: list[str] = []
    Display(hint=hints.append).asked(tflow.tflow(), QUESTION)

    assert hints == [f"✋ ask files/write_file for stdio:4711: {HOW_TO_ANSWER}"]
    assert all(key in HOW_TO_ANSWER for key, command, _ in KEYS if command != "agentfence.pending")
