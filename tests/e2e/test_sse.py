"""MCP 2024-11-05 over HTTP through the fence: a stream that is read, and posts that it answers."""

from __future__ import annotations

import gzip
import json
import queue
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from e2e.fence import POLICY, Launch, Proxy, call_body, start_proxy
from e2e.network import (
    RecordingUpstream,
    Request,
    Response,
    make_ca,
    proxied,
    start_recording_upstream,
    trusting,
)
from e2e.parts import LIST, Call, Outcome, SdkLine, Step, call, run_client, start_http_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

STEPS: list[Step] = [
    LIST,
    call("write_file", path="a", content="b"),
    call("delete_file", path="a"),
    call("read_file", path="a"),
]
EXECUTED = [Call("write_file", {"path": "a", "content": "b"}), Call("read_file", {"path": "a"})]


def check(outcomes: list[Outcome]) -> None:
    """The denied call was an ordinary MCP error, and the session lived on."""
    listed, written, deleted, read = outcomes

    assert "write_file" in listed.tools
    assert "delete_file" not in listed.tools
    assert (written.text, read.text) == ("wrote a", "b")
    assert deleted.error is not None
    assert deleted.error.code == -32001
    assert "deleting is never for agents" in deleted.error.message


@pytest.mark.parametrize(
    ("line", "server", "launch"),
    [
        ("py1", "ts1", "script"),
        ("ts1", "py1", "script"),
        ("py2", "py2", "launcher"),
        ("ts2", "ts1", "launcher"),
    ],
)
def test_client_of_the_transport_of_2024_is_fenced(
    line: SdkLine, server: SdkLine, launch: Launch, tmp_path: Path
) -> None:
    with (
        start_http_server(server) as running,
        start_proxy(tmp_path, launch=launch, upstream=running.url.removesuffix("/mcp")) as proxy,
    ):
        check(run_client(line, STEPS, sse=f"{proxy.origin}/sse", era="legacy"))

        assert running.calls == EXECUTED
        decided = [event for event in proxy.events if event.get("tool") == "delete_file"]
        assert [event["decision"] for event in decided] == ["deny"]


@pytest.mark.parametrize(("line", "server"), [("py1", "py1"), ("ts1", "ts1")])
def test_transport_of_2024_is_found_on_hosts_that_the_policy_does_not_name(
    line: SdkLine, server: SdkLine, tmp_path: Path
) -> None:
    with start_http_server(server) as running, start_proxy(tmp_path, launch="launcher") as proxy:
        check(run_client(line, STEPS, sse=running.sse_url, era="legacy", env=proxied(proxy.origin)))

        assert running.calls == EXECUTED


def test_transport_of_2024_is_fenced_inside_tls(tmp_path: Path) -> None:
    """Also where the policy names the server by another endpoint of it."""
    certificate = make_ca(tmp_path)
    policy = POLICY + 'servers: {it: {url: "https://localhost:*/mcp"}}\n'
    with (
        start_http_server("ts1", certificate=certificate) as running,
        start_proxy(tmp_path, policy=policy, trusts=certificate.authority) as proxy,
    ):
        variables = {**proxied(proxy.origin), **trusting(proxy.authority)}
        check(run_client("py1", STEPS, sse=running.sse_url, era="legacy", env=variables))

        assert running.calls == EXECUTED
        assert {event["server"] for event in proxy.events} == {"it"}


# --- a server made by hand ---


class Server:
    """What one event stream sends, and what is posted for it."""

    def __init__(self, upstream: RecordingUpstream, proxy: Proxy) -> None:
        self.upstream = upstream
        self.proxy = proxy
        self.pieces: queue.Queue[bytes | None] = queue.Queue()
        self.receipt = Response(b"Accepted", 202, (("Content-Type", "text/plain"),))
        upstream.requests.clear()
        upstream.answer = self.answer

    def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return Response(iter(self.pieces.get, None), headers=EVENT_STREAM)
        return self.receipt

    def say(self, *pieces: bytes | None) -> None:
        """Send these pieces; None ends the stream."""
        for piece in pieces:
            self.pieces.put(piece)

    @property
    def posted(self) -> list[bytes]:
        return [request.body for request in self.upstream.requests if request.method == "POST"]


