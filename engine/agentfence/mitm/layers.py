"""The fence inside mitmproxy's HTTP layer: limits while bodies arrive, and answers for dead servers.

mitmproxy's own limit answers with an HTML page that many clients never receive, and it knows no
classes of traffic. So its `HttpStream` is replaced by a subclass that asks `Limits` about each body as
it grows, answers at once, and goes on reading and dropping, so that the client gets to its answer; what
reads connections is replaced likewise (`connections`). This leans on the host's internals
(`check_body_size`, `check_killed`, the body buffers, the `state_*` methods): its minor version is
pinned, and a test guards what is used.
"""

from __future__ import annotations

import time
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, cast

from mitmproxy.net.http.validate import validate_headers
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.dns import DNSLayer
from mitmproxy.proxy.layers.http import (
    DropStream,
    HttpLayer,
    HTTPMode,
    HttpStream,
    RegisterHttpConnection,
    SendHttp,
)
from mitmproxy.proxy.layers.http._events import (
    ErrorCode,
    RequestData,
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseData,
    ResponseEndOfMessage,
    ResponseHeaders,
    ResponseProtocolError,
)
from mitmproxy.proxy.layers.http._hooks import (
    HttpRequestHeadersHook,
    HttpRequestHook,
    HttpResponseHeadersHook,
    HttpResponseHook,
)
from mitmproxy.proxy.layers.http._http1 import Http1Client
from mitmproxy.proxy.layers.websocket import WebsocketLayer

from agentfence.mitm.connections import MAX_DRAINED, FenceHttp1Client, FenceHttp1Server
from agentfence.mitm.framing import body_size
from agentfence.mitm.injecting import BytesInjected
from agentfence.mitm.received import Received
from agentfence.mitm.sockets import MAX_MESSAGE, Unfinished
from agentfence.mitm.transports import close_server, read_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http
    from mitmproxy.proxy import layer

_MOST_KEPT_WAITING = 16
"""Pieces of a body, each as much as is read at once, that may wait for something else to be done."""
_MAX_DRAIN_SECONDS = 30.0
_HOOKS = (HttpRequestHeadersHook, HttpRequestHook, HttpResponseHeadersHook, HttpResponseHook)
_OF_CLIENT = frozenset((RequestHeaders, RequestData, RequestEndOfMessage))
_OF_SERVER = frozenset((ResponseHeaders, ResponseData, ResponseEndOfMessage))


class Growth(Enum):
    """What becomes of a request's body that is over the limit."""

    KEEP = auto()
    REFUSE = auto()
    STREAM = auto()


class Limits(Protocol):
    """What the layers ask the surface."""

    @property
    def max_body(self) -> int:
        """The largest body that is judged, in bytes."""
        ...

    def call_hooks(self, hook: commands.StartHook) -> bool:
        """Call what the addons have for a hook; False where the host is to start it, or to go on with it."""
        ...

    def growth(self, flow: http.HTTPFlow, beginning: bytes | None) -> Growth:
        """Say what becomes of a body over `max_body`; `beginning` is None before any of it came."""
        ...

    def begin_stream(self, flow: http.HTTPFlow) -> bool:
        """Make ready a head that goes to the server before its body is there; False where it must not."""
        ...

    def oversize_answer(self, flow: http.HTTPFlow, *, is_head: bool) -> http.Response:
        """Give the 413, or the 431 for a head, with its event written."""
        ...

    def change_since(self, flow: http.HTTPFlow) -> str | None:
        """Say what somebody did to a request since it was judged; None: it may be sent."""
        ...

    def answer_to_head(self, flow: http.HTTPFlow) -> http.Response | None:
        """Give the answer, with its event written, that a body would not change; None: it is read."""
        ...

    def unreachable_answer(self, flow: http.HTTPFlow, problem: str) -> http.Response | None:
        """Give the answer for a server that is not there; None: the host's own will do."""
        ...

    def unreadable_answer(self, flow: http.HTTPFlow, problem: str) -> http.Response | None:
        """Give the answer for a server whose answer is not read on; None: the host's own will do."""
        ...

    def broken_off(self, flow: http.HTTPFlow, problem: str) -> bytes | None:
        """Give the last bytes of an event stream whose server went away; None: it breaks off."""
        ...

    def answer_instead(self, flow: http.HTTPFlow) -> http.Response | None:
        """Give the answer in place of one that is refused for its head; None: the server's goes on."""
        ...

    def answer_too_large(self, flow: http.HTTPFlow, size: int) -> http.Response | None:
        """Give the answer in place of one of `size` bytes so far; None while it may grow."""
        ...


