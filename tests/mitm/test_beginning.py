"""Coroutines that are begun without a task."""

from __future__ import annotations

import asyncio

import pytest

from agentfence.mitm.beginning import begin


async def test_what_never_waits_ends_at_once():
    notes = []

    async def work():
        notes.append("done")

    assert begin(work()) is None
    assert notes == ["done"]


async def test_what_raises_at_once_raises():
    async def work():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        begin(work())


async def test_what_waits_goes_on_when_it_is_awaited():
    notes, gate = [], asyncio.Event()

    async def work():
        notes.append("begun")
        await gate.wait()
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
        notes.append("done")

    rest = begin(work())
    assert rest is not None
    assert notes == ["begun"]
    gate.set()
    await rest
    assert notes == ["begun", "done"]


async def test_what_fails_later_fails_for_who_awaits_it():
    async def work():
        await asyncio.sleep(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await begin(work())


async def test_it_may_go_on_after_what_it_waited_for_failed():
    future = asyncio.get_running_loop().create_future()
    notes = []

    async def work():
        try:
            await future
        except ValueError:
            notes.append("caught")
        await asyncio.sleep(0)
        notes.append("done")

    rest = begin(work())
    future.set_exception(ValueError("no"))
    await rest
    assert notes == ["caught", "done"]


async def test_it_is_cancelled_with_the_task_that_awaits_it():
    notes = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            notes.append("ended")

    async def await_rest():
        await begin(work())

    task = asyncio.create_task(await_rest())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert notes == ["ended"]