class Agent:
    """An agent that reads one event stream."""

    def __init__(self, server: Server, path: str = "/sse") -> None:
        self.server = server
        self._client = httpx.Client(base_url=server.proxy.origin, timeout=20)
        self._stream = self._client.stream("GET", path, headers={"Accept": "text/event-stream"})
        self._pieces: Iterator[bytes]
        self._read = b""

    def __enter__(self) -> Agent:
        self._pieces = self._stream.__enter__().iter_raw()
        return self

    def __exit__(self, *problem: Any) -> None:
        self.server.say(None)
        self._stream.__exit__(*problem)
        self._client.close()

    def read(self, end: bytes = b"\n\n") -> bytes:
        """What the stream brings next, up to and with `end`."""
        while end not in self._read:
            self._read += next(self._pieces)
        found, _, self._read = self._read.partition(end)
        return found + end

    def read_message(self) -> Any:
        """The next message on the stream."""
        return json.loads(self.read().split(b"data: ")[1])

    def post(self, body: bytes, path: str = "/messages?s=1", **headers: str) -> int:
        """The status with which a post is answered; none has a body that a client would read."""
        answer = httpx.post(
            self.server.proxy.origin + path,
            content=body,
            headers={"Content-Type": "application/json", **headers},
        )
        assert b"jsonrpc" not in answer.content
        return answer.status_code


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RecordingUpstream, Proxy]]:
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            tmp_path_factory.mktemp("sse"), launch="launcher", upstream=upstream.url.removesuffix("/mcp")
        ) as proxy,
    ):
        yield upstream, proxy


@pytest.fixture
def server(running: tuple[RecordingUpstream, Proxy]) -> Server:
    return Server(*running)


@pytest.fixture
def agent(server: Server) -> Iterator[Agent]:
    server.say(ANNOUNCEMENT)
    with Agent(server) as opened:
        assert opened.read() == ANNOUNCEMENT
        yield opened


ANNOUNCEMENT = b"event: endpoint\ndata: /messages?s=1\n\n"
EVENT_STREAM = (("Content-Type", "text/event-stream"),)


def answer(id_: Any, **more: Any) -> bytes:
    return (
        b"event: message\ndata: %b\n\n"
        % json.dumps({"jsonrpc": "2.0", "id": id_, "result": {"content": []}, **more}).encode()
    )


def test_refused_call_is_answered_on_an_idle_stream_between_two_events(server: Server, agent: Agent) -> None:
    whole = b": still here\n\ndata: " + b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'
    server.say(whole[:30])
    assert agent.post(call_body("delete_file", "a")) == 202
    assert agent.read() == b": still here\n\n"
    refused = agent.read_message()
    server.say(whole[30:])

    assert (refused["id"], refused["error"]["code"]) == ("a", -32001)
    assert agent.read() == whole.partition(b"\n\n")[2]
    assert server.posted == []


def test_call_is_answered_once_and_only_when_it_was_made(server: Server, agent: Agent) -> None:
    assert agent.post(call_body("read_file", 1)) == 202
    assert agent.post(call_body("read_file", 1)) == 202
    repeated = agent.read_message()
    server.say(answer(7), answer(1), answer(1), answer(1, error={"code": 1, "message": "x"}))
    answered = agent.read()
    assert agent.post(call_body("read_file", 2)) == 202
    server.say(answer(2, error={"code": 1, "message": "x"}))

    assert (repeated["id"], repeated["error"]["code"]) == (1, -32600)
    assert answered == answer(1)
    both = agent.read_message()
    assert (both["id"], both["error"]["code"]) == (2, -32003)
    assert server.posted == [call_body("read_file", 1), call_body("read_file", 2)]


def test_question_of_the_server_is_refused_by_the_agent(server: Server, agent: Agent) -> None:
    server.say(b'data: {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"read_file"}}\n\n')
    asked = agent.read_message()
    refusal = json.dumps({"jsonrpc": "2.0", "id": 5, "error": {"code": -32601, "message": "no"}}).encode()

    assert asked["method"] == "agentfence/refused"
    assert [agent.post(refusal), agent.post(refusal)] == [202, 202]
    assert server.posted == [refusal], "the second one answers nothing"


