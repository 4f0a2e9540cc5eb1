"""The list of flows is bounded: the oldest that have ended go, and nothing that a person needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mitmproxy.addons.view import View
from mitmproxy.test import taddons, tflow

from agentfence.mitm.view import kept_flows
from agentfence.mitm.view.kept_flows import KeptFlows
from agentfence.mitm.view.notes import FlowNotes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy import http


@pytest.fixture
def view() -> Iterator[View]:
    view = View()
    with taddons.context(view):
        yield view


def pass_flow(view: View, kept: KeptFlows, *, ends: bool = True, marked: str = "") -> http.HTTPFlow:
    flow = tflow.tflow(resp=True, live=True)
    flow.marked = marked
    view.requestheaders(flow)
    kept.requestheaders(flow)
    kept.response(flow)
    flow.live = not ends
    return flow


def test_oldest_go(view: View) -> None:
    kept = KeptFlows(view, 3, FlowNotes().is_ours)
    flows = [pass_flow(view, kept) for _ in range(10)]

    assert list(view) == flows[-3:]


def test_flows_that_wait_or_stream_or_are_marked_stay(view: View) -> None:
    kept = KeptFlows(view, 3, FlowNotes().is_ours)
    streaming = pass_flow(view, kept, ends=False)
    marked = pass_flow(view, kept, marked=":grapes:")
    held = pass_flow(view, kept)
    held.intercept()
    for _ in range(10):
        pass_flow(view, kept)

    assert {streaming.id, marked.id, held.id} <= {flow.id for flow in view}
    assert len(view) == 4  # the newest is not over yet when it comes
    assert streaming.error is None


def test_bodies_are_bounded_together(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_flows, "MAX_BYTES", 100)
    kept = KeptFlows(view, 1_000, FlowNotes().is_ours)
    flows = [pass_flow(view, kept) for _ in range(20)]  # 14 bytes each

    assert list(view) == flows[-7:]


def test_flows_that_a_person_cleared_are_forgotten(view: View) -> None:
    kept = KeptFlows(view, 3, FlowNotes().is_ours)
    for _ in range(3):
        pass_flow(view, kept)
    view.clear()
    flows = [pass_flow(view, kept) for _ in range(3)]

    assert list(view) == flows


def test_flow_that_breaks_off_is_counted_once(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_flows, "MAX_BYTES", 100)
    kept = KeptFlows(view, 1_000, FlowNotes().is_ours)
    flow = pass_flow(view, kept)
    for _ in range(50):
        kept.error(flow)
    kept.response(tflow.tflow())  # one that came before the fence

    assert list(view) == [flow]
