"""Connections that have much to read leave others their turn."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from mitmproxy.connection import Client

from agentfence.mitm import turns
from agentfence.mitm.turns import PatientReader, take_turns


@pytest.fixture
def client(monkeypatch):
    client = Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0)
    handler = SimpleNamespace(transports={})
    monkeypatch.setattr(turns, "handler_of", lambda one: handler if one is client else None)
    return SimpleNamespace(client=client, transports=handler.transports)


async def read_beside(reader, size):
    """Give what is read, and how many turns others had meanwhile."""
    had = []

    async def others():
        while True:
            had.append(len(pieces))
            await asyncio.sleep(0)

    pieces = []
    task = asyncio.create_task(others())
    while piece := await reader.read(size):
        pieces.append(piece)
    task.cancel()
    return pieces, had


def test_what_has_come_is_read_in_turns(client):
    async def run():
        reader = asyncio.StreamReader()
        client.transports[client.client] = SimpleNamespace(reader=reader)
        take_turns(client.client, client.client)
        reader.feed_data(b"x" * 100_000)
        reader.feed_eof()
        return reader, await read_beside(reader, 65_535)

    reader, (pieces, had) = asyncio.run(run())

    assert type(reader) is PatientReader
    assert [len(piece) for piece in pieces] == [32_768] * 3 + [100_000 - 3 * 32_768]
    assert set(had) >= {0, 1, 2, 3}


def test_what_is_waited_for_is_read_at_once(client):
    async def run():
        reader = asyncio.StreamReader()
        reader.__class__ = PatientReader
        reading = asyncio.create_task(reader.read(10))
        await asyncio.sleep(0)
        reader.feed_data(b"abc")
        return await reading

    assert asyncio.run(run()) == b"abc"


@pytest.mark.parametrize("io", [None, SimpleNamespace(reader=None), SimpleNamespace(reader=object())])
def test_other_connections_are_left_as_they_are(io, client):
    before = None if io is None else type(io.reader)
    if io is not None:
        client.transports[client.client] = io
    take_turns(client.client, client.client)
    take_turns(Client(peername=("a", 1), sockname=("b", 2), timestamp_start=0), client.client)

    assert io is None or type(io.reader) is before