def test_endpoint_may_move_while_the_stream_runs(server: Server, agent: Agent) -> None:
    server.say(b"event: endpoint\ndata: http://127.0.0.1:%d/moved\n\n" % server.proxy.port)
    agent.read()
    assert agent.post(call_body("delete_file", 1), "/moved") == 202
    assert agent.read_message()["id"] == 1

    server.say(b"event: endpoint\ndata: http://localhost:1/elsewhere\n\n")
    agent.read()
    elsewhere = httpx.post(
        server.proxy.origin + "/elsewhere",
        content=call_body("delete_file", 2),
        headers={"Content-Type": "application/json"},
    )
    assert elsewhere.json()["id"] == 2


def test_endpoint_by_the_servers_own_address_is_told_as_a_path(server: Server, agent: Agent) -> None:
    """In reverse mode the agent knows the proxy's address alone, and would refuse another."""
    server.say(b"event: endpoint\ndata: %b\n\n" % server.upstream.url.replace("/mcp", "/own?s=2").encode())

    assert agent.read() == b"event: endpoint\ndata: /own?s=2\n\n"
    assert agent.post(call_body("delete_file", 1), "/own?s=2") == 202
    assert agent.read_message()["id"] == 1


@pytest.mark.parametrize(
    "receipt",
    [
        Response(b'{"jsonrpc":"2.0","id":1,"result":{}}'),
        Response(answer(1), headers=EVENT_STREAM),
        Response(b"", 202, (("Content-Type", "application/json"), ("Content-Type", "text/event-stream"))),
    ],
)
def test_receipt_of_a_post_brings_no_message(server: Server, agent: Agent, receipt: Response) -> None:
    server.receipt = receipt
    assert agent.post(call_body("read_file", 1)) == 202
    server.say(answer(1))

    assert agent.read() == answer(1)


def test_call_that_the_server_does_not_take_is_answered_on_the_stream(server: Server, agent: Agent) -> None:
    server.receipt = Response(b"Could not find session", 404, (("Content-Type", "text/plain"),))

    assert agent.post(call_body("read_file", 1)) == 404
    gone = agent.read_message()
    assert (gone["id"], gone["error"]["code"]) == (1, -32002)


def test_stream_that_breaks_off_ends_its_calls(server: Server) -> None:
    def breaks() -> Iterator[bytes]:
        yield ANNOUNCEMENT
        assert server.pieces.get() == b""
        raise EOFError("the server ends the connection in the middle")

    server.upstream.answer = lambda request: (
        Response(breaks(), headers=EVENT_STREAM) if request.method == "GET" else server.receipt
    )
    with Agent(server) as agent:
        agent.read()
        agent.post(call_body("read_file", 1))
        server.say(b"")
        gone = agent.read_message()

    assert (gone["id"], gone["error"]["code"]) == (1, -32002)


def test_after_its_stream_a_post_is_refused_in_its_answer(server: Server) -> None:
    server.say(ANNOUNCEMENT)
    with Agent(server) as agent:
        agent.read()
    answered = httpx.post(
        server.proxy.origin + "/messages?s=1",
        content=call_body("delete_file", 1),
        headers={"Content-Type": "application/json"},
    )

    assert answered.json()["error"]["code"] == -32001


# --- hosts that the policy does not name ---


@pytest.fixture(scope="module", params=["inspect", "block", "pass"])
def unlisted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, RecordingUpstream, Proxy]]:
    policy = POLICY + f"unlisted: {request.param}\n"
    with (
        start_recording_upstream() as upstream,
        start_proxy(tmp_path_factory.mktemp("unlisted"), launch="launcher", policy=policy) as proxy,
    ):
        yield request.param, upstream, proxy


