"""Both ends of a connection of HTTP/1, as the host reads them, with bounds that it lacks.

This leans on the host's internals (its buffers, readers and `read_*` methods): its minor version is
pinned, and a test guards what is used.
"""

from __future__ import annotations

from contextlib import suppress
from http import HTTPStatus
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from mitmproxy.net.http.http1 import read_request_head
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.layers.http._base import ReceiveHttp
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestHeaders,
    RequestProtocolError,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client, Http1Server, make_error_response

from agentfence.mitm.received import MAX_HEAD, HeadTooLargeError, Received, merging
from agentfence.mitm.transports import hold_back, read_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mitmproxy import http
    from mitmproxy.proxy import layer
    from mitmproxy.proxy.context import Context

_MUCH_PIPELINED = 1_048_576
"""Bytes that a client has sent on while its request is still being handled, from which on no more is read."""
MAX_DRAINED = 268_435_456
"""Bytes read and dropped after a 413 or a 431, so that a client that still sends gets to read it."""
_MAX_REQUEST_SECONDS = 300.0
"""That a head may take, and then a body that is judged; what is streamed may take for ever."""


class KeptStream(Protocol):
    """One request and its answer, of which pieces may be kept until something else is done."""

    flow: http.HTTPFlow
    is_held_back: bool

    @property
    def has_much_to_do(self) -> bool:
        """Whether much is kept."""
        ...