class FenceStream(HttpStream):
    """One request and its answer, held to the fence's limits."""

    limits: Limits
    reader: FenceHttp1Server | None = None
    """What reads the client's requests."""
    _drained = 0
    _is_answered_here = False
    is_held_back = False
    """Whether nothing more is read from the client, as this waits for something else."""

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Hand an event to the state that it is for, at once where the host has three functions between."""
        if self.is_held_back:
            self.is_held_back = False
            read_on(self.flow.client_conn)
        state: Callable[[Any], layer.CommandGenerator[None]] = self._handle_other
        if type(event) in _OF_CLIENT:
            state = self.client_state
        elif type(event) in _OF_SERVER:
            state = self.server_state
        return self._call_hooks(state(event))

    def _call_hooks(self, work: layer.CommandGenerator[None]) -> layer.CommandGenerator[None]:
        """Call in the middle of the work what addons have for its hooks, and leave the rest to the host."""
        reply = None
        while True:
            try:
                command = work.send(reply)
            except StopIteration:
                return
            is_done = (
                isinstance(command, _HOOKS) and self._may_go_on(command) and self.limits.call_hooks(command)
            )
            reply = None if is_done else (yield command)

    def _may_go_on(self, hook: commands.StartHook) -> bool:
        """Whether a hook may be followed by more at once.

        Not where the client's next request is there already: answered in the middle of one another, a few
        hundred would be too deep.
        """
        return self.reader is not None and (type(hook) is HttpRequestHeadersHook or not self.reader.buf)

    def _handle_other(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Wakeup):
            if self.client_state == self.state_drain:
                yield from self._cut()
            return
        if isinstance(event, BytesInjected):
            if self.server_state == self.state_stream_response_body and not event.is_withdrawn:
                event.is_delivered = True
                yield SendHttp(ResponseData(self.stream_id, event.content), self.context.client)
            return
        yield from super()._handle_event(event)

    @property
    def _is_head_cut(self) -> bool:
        """Whether there was more of the request's head than there may be."""
        return self.reader is not None and self.reader.is_head_cut

    @property
    def has_much_to_do(self) -> bool:
        """Whether much has come that is kept until something else is done, as its server is connected to."""
        return len(self._paused_event_queue) > _MOST_KEPT_WAITING

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:  # noqa: FBT001 - the host's signature
        """Hold a growing body to the limits; True when that ended the exchange."""
        if not request:
            return (yield from self._check_answer_size())
        kept = len(self.request_body_buf)
        if (kept or self._declared_size()) <= self.limits.max_body:
            return False
        beginning = bytes(self.request_body_buf) if kept else None
        match self.limits.growth(self.flow, beginning):
            case Growth.REFUSE:
                yield from self._refuse_oversize(is_early=beginning is None)
                return True
            case Growth.STREAM if beginning is not None:
                yield from self._let_pass(beginning)
        return False

    def make_server_connection(self) -> layer.CommandGenerator[bool]:
        """Connect to the server; False where that fails, or the request is another one meanwhile."""
        if not (yield from super().make_server_connection()):
            return False
        change = self.limits.change_since(self.flow)
        if change is None:
            return True
        error = ResponseProtocolError(self.stream_id, change, ErrorCode.GENERIC_SERVER_ERROR)
        yield from self.handle_protocol_error(error)
        return False

    def _declared_size(self) -> int:
        try:
            return body_size(self.flow.request) or 0
        except ValueError:  # the host answers 400 to it
            return 0

    def check_killed(self, emit_error_hook: bool) -> layer.CommandGenerator[bool]:  # noqa: FBT001 - the host's signature
        """Say whether the exchange has ended; the host asks behind `requestheaders`, before any body."""
        if (yield from super().check_killed(emit_error_hook)):
            return True
        if self.client_state != self.state_wait_for_request_headers:
            return False
        if self._is_head_cut:
            yield from self._answer_unread(
                self.limits.oversize_answer(self.flow, is_head=True), is_early=False
            )
            yield commands.CloseTcpConnection(self.context.client, half_close=True)
            return True
        answer = self.limits.answer_to_head(self.flow)
        if answer is None:
            return False
        yield from self._answer_unread(answer, is_early=True)
        return True

    def _refuse_oversize(self, *, is_early: bool) -> layer.CommandGenerator[None]:
        self.request_body_buf.clear()
        if is_early:  # the host shows a flow from this hook on
            yield HttpRequestHeadersHook(self.flow)
        yield from self._answer_unread(
            self.limits.oversize_answer(self.flow, is_head=False), is_early=is_early
        )

    def _answer_unread(self, answer: http.Response, *, is_early: bool) -> layer.CommandGenerator[None]:
        expects = self.flow.request.headers.get("expect", "").lower() == "100-continue"
        self.flow.response = answer
        yield HttpResponseHeadersHook(self.flow)
        yield HttpResponseHook(self.flow)
        yield from self._send_whole(self.flow.response)
        self.flow.live = False
        self.client_state = self.state_drain
        self.server_state = self.state_errored
        if is_early and expects:  # the client sends nothing more when it is not told to go on
            yield from self._cut()
        else:
            yield commands.RequestWakeup(_MAX_DRAIN_SECONDS)

    def start_request_stream(self) -> layer.CommandGenerator[None]:
        """Send a head on, about which nothing is asked any more; a body that must be judged is kept."""
        if self.limits.begin_stream(self.flow):
            yield from super().start_request_stream()
        else:  # another addon has it streamed
            self.flow.request.stream = False
            self.client_state = self.state_consume_request_body

    def state_drain(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Read and drop what the client still sends, so that it does not miss its answer."""
        if isinstance(event, RequestData):
            self._drained += len(event.data)
            if self._drained > MAX_DRAINED:
                yield from self._cut()
        elif isinstance(event, RequestEndOfMessage):
            self.client_state = self.state_done
            yield SendHttp(ResponseEndOfMessage(self.stream_id), self.context.client)
            yield DropStream(self.stream_id)

    def _cut(self) -> layer.CommandGenerator[None]:
        self.client_state = self.state_errored
        if self._is_head_cut:  # the host takes what is half closed for closed
            yield commands.CloseConnection(self.context.client)
        else:
            too_large = ResponseProtocolError(self.stream_id, "body too large", ErrorCode.REQUEST_TOO_LARGE)
            yield SendHttp(too_large, self.context.client)
        yield DropStream(self.stream_id)

    def _let_pass(self, beginning: bytes) -> layer.CommandGenerator[None]:
        """Stream a body on that turned out to be no message."""
        self.flow.request.stream = True
        self.request_body_buf.clear()
        yield from self.start_request_stream()
        if self.client_state == self.state_stream_request_body:
            yield from self.handle_event(RequestData(self.stream_id, beginning))

    def state_wait_for_response_headers(self, event: ResponseHeaders) -> layer.CommandGenerator[None]:
        """Take the server's head; the host would put the server's body below a head that is set in a hook."""
        yield from super().state_wait_for_response_headers(event)
        answer = self.limits.answer_instead(self.flow)
        if answer is not None and self.server_state != self.state_errored:
            yield from self._replace_answer(answer)

    def check_invalid(self, request: bool) -> layer.CommandGenerator[bool]:  # noqa: FBT001 - the host's signature
        """Refuse a head that has two readings; where the host has a page for that, give an answer."""
        response = self.flow.response
        if not request and response is not None and self.context.options.validate_inbound_headers:
            try:
                validate_headers(response)
            except ValueError as error:
                answer = self.limits.unreachable_answer(self.flow, str(error))
                if answer is not None:
                    yield from self._replace_answer(answer)
                    return True
            else:
                return False  # the host would look once more
        return (yield from super().check_invalid(request))

    def _check_answer_size(self) -> layer.CommandGenerator[bool]:
        size, response = len(self.response_body_buf), self.flow.response
        is_early = size == 0
        if is_early:
            try:
                size = body_size(self.flow.request, response) or 0
            except ValueError:
                size = 0
        answer = self.limits.answer_too_large(self.flow, size)
        if answer is None:
            return False
        yield from self._replace_answer(answer)
        return True

    def _replace_answer(self, answer: http.Response) -> layer.CommandGenerator[None]:
        """Send an answer that was made here, and nothing that the server still sends."""
        self.response_body_buf.clear()
        self.flow.response = answer
        stop = RequestProtocolError(self.stream_id, "answer refused", ErrorCode.RESPONSE_TOO_LARGE)
        yield SendHttp(stop, self.context.server)
        yield from self._answer_instead()
        self.server_state = self.state_errored

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> layer.CommandGenerator[None]:
        """End an exchange whose server is gone with an answer instead of a broken connection."""
        if isinstance(event, ResponseProtocolError) and self._is_answered_here:
            return  # it says so twice: that its answer is broken, and then that it has closed
        if isinstance(event, ResponseProtocolError) and self.client_state != self.state_errored:
            if self.server_state == self.state_stream_response_body:
                last = self.limits.broken_off(self.flow, event.message)
                if last is not None:
                    if last:  # over HTTP/1 an empty piece would end the body
                        yield SendHttp(ResponseData(self.stream_id, last), self.context.client)
                    yield from self.send_response(already_streamed=True)
                    return
            elif self.client_state == self.state_done and self.server_state != self.state_errored:
                is_unread = event.code is ErrorCode.RESPONSE_TOO_LARGE
                answer_for = self.limits.unreadable_answer if is_unread else self.limits.unreachable_answer
                answer = answer_for(self.flow, event.message)
                if answer is not None:
                    self.response_body_buf.clear()
                    self.flow.response = answer
                    yield from self._answer_instead()
                    return
        yield from super().handle_protocol_error(event)

    def _answer_instead(self) -> layer.CommandGenerator[None]:
        """Send an answer that was made here, past the hooks that show it."""
        if self.flow.response is None:
            raise AssertionError("there must be an answer to send")
        self._is_answered_here = True
        self.flow.response.timestamp_start = time.time()
        yield HttpResponseHeadersHook(self.flow)
        yield from self.send_response()

    def passthrough(self, event: events.Event) -> layer.CommandGenerator[None]:
        """Pass on what switched protocols; a WebSocket ends with a message that is too large."""
        yield from super().passthrough(event)
        socket = self.child_layer
        if isinstance(socket, WebsocketLayer) and isinstance(event, RequestData | ResponseData):
            is_clients = isinstance(event, RequestData)
            frames = (socket.client_ws if is_clients else socket.server_ws).frame_buf
            if self._unfinished[is_clients].size(frames) > MAX_MESSAGE:
                close_server(self.flow)

    @cached_property
    def _unfinished(self) -> tuple[Unfinished, Unfinished]:
        """The server's message on a WebSocket, and the client's."""
        return Unfinished(), Unfinished()

    def _send_whole(self, response: http.Response) -> layer.CommandGenerator[None]:
        content = response.raw_content or b""
        yield SendHttp(ResponseHeaders(self.stream_id, response, end_stream=not content), self.context.client)
        if content:
            yield SendHttp(ResponseData(self.stream_id, content), self.context.client)


class FenceLayer(HttpLayer):
    """An HTTP layer whose streams are the fence's."""

    limits: Limits

    def _handle_event(self, event: events.Event) -> layer.CommandGenerator[None]:
        is_own = isinstance(event, (events.Start, BytesInjected))
        return self._handle_own(event) if is_own else super()._handle_event(event)

    def _handle_own(self, event: events.Event) -> layer.CommandGenerator[None]:
        if isinstance(event, events.Start) and self.context.client.alpn != b"h2":
            server = FenceHttp1Server(self.context.fork())
            server.streams = cast("dict[int, FenceStream]", self.streams)
            self.connections.setdefault(self.context.client, server)
        if isinstance(event, BytesInjected):
            for stream in list(self.streams.values()):
                # A CONNECT is a stream too, and what passes through it is below.
                if stream.child_layer is not None or stream.flow is event.flow:
                    yield from self.event_to_child(stream, event)
            return
        yield from super()._handle_event(event)

    def make_stream(self, stream_id: int) -> layer.CommandGenerator[None]:
        """Make the stream for one request."""
        stream = FenceStream(_fork(self.context), stream_id)
        stream.limits = self.limits
        reader = self.connections.get(self.context.client)
        stream.reader = reader if isinstance(reader, FenceHttp1Server) else None
        self.streams[stream_id] = stream
        yield from self.event_to_child(stream, events.Start())

    def register_connection(self, command: RegisterHttpConnection) -> layer.CommandGenerator[None]:
        """Take a connection to a server that is ready."""
        reader = self.connections.get(command.connection)
        while reader is not None:
            if type(reader) is Http1Client:
                reader.__class__ = FenceHttp1Client
                reader.buf = Received(bytes(reader.buf))  # type: ignore[assignment]
                reader.state = reader.read_headers
            reader = getattr(reader, "child_layer", None)
        yield from super().register_connection(command)


def _fork(context: Context) -> Context:
    """Give what `Context.fork` gives, without the server that it makes only to put another in its place."""
    forked = object.__new__(Context)
    vars(forked).update(vars(context), layers=context.layers.copy())
    return forked


def as_http(chosen: layer.Layer | None) -> layer.Layer | None:
    """Give the layer to take for one that the host has chosen.

    It takes what goes to the ports of DNS for that, and would pass it on unread; here all is HTTP.
    """
    if not isinstance(chosen, DNSLayer):
        return chosen
    chosen.context.layers.remove(chosen)
    return HttpLayer(chosen.context, HTTPMode.transparent)


def install(outermost: layer.Layer | None, limits: Limits) -> None:
    """Turn HTTP layers that have not started into the fence's.

    The class of the object is swapped because the host has already wired the object up, and builds
    it with arguments that it alone knows.
    """
    current = outermost
    while current is not None:
        if type(current) is HttpLayer:
            current.__class__ = FenceLayer
            current.limits = limits  # type: ignore[attr-defined]
        current = getattr(current, "child_layer", None)
