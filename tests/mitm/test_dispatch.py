"""The chain of addons that remembers what each event calls."""

from __future__ import annotations

import asyncio
import logging

import pytest
from mitmproxy import exceptions, hooks, options, version
from mitmproxy.addonmanager import AddonManager
from mitmproxy.master import Master
from mitmproxy.proxy.layers.http import HttpRequestHook
from mitmproxy.test import tflow

from agentfence.mitm.beginning import begin
from agentfence.mitm.dispatch import KNOWN_VERSION, RememberingAddons, remember


class Noting:
    def __init__(self, name, notes, error=None):
        self.name = name
        self._notes = notes
        self._error = error

    def request(self, flow):
        self._notes.append(self.name)
        if self._error is not None:
            raise self._error


class NotingLater(Noting):
    async def request(self, flow):
        super().request(flow)


class Holding:
    name = "holding"

    def __init__(self, *addons):
        self.addons = addons


@pytest.fixture
async def addons():
    master = Master(options.Options())
    remember(master.addons)
    assert type(master.addons) is RememberingAddons
    return master.addons


async def trigger(addons):
    await addons.trigger_event(HttpRequestHook(tflow.tflow()))


async def test_hooks_run_in_the_order_of_the_chain_whatever_is_added_later(addons):
    notes = []
    addons.add(Noting("a", notes), NotingLater("b", notes))
    await trigger(addons)
    first = Noting("first", notes)
    addons.chain.insert(0, addons.register(first))
    await trigger(addons)
    addons.remove(first)
    await trigger(addons)

    assert notes == ["a", "b", "first", "a", "b", "a", "b"]


async def test_a_hook_that_raises_is_logged_and_the_next_is_called(addons, caplog):
    notes = []
    addons.add(Noting("a", notes, ValueError("no")), Noting("b", notes))
    with caplog.at_level(logging.ERROR):
        await trigger(addons)

    assert notes == ["a", "b"]
    assert "Addon error: no" in caplog.text


async def test_an_addon_may_end_the_event(addons):
    notes = []
    addons.add(Noting("a", notes, exceptions.AddonHalt()), Noting("b", notes))
    await trigger(addons)

    assert notes == ["a"]


async def test_addons_in_addons_are_called_as_long_as_they_are_held(addons):
    notes = []
    holding = Holding(Noting("inner", notes))
    addons.add(holding, Noting("b", notes))
    await trigger(addons)
    holding.addons = [*holding.addons, Noting("later", notes)]
    await trigger(addons)
    holding.addons = []
    await trigger(addons)

    assert notes == ["inner", "b", "inner", "later", "b", "b"]


async def test_what_raises_ends_what_is_held_with_it_as_in_the_host(addons, caplog):
    notes = []
    addons.add(Holding(Noting("a", notes, ValueError("no")), Noting("b", notes)), Noting("c", notes))
    await trigger(addons)
    await AddonManager.trigger_event(addons, HttpRequestHook(tflow.tflow()))

    assert notes == ["a", "c"] * 2
    assert caplog.text.count("Addon error: no") == 2


async def test_a_hook_that_cannot_be_called_is_logged_and_the_next_is_called(addons, caplog):
    notes = []
    mistaken = Noting("a", notes)
    mistaken.request = "no function"
    addons.add(mistaken, Noting("b", notes))
    await trigger(addons)

    assert notes == ["b"]
    assert "not callable" in caplog.text


async def test_who_wants_to_know_is_told_of_each_flow_that_an_event_was_about(addons):
    told = []

    class Told:
        name = "told"

        def update(self, flows):
            told.extend(flows)

    flow = tflow.tflow()
    await addons.handle_lifecycle(HttpRequestHook(flow))
    addons.add(Told())
    await addons.handle_lifecycle(HttpRequestHook(flow))
    await addons.handle_lifecycle(hooks.ConfigureHook(set()))

    assert told == [flow]


async def test_hooks_are_called_at_once_where_none_waits(addons):
    notes, told = [], []

    class Told(Noting):
        def update(self, flows):
            told.extend(flows)

    addons.add(Noting("a", notes, ValueError("no")), Told("b", notes))
    flow = tflow.tflow()

    assert addons.begin(HttpRequestHook(flow))
    assert (notes, told) == (["a", "b"], [flow])


async def test_hooks_wait_for_their_turn_where_others_do(addons):
    notes = []
    addons.add(Noting("a", notes))
    event = HttpRequestHook(tflow.tflow())
    asyncio.get_running_loop().call_soon(notes.append, "other")

    assert not addons.begin(event)
    assert notes == []
    await asyncio.sleep(0)
    await addons.handle_lifecycle(event)
    assert notes == ["other", "a"]


async def test_what_waits_goes_on_in_the_task_that_the_host_makes(addons):
    notes = []

    class Waiting:
        name = "waiting"

        async def request(self, flow):
            notes.append(asyncio.current_task())
            await asyncio.sleep(0.01)
            notes.append(asyncio.current_task())

    addons.add(Noting("a", notes), Waiting(), Noting("b", notes))
    event = HttpRequestHook(tflow.tflow())

    assert not addons.begin(event)
    assert notes == ["a"]
    task = asyncio.create_task(addons.handle_lifecycle(event))
    await task
    assert notes == ["a", task, task, "b"]
    assert addons._begun == {}


async def test_what_waits_for_a_person_has_begun_before(addons):
    notes = []

    class Judging:
        name = "judging"

        def request(self, flow):
            return begin(self._judge(flow))

        async def _judge(self, flow):
            notes.append("asked")
            await asyncio.sleep(0.01)
            notes.append("answered")

    addons.add(Judging(), Noting("b", notes))
    event = HttpRequestHook(tflow.tflow())

    assert not addons.begin(event)
    assert notes == ["asked"]
    await addons.handle_lifecycle(event)
    assert notes == ["asked", "answered", "b"]


async def test_a_flow_that_somebody_holds_waits_for_the_host_and_is_told_once(addons):
    notes = []

    class Intercept(Noting):
        def request(self, flow):
            super().request(flow)
            flow.intercept()

    addons.add(Intercept("a", notes))
    event = HttpRequestHook(tflow.tflow())

    assert not addons.begin(event)
    await addons.handle_lifecycle(event)
    assert notes == ["a"]
    await addons.handle_lifecycle(event)
    assert notes == ["a", "a"]


async def test_another_version_of_the_host_keeps_its_own(monkeypatch):
    assert version.VERSION.startswith(KNOWN_VERSION)
    monkeypatch.setattr(version, "VERSION", "13.0.0")
    master = Master(options.Options())
    remember(master.addons)

    assert type(master.addons) is AddonManager
