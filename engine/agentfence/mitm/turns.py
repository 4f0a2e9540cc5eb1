"""Has connections take turns.

While more has come over a connection than it reads at once, the host reads on and on without a turn of its
loop, some 400 KB of it; of the smallest events of a stream that is a second in which nothing else happens.
Here a connection reads less at once, and others have their turn before it goes on.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from agentfence.mitm.transports import handler_of

if TYPE_CHECKING:
    from mitmproxy.connection import Client, Connection

_AT_ONCE: Final = 32_768
"""Bytes."""


class PatientReader(asyncio.StreamReader):
    """A reader of a connection that lets others have their turn; `take_turns` makes one."""

    async def read(self, n: int = -1) -> bytes:
        """Give up to `n` bytes, or fewer that come at once; none where the connection has ended."""
        if getattr(self, "_buffer", None):  # else it waits anyway
            await asyncio.sleep(0)
        return await super().read(min(n, _AT_ONCE) if n > 0 else n)


def take_turns(client: Client, connection: Connection) -> None:
    """Have `connection`, one of those that serve `client`, be patient.

    The class of the object is swapped because the host has made it, and holds on to it.
    """
    handler = handler_of(client)
    io = None if handler is None else handler.transports.get(connection)
    if io is not None and type(io.reader) is asyncio.StreamReader:
        io.reader.__class__ = PatientReader