class FenceHttp1Server(Http1Server):
    """The client's side of HTTP/1, with bounds that the host lacks.

    One timer at most runs for a connection, however many requests come over it.
    """

    streams: Mapping[int, KeptStream] = MappingProxyType({})
    """Those of the layer that this belongs to."""
    is_head_cut = False
    """Whether the last request's head was longer than it may be, and `request` has the beginning of it."""
    _dropped = 0
    _is_held_back = False
    _timed: tuple[object, int] | None = None
    """What was being read when the timer began."""

    def __init__(self, context: Context) -> None:
        """Take the connection's context."""
        super().__init__(context)
        self.buf: Received = Received()  # type: ignore[assignment]

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Wakeup):
            if self._timed == self._reading:
                yield from self._end_slow()
            self._timed = None
        else:
            yield from super()._handle_event(event)
        if self._timed is None and self._reading is not None:
            self._timed = self._reading
            yield commands.RequestWakeup(_MAX_REQUEST_SECONDS)

    @property
    def _reading(self) -> tuple[object, int] | None:
        """What has begun to arrive and must not take for ever; None: nothing."""
        if self.state == self.read_headers:
            return ("head", self.stream_id) if self.buf else None
        stream = self.streams.get(self.stream_id)
        is_kept = stream is not None and not stream.flow.request.stream
        return ("body", self.stream_id) if self.state == self.read_body and is_kept else None

    def _end_slow(self) -> layer.CommandGenerator[None]:
        is_body = self.state == self.read_body
        yield from self._end(408, "the request took too long")
        if is_body:
            yield ReceiveHttp(
                RequestProtocolError(self.stream_id, "too slow", ErrorCode.GENERIC_CLIENT_ERROR)
            )

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read a request's head, up to a limit."""
        # The host takes one empty line off and then waits for more; RFC 9112, section 2.2, ignores them.
        self.buf.drop_empty_lines()
        try:
            yield from super().read_headers(event)
        except HeadTooLargeError as too_large:
            yield from self._refuse_head(too_large.beginning)

    def _refuse_head(self, beginning: list[bytes]) -> layer.CommandGenerator[None]:
        """Have a request answered by as much of its head as there may be, and read nothing that follows."""
        request = None
        with suppress(ValueError):
            request = read_request_head(beginning or [b""])
        if request is None or request.method == "CONNECT":
            yield from self._end(431, "request head too large")
            return
        self.request, self.is_head_cut = request, True
        self.state = self.drop
        yield ReceiveHttp(RequestHeaders(self.stream_id, request, end_stream=True))

    def drop(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read and drop what the client still sends, so that it does not miss its answer."""
        if not isinstance(event, events.DataReceived):
            yield from super().wait(event)
            return
        self._dropped += len(self.buf)
        self.buf.drop(len(self.buf))
        if self._dropped > MAX_DRAINED:
            yield commands.CloseConnection(self.conn)

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a request's body; the host cannot read trailers, and would leave the client waiting."""
        self.body_reader = merging(self.body_reader)
        try:
            for command in super().read_body(event):
                is_end = isinstance(command, commands.CloseConnection) and self.response is None
                if is_end and isinstance(event, events.DataReceived):
                    yield commands.SendData(self.conn, make_error_response(400, "malformed body"))
                yield command
        except (NotImplementedError, HeadTooLargeError):
            yield from self._end_body("trailers are not accepted")
        if self.state != self.read_body:
            return
        if len(self.buf) > MAX_HEAD:  # which is no part of the body itself
            yield from self._end_body("malformed body")
            return
        stream = self.streams.get(self.stream_id)
        if stream is not None and stream.has_much_to_do:
            stream.is_held_back = hold_back(self.conn)

    def wait(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Wait for the answer, while the client may send on only so much."""
        if isinstance(event, events.DataReceived) and len(self.buf) > _MUCH_PIPELINED:
            self._is_held_back = hold_back(self.conn)
        yield from super().wait(event)

    def mark_done(self, *, request: bool = False, response: bool = False) -> layer.CommandGenerator[None]:
        """Go on to what the client has sent on meanwhile."""
        yield from super().mark_done(request=request, response=response)
        if self._is_held_back and len(self.buf) <= _MUCH_PIPELINED:
            self._is_held_back = False
            read_on(self.conn)

    def _end_body(self, problem: str) -> layer.CommandGenerator[None]:
        yield from self._end(400, problem)
        yield ReceiveHttp(RequestProtocolError(self.stream_id, problem, ErrorCode.GENERIC_CLIENT_ERROR))

    def _end(self, status: int, problem: str) -> layer.CommandGenerator[None]:
        yield commands.SendData(self.conn, make_error_response(status, problem))
        yield commands.CloseConnection(self.conn)
        self.state = self.done


class FenceHttp1Client(Http1Client):
    """The server's side of HTTP/1: what the host takes for an answer, or for a fault, and is neither."""

    def read_headers(self, event: events.ConnectionEvent) -> layer.CommandGenerator[None]:
        """Read the head of the final answer; interim ones before it (RFC 9110, section 15.2) are dropped."""
        is_interim = True
        while is_interim:
            is_interim = False
            try:
                for command in super().read_headers(event):
                    if _is_interim(command):
                        self.response, is_interim = None, True
                        break
                    yield command
            except HeadTooLargeError:
                yield from self._end("the head of the answer is too large")

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read a body; the host cannot read trailers, which may be dropped (RFC 9110, section 6.5.1)."""
        self.body_reader = merging(self.body_reader)
        try:
            yield from super().read_body(event)
        except (NotImplementedError, HeadTooLargeError) as error:
            if self.stream_id is None:
                raise AssertionError("a body must be some request's answer") from None
            if isinstance(error, HeadTooLargeError):
                yield from self._end("the trailers of the answer are too large")
                return
            yield ReceiveHttp(ResponseEndOfMessage(self.stream_id))
            yield from self.mark_done(response=True)
        if self.state == self.read_body and len(self.buf) > MAX_HEAD:  # which is no part of the body itself
            yield from self._end("malformed body")

    def _end(self, problem: str) -> layer.CommandGenerator[None]:
        yield commands.CloseConnection(self.conn)
        self.state = self.done
        if self.stream_id is not None:
            yield ReceiveHttp(ResponseProtocolError(self.stream_id, problem, ErrorCode.RESPONSE_TOO_LARGE))


def _is_interim(command: commands.Command) -> bool:
    if not isinstance(command, ReceiveHttp) or not isinstance(command.event, ResponseHeaders):
        return False
    status = command.event.response.status_code
    return status < HTTPStatus.OK and status != HTTPStatus.SWITCHING_PROTOCOLS