def test_stream_of_an_unlisted_host(unlisted: tuple[str, RecordingUpstream, Proxy]) -> None:
    """Its posts are held at once, whatever they declare; blocked, or let pass unread, as the policy says."""
    treatment, upstream, proxy = unlisted
    server = Server(upstream, proxy)
    origin = upstream.url.removesuffix("/mcp")
    lie = b'data: {"jsonrpc":"2.0","id":9,"result":{}}\n\n'
    server.say(b": hi\n\n" + ANNOUNCEMENT + lie, b": bye\n\n")
    if treatment != "block":  # what is blocked is ended by the fence, and in order
        server.say(None)
    with httpx.Client(proxy=proxy.origin, timeout=20) as client:
        text = client.get(f"{origin}/any").content
        posted = client.post(
            f"{origin}/messages?s=1",
            content=call_body("delete_file", 1),
            headers={"Content-Type": "image/png"},
        )

    wanted = {
        "inspect": (b": hi\n\n" + ANNOUNCEMENT + b": bye\n\n", 415),
        "block": (b": hi\n\n" + ANNOUNCEMENT, 200),
        "pass": (b": hi\n\n" + ANNOUNCEMENT + lie + b": bye\n\n", 202),
    }
    assert (text, posted.status_code) == wanted[treatment]
    assert len(server.posted) == (treatment == "pass")
    if treatment == "block":
        assert [event["reason_code"] for event in proxy.events] == ["server_unlisted"] * 2


def test_other_event_streams_pass_as_they_come(unlisted: tuple[str, RecordingUpstream, Proxy]) -> None:
    _, upstream, proxy = unlisted
    server = Server(upstream, proxy)
    pieces = [
        b"event: pri",
        b"ce\ndata: 1\n\nevent: endpoint\ndata: https://other.example/x\n\n",
        b"data: [DO",
        b"NE]",
    ]
    server.say(*pieces, None)
    with httpx.Client(proxy=proxy.origin, timeout=20) as client:
        text = client.get(upstream.url, headers={"Accept": "text/event-stream"}).content

    assert text == b"".join(pieces)


@pytest.mark.parametrize("accept", ["text/event-stream", "*/*"])
@pytest.mark.parametrize("pack", [gzip.compress, bytes])
def test_stream_in_a_coding_announces_nothing_unread(
    pack: Callable[[bytes], bytes], accept: str, unlisted: tuple[str, RecordingUpstream, Proxy]
) -> None:
    """One that only some read as encoded (`x`) is read as it is; of the others none comes to its endpoint."""
    treatment, upstream, proxy = unlisted
    server = Server(upstream, proxy)
    coding = "x" if pack is bytes else "gzip"
    headers = (*EVENT_STREAM, ("Content-Encoding", coding))
    upstream.answer = lambda request: (
        Response(iter(server.pieces.get, None), headers=headers)
        if request.method == "GET"
        else server.receipt
    )
    announcement = b"event: endpoint\ndata: /%s?s=1\n\n" % coding.encode()
    pieces = [pack(b": hi\n\n"), pack(announcement)]
    server.say(*pieces, None)
    origin = upstream.url.removesuffix("/mcp")
    with httpx.Client(proxy=proxy.origin, timeout=20) as client:
        sent = {"Accept": accept, "Accept-Encoding": "gzip"}
        with client.stream("GET", f"{origin}/any", headers=sent) as stream:
            passed = b"".join(stream.iter_raw())
        posted = client.post(
            f"{origin}/{coding}?s=1", content=call_body("delete_file"), headers={"Content-Type": "image/png"}
        )

    is_kept_back = treatment != "pass" and pack is gzip.compress
    is_asked_plain = treatment != "pass" and accept != "*/*"
    assert (pieces[1] in passed) is not is_kept_back
    assert upstream.requests[0].header("accept-encoding") == ["identity" if is_asked_plain else "gzip"]
    if is_kept_back:
        assert "answer_refused" in {event["reason_code"] for event in proxy.events}
    else:
        assert len(server.posted) == (treatment == "pass")
        assert posted.status_code == {"inspect": 415, "block": 200, "pass": 202}[treatment]


def test_other_streams_in_a_coding_pass_as_they_come(
    unlisted: tuple[str, RecordingUpstream, Proxy],
) -> None:
    _, upstream, proxy = unlisted
    server = Server(upstream, proxy)
    headers = (*EVENT_STREAM, ("Content-Encoding", "gzip"))
    upstream.answer = lambda _: Response(iter(server.pieces.get, None), headers=headers)
    packed = gzip.compress(b"event: price\ndata: no endpoint\n\n" * 5_000)
    server.say(packed[:99], packed[99:], None)
    with (
        httpx.Client(proxy=proxy.origin, timeout=20) as client,
        client.stream("GET", upstream.url) as stream,
    ):
        assert b"".join(stream.iter_raw()) == packed
