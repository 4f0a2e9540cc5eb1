"""Exchanges of one MCP session through the fence: what one brings must fit what another sent."""

from __future__ import annotations

import json
import queue
import threading
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from e2e.fence import Proxy, call_body, start_proxy
from e2e.network import RecordingUpstream, Request, Response, answer_result, start_recording_upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

EVENT_STREAM = ("Content-Type", "text/event-stream")
JSON_TYPE = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RecordingUpstream, Proxy]]:
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            tmp_path_factory.mktemp("sessions"), launch="launcher", upstream=upstream.url.removesuffix("/mcp")
        ) as proxy,
    ):
        yield upstream, proxy


def event(id_: Any, number: int) -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "result": {"content": [], "n": number}}
    return b"id: %d\ndata: %b\n\n" % (number, json.dumps(message).encode())


class Session:
    """An agent and a server in one session, whose first POST settles 2025-11-25."""

    def __init__(self, upstream: RecordingUpstream, proxy: Proxy, id_: str) -> None:
        self.upstream = upstream
        self.url = f"{proxy.origin}/mcp"
        self.headers = {**JSON_TYPE, "Mcp-Session-Id": id_}
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"},
        }
        settled = json.dumps({"jsonrpc": "2.0", "id": 0, "result": result}).encode()
        begun = Response(settled, headers=(("Content-Type", "application/json"), ("Mcp-Session-Id", id_)))
        upstream.answer = lambda _: begun
        initialize = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25"},
        }
        httpx.post(self.url, json=initialize, headers=JSON_TYPE)
        upstream.answer = answer_result
        upstream.requests.clear()

    def post(self, body: bytes) -> httpx.Response:
        return httpx.post(self.url, content=body, headers=self.headers, timeout=20)

    def get(self, *events: bytes, **headers: str) -> bytes:
        """What a GET stream brings of these events."""
        self.upstream.answer = lambda _: Response(iter(events), headers=(EVENT_STREAM,))
        return httpx.get(self.url, headers={**self.headers, **headers}, timeout=20).content


@pytest.fixture
def session(running: tuple[RecordingUpstream, Proxy], request: pytest.FixtureRequest) -> Session:
    return Session(*running, f"session of {request.node.name}".replace(" ", "-"))


def test_id_that_is_in_flight_in_another_post_is_refused(session: Session) -> None:
    arrived, may_answer = threading.Event(), threading.Event()

    def slow(request: Request) -> Response:
        arrived.set()
        may_answer.wait(20)
        return answer_result(request)

    session.upstream.answer = slow
    answers: queue.Queue[httpx.Response] = queue.Queue()
    first = threading.Thread(target=lambda: answers.put(session.post(call_body("read_file", 1))))
    first.start()
    assert arrived.wait(20)
    second = session.post(call_body("read_file", "1"))
    may_answer.set()
    first.join()

    assert (second.json()["id"], second.json()["error"]["code"]) == ("1", -32600)
    assert "result" in answers.get().json()
    assert "result" in session.post(call_body("read_file", 1)).json(), "it is over, so the id may come again"


def test_stream_that_broke_off_is_resumed_with_its_answer_and_replays(
    session: Session, running: tuple[RecordingUpstream, Proxy]
) -> None:
    session.upstream.answer = lambda _: Response(iter([b"id: 1\ndata: \n\n"]), headers=(EVENT_STREAM,))
    assert session.post(call_body("read_file", 1)).content == b"id: 1\ndata: \n\n"

    told = session.get(event(1, 2), event(1, 3), event(7, 4))
    replayed = session.get(event(1, 2), event(7, 4), **{"Last-Event-ID": "1"})

    assert told == event(1, 2), "once, and nothing that answers no call"
    assert replayed == event(1, 2) + event(7, 4)
    lines = map(json.loads, (running[1].folder / "audit.jsonl").read_text().splitlines())
    answered = [line for line in lines if line["kind"] == "answered"]
    assert [line.get("uncorrelated") for line in answered[-3:]] == [None, None, True]


def test_event_that_is_written_anew_keeps_its_place_in_the_stream(session: Session) -> None:
    listed = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"delete_file"}]}}'
    events = iter([b"retry: 5\nid: 8\ndata: %b\n\n" % listed])
    session.upstream.answer = lambda _: Response(events, headers=(EVENT_STREAM,))
    told = session.post(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}').content

    assert told.startswith(b"retry: 5\nid: 8\n")
    assert b"delete_file" not in told


def test_answer_that_is_result_and_error_ends_its_call_with_an_error(session: Session) -> None:
    both = b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}'
    session.upstream.answer = lambda _: Response(both)

    assert session.post(call_body("read_file", 1)).json()["error"]["code"] == -32003


@pytest.mark.parametrize("id_", [b"1", b"null"])
def test_error_of_http_sends_no_person_where_none_may_be_sent(id_: bytes, session: Session) -> None:
    """Clients take a message from it, whatever the status."""
    asking = b'{"mode":"url","message":"m","url":"http://127.0.0.1:1/"}'
    error = b'{"code":-32042,"message":"m","data":{"elicitations":[%b]}}' % asking
    session.upstream.answer = lambda _: Response(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (id_, error), 400)
    told = session.post(call_body("read_file", 1)).json()

    assert (told["id"], told["error"]["code"] in {-32001, -32003}) == (1, True)
    assert "elicitations" not in str(told)


def test_post_gets_its_own_answer_once(session: Session) -> None:
    session.upstream.answer = lambda _: Response(
        iter([event(2, 1), event(1, 2), event(1, 3)]), headers=(EVENT_STREAM,)
    )

    assert session.post(call_body("read_file", 1)).content == event(1, 2)


def test_agents_answer_goes_on_only_to_what_the_server_asked(session: Session) -> None:
    ping = b'data: {"jsonrpc":"2.0","id":9,"method":"ping"}\n\n'
    assert session.get(ping) == ping
    session.upstream.requests.clear()
    session.upstream.answer = lambda _: Response(status=202)
    answers = [b'{"jsonrpc":"2.0","id":%d,"result":{}}' % id_ for id_ in (8, 9, 9)]

    assert [session.post(answer).status_code for answer in answers] == [202] * 3
    assert [request.body for request in session.upstream.requests] == [answers[1]]


def test_header_cannot_contradict_what_the_session_settled(session: Session) -> None:
    session.headers["MCP-Protocol-Version"] = "2025-03-26"
    refused = session.post(call_body("read_file", 1))

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
    assert session.upstream.requests == []


@pytest.mark.parametrize(("status", "is_over"), [(204, True), (404, True), (405, False)])
def test_session_is_over_when_its_server_says_so(status: int, is_over: bool, session: Session) -> None:
    session.upstream.answer = lambda _: Response(status=status)
    assert httpx.delete(session.url, headers=session.headers).status_code == status
    session.upstream.answer = answer_result
    session.headers["MCP-Protocol-Version"] = "2025-03-26"

    assert session.post(call_body("read_file", 1)).is_success is is_over
