"""Writes events of the fence's own into an answer that is streamed to its client, idle or not.

The host has no way to do this from a hook, so an event goes through its layers to our stream, which
sends it between two events of the server: `streams.EventRelay` holds back what is no whole event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mitmproxy.proxy import events

from agentfence.mitm.transports import handler_of, writer_of

if TYPE_CHECKING:
    from mitmproxy import http

_MAX_UNREAD: Final = 1_048_576
"""Bytes that may wait for a client that does not read its stream."""


@dataclass
class BytesInjected(events.Event):
    """Bytes for the client of a streamed answer."""

    flow: http.HTTPFlow
    content: bytes
    is_delivered: bool = False
    is_withdrawn: bool = False
    """Nobody waits for it to be delivered any more: something else was said instead."""


async def inject(flow: http.HTTPFlow, content: bytes) -> bool:
    """Send `content` to the client of `flow`, whose answer streams; give whether that was done."""
    handler, writer = handler_of(flow.client_conn), writer_of(flow.client_conn)
    if handler is None or writer is None:
        return False
    if writer.transport.get_write_buffer_size() + len(content) > _MAX_UNREAD:
        return False
    event = BytesInjected(flow, content)
    await handler.server_event(event)
    event.is_withdrawn = not event.is_delivered
    return event.is_delivered
