"""A stream is shown as it goes, bounded, and never other than it goes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from mitmproxy.test import tflow, tutils

from agentfence.mitm.view import kept_events
from agentfence.mitm.view.kept_events import MAX_KEPT, ShownStream

if TYPE_CHECKING:
    from mitmproxy import http


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_events, "UPDATE_SECONDS", 0.01)


def shown(flow: http.HTTPFlow) -> bytes | None:
    assert flow.response is not None
    return flow.response.raw_content


def new_flow() -> http.HTTPFlow:
    return tflow.tflow(resp=tutils.tresp(content=None))


async def test_stream_is_shown_while_it_goes() -> None:
    flow, updates = new_flow(), list[bytes | None]()
    stream = ShownStream(
        lambda received: [received] if received else [], flow, lambda flow: updates.append(shown(flow))
    )

    assert stream(b"data: 1\n\n") == [b"data: 1\n\n"]
    assert stream(b"data: 2\n\n") == [b"data: 2\n\n"]
    await asyncio.sleep(0.05)
    assert updates == [b"data: 1\n\ndata: 2\n\n"]  # together: each update reads everything
    assert stream(b"") == []
    await asyncio.sleep(0.05)
    assert updates[1:] == [b"data: 1\n\ndata: 2\n\n"]


async def test_what_is_held_back_is_not_shown() -> None:
    flow = new_flow()
    stream = ShownStream(lambda _: [], flow, lambda _: None)

    assert stream(b"data: refused\n\n") == []
    stream(b"")
    await asyncio.sleep(0.05)
    assert shown(flow) == b""


async def test_long_stream_keeps_its_end() -> None:
    flow = new_flow()
    stream = ShownStream(lambda received: [received] if received else [], flow, lambda _: None)
    event = b"data: " + b"x" * 994 + b"\n\n"
    for _ in range(1_000):
        stream(event)
    stream(b"data: last\n\n")
    stream(b"")
    await asyncio.sleep(0.05)

    kept = shown(flow)
    assert kept is not None
    assert len(kept) <= MAX_KEPT + 100
    assert kept.startswith(b": 93")
    assert kept.endswith(event + b"data: last\n\n")


async def test_beginning_of_a_huge_event_is_kept() -> None:
    flow = new_flow()
    stream = ShownStream(lambda received: [received] if received else [], flow, lambda _: None)
    stream(b"data: " + b"x" * (2 * MAX_KEPT) + b"\n\n")
    stream(b"")
    await asyncio.sleep(0.05)

    kept = shown(flow)
    assert kept is not None
    assert kept.startswith(b"data: xxx")
    assert kept.endswith(b" more bytes are not kept\n\n")


async def test_view_that_fails_leaves_the_stream_alone() -> None:
    failures: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context["message"]))
    stream = ShownStream(lambda received: [received] if received else [], new_flow(), lambda _: 1 / 0)  # type: ignore[arg-type, return-value]

    assert stream(b"data: 1\n\n") == [b"data: 1\n\n"]
    await asyncio.sleep(0.05)
    assert stream(b"data: 2\n\n") == [b"data: 2\n\n"]
    assert stream(b"") == []
    await asyncio.sleep(0.05)
    assert len(failures) == 2
