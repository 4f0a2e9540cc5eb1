"""The fence's layers, driven without a network: slow requests, and bytes written into a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons

from agentfence.mitm import connections, layers
from agentfence.mitm.injecting import BytesInjected
from agentfence.mitm.layers import FenceLayer, Growth
from agentfence.mitm.requests import json_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy import http, options


class Unlimited:
    """Limits that nothing exceeds."""

    max_body = 1_000

    def call_hooks(self, hook: commands.StartHook) -> bool:
        return False

    def growth(self, flow: http.HTTPFlow, beginning: bytes | None) -> Growth:
        return Growth.KEEP

    def begin_stream(self, flow: http.HTTPFlow) -> bool:
        return True

    def change_since(self, flow: http.HTTPFlow) -> str | None:
        return None

    def answer_to_head(self, flow: http.HTTPFlow) -> http.Response | None:
        return None

    def answer_instead(self, flow: http.HTTPFlow) -> None:
        return None

    def answer_too_large(self, flow: http.HTTPFlow, size: int) -> None:
        return None

    def broken_off(self, flow: http.HTTPFlow, problem: str) -> None:
        return None

    def unreachable_answer(self, flow: http.HTTPFlow, problem: str) -> http.Response | None:
        return json_response(200, b"gone") if flow.request.path == "/mcp" else None

    def unreadable_answer(self, flow: http.HTTPFlow, problem: str) -> http.Response | None:
        return json_response(200, b"unread") if flow.request.path == "/mcp" else None

    def oversize_answer(self, flow: http.HTTPFlow, *, is_head: bool) -> http.Response:
        return json_response(431 if is_head else 413, b"no", close=True)


class Driven:
    """A layer in regular mode, whose hooks `on_hook` sees."""

    def __init__(self, opts: options.Options) -> None:
        self.client = Client(
            peername=("127.0.0.1", 1),
            sockname=("127.0.0.1", 2),
            timestamp_start=0,
            state=ConnectionState.OPEN,
            proxy_mode=ProxyMode.parse("regular"),
        )
        self.layer = FenceLayer(Context(self.client, opts), HTTPMode.regular)
        self.layer.limits = Unlimited()  # type: ignore[assignment]
        self.sent: dict[object, bytes] = {}
        self.completed: list[events.Event] = []
        self.timers: list[commands.RequestWakeup] = []
        self.closed: list[object] = []
        self.half_closed: list[object] = []
        self.flow: http.HTTPFlow
        self.streams_requests = self.answers = False
        self.streams_answers = True
        self.held: list[commands.StartHook] | None = None
        """Hooks that take their time, if any may."""
        self.feed(events.Start())

    def feed(self, event: events.Event) -> None:
        self._take(event)
        while self.completed:
            self._take(self.completed.pop(0))

    def _take(self, event: events.Event) -> None:
        for command in self.layer.handle_event(event):
            match command:
                case commands.SendData(connection=connection, data=octets):
                    self.sent[connection] = self.sent.get(connection, b"") + octets
                case commands.RequestWakeup():
                    self.timers.append(command)
                case commands.CloseTcpConnection(connection=connection, half_close=True):
                    self.half_closed.append(connection)
                case commands.CloseConnection(connection=connection):
                    self.closed.append(connection)
                case commands.OpenConnection(connection=connection):
                    connection.state = ConnectionState.OPEN
                    self.completed.append(events.OpenConnectionCompleted(command, None))
                case commands.StartHook():
                    self._hook(command)
                    if command.blocking and self.held is not None:
                        self.held.append(command)
                    elif command.blocking:
                        self.completed.append(events.HookCompleted(command))

    def _hook(self, hook: commands.StartHook) -> None:
        if hook.name in {"requestheaders", "request", "responseheaders"}:
            (self.flow,) = hook.args()
        if hook.name == "requestheaders":
            self.flow.request.stream = self.streams_requests
        if hook.name == "request" and self.answers:
            self.flow.response = json_response(200, b"{}")
        if hook.name == "responseheaders" and self.flow.response is not None:
            self.flow.response.stream = self.streams_answers

    def receive(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.feed(events.DataReceived(self.client, piece))

    def wake(self) -> None:
        """Have the one timer run out."""
        (timer,) = self.timers
        self.timers.clear()
        self.feed(events.Wakeup(timer))

    @property
    def said(self) -> bytes:
        return self.sent.get(self.client, b"")


@pytest.fixture
def driven() -> Iterator[Driven]:
    with taddons.context(Proxyserver()) as context:
        yield Driven(context.options)


HEAD = b"POST http://h/mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n"


@pytest.mark.parametrize("pieces", [(HEAD[:9],), (HEAD,), (HEAD, b"ab")])
def test_request_that_takes_too_long_is_answered(pieces: tuple[bytes, ...], driven: Driven) -> None:
    driven.receive(*pieces)
    assert driven.said == b""
    driven.wake()
    if driven.timers:  # the head was late, now the body is
        driven.wake()

    assert driven.said.startswith(b"HTTP/1.1 408 ")
    assert driven.closed == [driven.client]
    assert driven.timers == []


@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"])
def test_head_that_is_refused_is_answered_before_its_body(expect: bytes, driven: Driven) -> None:
    refusing = Unlimited()
    refusing.answer_to_head = lambda _: json_response(403, b"no", close=True)  # type: ignore[method-assign]
    driven.layer.limits = refusing  # type: ignore[assignment]

    driven.receive(HEAD[:-2] + expect + b"\r\n")

    assert driven.said.startswith(b"HTTP/1.1 403 ")
    assert b"100 Continue" not in driven.said
    if not expect:
        driven.receive(b"abcd")
    assert driven.closed == [driven.client]
    assert set(driven.sent) == {driven.client}


def test_request_that_is_complete_in_time_is_not(driven: Driven) -> None:
    driven.receive(HEAD, b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.wake()
    driven.feed(events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    assert driven.said.endswith(b"ok")

    driven.receive(HEAD, b"abcd", HEAD[:5])
    assert len(driven.timers) == 1, "one for a connection"


def test_timer_of_an_earlier_request_ends_no_later_one(driven: Driven) -> None:
    driven.receive(HEAD, b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
    driven.receive(HEAD)
    driven.wake()

    assert b"408" not in driven.said
    driven.wake()
    assert b"HTTP/1.1 408 " in driven.said


@pytest.mark.parametrize("lines", [(b"\r\n",), (b"\r\n\r\n\n",), (b"\r\n", b"\r\n")])
def test_empty_lines_before_a_request_are_passed_over(lines: tuple[bytes, ...], driven: Driven) -> None:
    *before, last = lines
    driven.receive(*before, last + HEAD + b"abcd")

    assert driven.flow.request.raw_content == b"abcd"


@pytest.mark.parametrize("body", [b"zz\r\nab", b"0x4\r\nabcd\r\n", b"4\r\nabcde\r\n"])
def test_a_body_in_malformed_chunks_is_answered(body: bytes, driven: Driven) -> None:
    driven.receive(HEAD.replace(b"Content-Length: 4", b"Transfer-Encoding: chunked") + body)

    assert driven.said.startswith(b"HTTP/1.1 400 ")
    assert set(driven.closed) == {driven.client}


FIELDS = b"X: y\r\n" * 1_000
LONG_HEADS = {
    "fields": HEAD[:-2] + FIELDS + b"\r\n",
    "bytes": HEAD[:-2] + b"X: " + b"y" * 262_144 + b"\r\n\r\n",
    "no end": HEAD[:-2] + b"X: " + b"y" * 262_144,
}


@pytest.mark.parametrize("kind", LONG_HEADS)
def test_a_head_that_is_too_large_is_answered_and_the_rest_dropped(kind: str, driven: Driven) -> None:
    driven.receive(LONG_HEADS[kind])
    assert driven.said.startswith(b"HTTP/1.1 431 ")
    assert driven.flow.request.path == "/mcp"
    answer = driven.said

    driven.receive(b"abcd" + HEAD + b"abcd", HEAD)
    assert driven.said == answer
    assert set(driven.sent) == {driven.client}
    assert driven.half_closed == [driven.client]
    assert driven.closed == []
    driven.wake()
    assert driven.closed == [driven.client]


def test_a_client_that_leaves_after_its_head_is_let_go(driven: Driven) -> None:
    driven.receive(LONG_HEADS["fields"])
    driven.feed(events.ConnectionClosed(driven.client))

    assert driven.closed == [driven.client]


@pytest.mark.parametrize(
    "head", [b"x" * 262_145, b"CONNECT h:1 HTTP/1.1\r\n" + b"X: y\r\n" * 1_001 + b"\r\n"]
)
def test_a_head_of_which_nothing_can_be_told_is_answered(head: bytes, driven: Driven) -> None:
    driven.receive(head)

    assert driven.said.startswith(b"HTTP/1.1 431 ")
    assert driven.closed == [driven.client]


@pytest.mark.parametrize(("path", "said"), [(b"mcp", b"unread"), (b"page", b"502 Bad Gateway")])
@pytest.mark.parametrize("streams", [False, True])
def test_an_answer_whose_head_is_too_large_is_not_read(
    path: bytes, said: bytes, streams: bool, driven: Driven
) -> None:
    driven.streams_answers = streams
    driven.receive(HEAD.replace(b"mcp", path), b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\n" + FIELDS + b"Z: z\r\n\r\n"))

    assert said in driven.said
    assert b"X: y" not in driven.said
    assert upstream in driven.closed


def test_as_many_fields_as_there_may_be_pass(driven: Driven) -> None:
    driven.receive(HEAD[:-2] + FIELDS[:-18] + b"\r\n" + b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\n" + FIELDS[:-6] + FINAL[17:]))

    assert driven.sent[upstream].count(b"X: y") == 997
    assert driven.said.count(b"X: y") == 999


def test_what_is_sent_on_meanwhile_waits_unread(driven: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[bool] = []
    monkeypatch.setattr(connections, "hold_back", lambda _: held.append(True) or True)
    for reader in (connections, layers):
        monkeypatch.setattr(reader, "read_on", lambda _: held.append(False))
    large = HEAD.replace(b"Length: 4", b"Length: 1000000") + b"x" * 1_000_000
    driven.receive(HEAD + b"abcd", HEAD, b"abcd" + large[:900_000])
    assert held == []
    driven.receive(large[900_000:] + HEAD * 2_000)
    assert set(held) == {True}
    driven.layer.limits.max_body = 2_000_000  # type: ignore[misc]
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, FINAL))
    assert set(held) == {True}
    driven.feed(events.DataReceived(upstream, FINAL))

    assert held[-1] is False
    assert driven.said == FINAL * 2


def test_upload_that_is_streamed_may_take_for_ever(driven: Driven) -> None:
    driven.streams_requests = True
    driven.receive(HEAD, b"ab")
    for _ in range(len(driven.timers)):
        driven.wake()

    assert driven.said == b""
    assert driven.timers == []


def test_connection_that_is_idle_needs_no_timer(driven: Driven) -> None:
    assert driven.timers == []


def test_bytes_are_written_into_the_answer_that_streams(driven: Driven) -> None:
    driven.receive(b"GET http://h/sse HTTP/1.1\r\nHost: h\r\n\r\n")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    early = BytesInjected(driven.flow, b"too early")
    driven.feed(early)
    driven.feed(
        events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
    )
    event, withdrawn = (
        BytesInjected(driven.flow, b"own"),
        BytesInjected(driven.flow, b"late", is_withdrawn=True),
    )
    driven.feed(event)
    driven.feed(withdrawn)
    driven.feed(events.DataReceived(upstream, b"3\r\ndef\r\n0\r\n\r\n"))
    after = BytesInjected(driven.flow, b"too late")
    driven.feed(after)

    assert [item.is_delivered for item in (early, event, withdrawn, after)] == [False, True, False, False]
    assert driven.said.endswith(b"3\r\nabc\r\n3\r\nown\r\n3\r\ndef\r\n0\r\n\r\n")


INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 5\r\n\r\n"
FINAL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(("count", "size"), [(1, 1), (1, 7), (1, 1_000), (2_000, 1_000_000)])
def test_the_final_answer_passes_alone(count: int, size: int, driven: Driven) -> None:
    driven.receive(HEAD, b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    answer = INTERIM * count + FINAL
    for at in range(0, len(answer), size):
        driven.feed(events.DataReceived(upstream, answer[at : at + size]))
    assert driven.said == FINAL

    driven.receive(HEAD, b"abcd")  # on the same connections
    driven.feed(events.DataReceived(upstream, INTERIM + FINAL))
    assert driven.said == 2 * FINAL


def test_an_interim_answer_alone_is_none(driven: Driven) -> None:
    driven.receive(HEAD, b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, INTERIM))
    assert driven.said == b""

    driven.feed(events.ConnectionClosed(upstream))
    assert driven.said.endswith(b"gone")


def test_an_answer_that_breaks_twice_is_answered_once(driven: Driven) -> None:
    """The host says that its chunks are broken, and while that is answered that its connection has closed."""
    driven.streams_answers = False
    driven.receive(HEAD, b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
    driven.held = []
    driven.feed(events.DataReceived(upstream, b"zz\r\n"))
    driven.feed(events.ConnectionClosed(upstream))
    while driven.held:
        driven.feed(events.HookCompleted(driven.held.pop(0)))

    assert driven.said.count(b"gone") == 1


ENDLESS_ANSWERS = {
    "a head": b"HTTP/1.1 200 OK\r\nX: ",
    "the size of a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n5;",
    "trailers": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: ",
}


@pytest.mark.parametrize("kind", ENDLESS_ANSWERS)
def test_what_a_server_never_ends_is_not_kept(kind: str, driven: Driven) -> None:
    driven.receive(HEAD.replace(b"mcp", b"page"), b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, ENDLESS_ANSWERS[kind]))
    for _ in range(4):
        driven.feed(events.DataReceived(upstream, b"x" * 65_500))
    assert upstream not in driven.closed
    driven.feed(events.DataReceived(upstream, b"x" * 200))

    assert upstream in driven.closed
    assert driven.client in driven.closed


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("beginning", [b"5;", b"2\r\nok\r\n0\r\nX: "])
def test_what_an_agent_never_ends_is_not_kept(beginning: bytes, streams: bool, driven: Driven) -> None:
    driven.streams_requests = streams
    driven.receive(HEAD.replace(b"Content-Length: 4", b"Transfer-Encoding: chunked"), beginning)
    driven.receive(*[b"x" * 65_500] * 4)
    assert driven.client not in driven.closed
    driven.receive(b"x" * 200)

    assert driven.said.startswith(b"HTTP/1.1 400 ")
    assert driven.client in driven.closed


def test_a_body_is_not_read_on_while_its_server_is_waited_for(
    driven: Driven, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    monkeypatch.setattr(connections, "hold_back", lambda _: held.append(True) or True)
    for reader in (connections, layers):
        monkeypatch.setattr(reader, "read_on", lambda _: held.append(False))
    driven.streams_requests, driven.held = True, []
    pieces = [b"%d" % (number % 10) for number in range(40)]
    driven.receive(HEAD.replace(b"Length: 4", b"Length: 40"), *pieces[:16])
    assert held == []
    driven.receive(*pieces[16:])
    assert set(held) == {True}
    while driven.held:
        driven.feed(events.HookCompleted(driven.held.pop(0)))

    assert held.count(False) == 1
    assert held[-1] is False
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    assert driven.sent[upstream].endswith(b"\r\n\r\n" + b"".join(pieces))


def test_trailers_of_an_answer_are_dropped(driven: Driven) -> None:
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n"
    driven.receive(HEAD, b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    driven.feed(events.DataReceived(upstream, chunks + b"X-Sum: 1\r\n\r\n"))
    assert driven.said == chunks + b"\r\n"

    driven.receive(HEAD, b"abcd")
    driven.feed(events.DataReceived(upstream, FINAL))
    assert driven.said.endswith(FINAL)


@pytest.mark.parametrize(
    ("path", "said"), [(b"mcp", b"HTTP/1.1 200 OK"), (b"page", b"HTTP/1.1 502 Bad Gateway")]
)
def test_an_answer_of_two_lengths_is_none(path: bytes, said: bytes, driven: Driven) -> None:
    driven.receive(HEAD.replace(b"mcp", path), b"abcd")
    (upstream,) = [connection for connection in driven.sent if connection is not driven.client]
    lengths = b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    driven.feed(events.DataReceived(upstream, b"HTTP/1.1 200 OK\r\n" + lengths))

    assert driven.said.startswith(said)
    assert b"\r\nok" not in driven.said
    assert upstream in driven.closed


class Answering(Unlimited):
    """Answers each request in its hook, which is called in the middle of the layer's work."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def call_hooks(self, hook: commands.StartHook) -> bool:
        self.called.append(hook.name)
        (flow,) = hook.args()
        if hook.name == "request":
            flow.response = json_response(200, b"{}")
        return True


def test_hooks_are_called_in_the_middle_of_the_work(driven: Driven) -> None:
    limits = driven.layer.limits = Answering()

    driven.receive(HEAD + b"abcd", HEAD, b"abcd")

    assert driven.said.count(b"HTTP/1.1 200") == 2
    assert limits.called == ["requestheaders", "request", "responseheaders", "response"] * 2


def test_requests_that_come_at_once_do_not_nest(driven: Driven) -> None:
    driven.answers = True
    driven.layer.limits = Answering()

    driven.receive((HEAD + b"abcd") * 1_000)

    assert driven.said.count(b"HTTP/1.1 200") == 1_000
