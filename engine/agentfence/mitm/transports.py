"""What the host has no hook for: the connections below its layers, held back, or closed from outside."""

from __future__ import annotations

import asyncio
from asyncio import StreamWriter
from typing import TYPE_CHECKING

from mitmproxy import ctx

if TYPE_CHECKING:
    from mitmproxy import http
    from mitmproxy.connection import Connection
    from mitmproxy.proxy.server import ConnectionHandler


def handler_of(client: Connection) -> ConnectionHandler | None:
    """Give what serves a client, while its connection exists."""
    proxyserver = ctx.master.addons.get("proxyserver")
    return None if proxyserver is None else proxyserver.connections.get(client.id)


def writer_of(client: Connection) -> StreamWriter | None:
    """Give what writes to a client, while its connection exists."""
    handler = handler_of(client)
    io = None if handler is None else handler.transports.get(client)
    writer = None if io is None else io.writer
    return writer if isinstance(writer, StreamWriter) else None


def hold_back(client: Connection) -> bool:
    """Read nothing more from a client; give whether that was done.

    What is read while a layer waits piles up in the host, as an upload while its server is connected to.
    """
    writer = writer_of(client)
    if writer is None:
        return False
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    return True


def read_on(client: Connection) -> None:
    """Read from a client again."""
    writer = writer_of(client)
    if writer is not None and not writer.transport.is_closing():
        writer.transport.resume_reading()  # type: ignore[attr-defined]


def close_server(flow: http.HTTPFlow) -> None:
    """End the connection to the server of a flow soon; the host then ends the client's.

    Where the server is reached through another proxy the host has no connection of that name, so there it
    is the client's.
    """
    handler = handler_of(flow.client_conn)
    if handler is not None:
        is_direct = flow.server_conn in handler.transports
        connection = flow.server_conn if is_direct else flow.client_conn
        asyncio.get_running_loop().call_soon(handler.close_connection, connection)
