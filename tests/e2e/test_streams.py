"""Answers through the fence: unchanged, undelayed, and in flat memory."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import socket
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest
import requests
from e2e.fence import (
    LAUNCHES,
    Launch,
    Proxy,
    body_of,
    call_body,
    post,
    receive,
    send_raw,
    start_proxy,
    status_of,
)
from e2e.network import RecordingUpstream, Request, Response, answer_result, start_recording_upstream
from e2e.parts import NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

EVENT_STREAM = (("Content-Type", "text/event-stream"),)


@pytest.fixture(scope="module", params=LAUNCHES)
def fenced(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Proxy, RecordingUpstream]]:
    launch: Launch = request.param
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            tmp_path_factory.mktemp("streams"), launch=launch, upstream=upstream.url.removesuffix("/mcp")
        ) as proxy,
    ):
        yield proxy, upstream


@pytest.fixture(autouse=True)
def plain_answers(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    fenced[1].answer = answer_result
    fenced[1].requests.clear()


def memory_of(proxy: Proxy) -> int:
    """Resident memory of the proxy, in kilobytes."""
    with open(f"/proc/{proxy.process.pid}/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


def progress(number: int) -> bytes:
    message = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 1, "progress": number},
    }
    return b"event: message\nid: %d\ndata: %b\n\n" % (number, json.dumps(message).encode())


RESULT = b'data: {"jsonrpc":"2.0","id":1,"result":{"content":[]}}\n\n'


def test_events_arrive_one_by_one(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    sent: list[float] = []

    def events() -> Iterator[bytes]:
        for number in range(5):
            time.sleep(0.1)
            sent.append(time.monotonic())
            yield progress(number)
        yield RESULT

    upstream.answer = lambda _: Response(events(), headers=EVENT_STREAM)
    seen: list[float] = []
    text = b""
    with httpx.stream(
        "POST", f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS
    ) as answer:
        for piece in answer.iter_raw():
            seen.append(time.monotonic())
            text += piece

    delays = sorted(arrived - left for left, arrived in zip(sent, seen, strict=False))
    assert text == b"".join(map(progress, range(5))) + RESULT
    assert delays[2] < 0.05


HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def test_a_stream_of_100_megabytes_leaves_memory_flat(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    filler = (
        b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%b"}}\n\n'
    )
    event = filler % (b"x" * 60_000)

    def events() -> Iterator[bytes]:
        for _ in range(1700):
            yield event
        yield RESULT

    upstream.answer = lambda _: Response(events(), headers=EVENT_STREAM)
    before = memory_of(proxy)
    received = highest = 0
    with httpx.stream(
        "POST", f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS, timeout=120
    ) as answer:
        for piece in answer.iter_raw():
            received += len(piece)
            if received % 7 == 0:
                highest = max(highest, memory_of(proxy))

    assert received == 1700 * len(event) + len(RESULT)
    assert highest - before < 30_000


def test_a_get_stream_stays_open_and_passes_events(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced

    def events() -> Iterator[bytes]:
        yield b": keep alive\n\n"
        time.sleep(0.5)
        yield b'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n'

    upstream.answer = lambda _: Response(events(), headers=(*EVENT_STREAM, ("Mcp-Session-Id", "s1")))
    with httpx.stream("GET", f"{proxy.origin}/mcp", headers={"Accept": "text/event-stream"}) as answer:
        text = b"".join(answer.iter_raw())

    assert answer.headers["mcp-session-id"] == "s1"
    assert text.startswith(b": keep alive\n\n")
    assert b"list_changed" in text


UNCHANGED = {
    "accepted": Response(status=202),
    "a challenge": Response(
        b'{"error":"unauthorized"}',
        401,
        (
            ("Content-Type", "application/json"),
            (
                "WWW-Authenticate",
                'Bearer resource_metadata="https://x.example/.well-known/oauth-protected-resource"',
            ),
            ("WWW-Authenticate", 'Basic realm="x"'),
        ),
    ),
    "insufficient scope": Response(b"", 403, (("WWW-Authenticate", 'Bearer error="insufficient_scope"'),)),
    "no such session": Response(
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}', 404
    ),
    "a page": Response(b"<html>busy</html>", 503, (("Content-Type", "text/html"),)),
    "a session": Response(
        b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}',
        200,
        (("Content-Type", "application/json"), ("Mcp-Session-Id", "abc"), ("X-Other", "1")),
    ),
    "an odd spelling": Response(b' {"id":1 ,"jsonrpc":"2.0", "result":{"n":1.0e2,"u":"\\u00e9"}}\n'),
    "an error without an id": Response(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'),
}


@pytest.mark.parametrize("kind", UNCHANGED)
def test_an_answer_passes_unchanged(kind: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    wanted = UNCHANGED[kind]
    upstream.answer = lambda _: wanted

    answer = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)

    assert (answer.status_code, answer.content) == (wanted.status, wanted.body)
    sent = [(name.lower(), value) for name, value in wanted.headers]
    assert [(n, v) for n, v in answer.headers.multi_items() if n in dict(sent)] == sent


def test_ending_a_session_passes(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    answer = httpx.delete(f"{proxy.origin}/mcp", headers={"Mcp-Session-Id": "abc"})

    assert answer.status_code == 202
    assert [(request.method, request.header("mcp-session-id")) for request in upstream.requests] == [
        ("DELETE", ["abc"])
    ]


def test_a_request_passes_byte_for_byte(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    body = b' {"params":{"arguments":{"path":"\\u00e9","n":1.50},"name":"read_file","_meta":{"traceparent":"00-1"}},\r\n"id":"x","method":"tools/call","jsonrpc":"2.0"}'

    send_raw(proxy.port, post("/mcp?x=1", body, "Traceparent: 00-2", "Authorization: Bearer t", "DPoP: p"))

    (request,) = upstream.requests
    assert (request.body, request.target) == (body, "/mcp?x=1")
    assert [request.header(name) for name in ("traceparent", "authorization", "dpop")] == [
        ["00-2"],
        ["Bearer t"],
        ["p"],
    ]


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_server_sees_its_own_name(method: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    body = call_body("read_file") if method == "POST" else b""
    httpx.request(method, f"{proxy.origin}/mcp", content=body, headers=HEADERS)

    (request,) = upstream.requests
    assert request.header("host") == [upstream.url.split("/")[2]]


RESULT_OF_1 = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"unread"}]}}'
JSON_TYPE = ("Content-Type", "application/json")


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (RESULT_OF_1, (JSON_TYPE, JSON_TYPE)),
        (RESULT_OF_1, (("Content-Type", "application/json, text/event-stream"),)),
        (gzip.compress(b"data: " + RESULT_OF_1 + b"\n\n"), (*EVENT_STREAM, ("Content-Encoding", "gzip"))),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_an_answer_that_is_refused_for_its_head_is_replaced_whole_and_at_once(
    body: bytes, headers: tuple[tuple[str, str], ...], ends: bool, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, upstream = fenced
    may_end = threading.Event()

    def endless() -> Iterator[bytes]:
        yield body
        may_end.wait(20)

    upstream.answer = lambda _: Response(body if ends else endless(), headers=headers)
    answer = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)
    may_end.set()

    assert (answer.status_code, answer.json()["id"], answer.json()["error"]["code"]) == (200, 1, -32003)
    assert b"unread" not in answer.content


UNASKED = b'{"jsonrpc":"2.0","id":9,"result":{"content":[]}}'


@pytest.mark.parametrize(
    ("smuggled", "declared"),
    [
        (b": \xe2\x80\xa8data: %b\n\n", "text/event-stream"),
        (b"x: \xc2\x85data: %b\xc2\x85\xc2\x85\n\n", "text/event-stream"),
        (b"event: ping\x0bdata: %b\n\n", "text/event-stream"),
        (b"event:  message\ndata: %b\n\n", "text/event-stream"),
        (b" data: %b\n\n", "text/event-stream"),
        (b"DATA: %b\r\r", "text/event-stream"),
        (b"event: other\ndata: %b\n\n", "text/event-stream"),
        (b"event: endpoint\ndata: %b\n\n", "text/event-stream"),
        (b"+AGQAYQB0AGE-: %b\n\n", "text/event-stream; charset=utf-7"),
    ],
)
def test_no_client_finds_an_event_that_was_not_judged(
    smuggled: bytes, declared: str, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, upstream = fenced
    upstream.answer = lambda _: Response(smuggled % UNASKED + RESULT, headers=(("Content-Type", declared),))
    answer = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)

    lines = [line for line in answer.text.splitlines() if line.startswith("data:")]
    assert [f"{line}\n\n".encode() for line in lines] == [RESULT]


@pytest.mark.parametrize(("method", "path"), [("POST", "/mcp"), ("GET", "/sse"), ("GET", "/other")])
def test_a_redirect_leads_through_the_fence_again(
    method: str, path: str, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, upstream = fenced
    slashed = (("Location", f"{upstream.url.removesuffix('/mcp')}{path}/"),)
    upstream.answer = lambda asked: (
        answer_result(asked) if asked.target == f"{path}/" else Response(b"", 307, slashed)
    )
    body = call_body("read_file") if method == "POST" else b""
    answer = httpx.request(method, proxy.origin + path, content=body, headers=HEADERS, follow_redirects=True)

    assert str(answer.url) == f"{proxy.origin}{path}/"
    assert [request.target for request in upstream.requests] == [path, f"{path}/"]


def test_a_redirect_to_another_server_is_passed_on_to_people_alone(
    fenced: tuple[Proxy, RecordingUpstream],
) -> None:
    proxy, upstream = fenced
    elsewhere = "http://127.0.0.1:9/mcp"
    upstream.answer = lambda _: Response(b"", 302, (("Location", elsewhere),))
    answer = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)
    stream = httpx.get(f"{proxy.origin}/mcp", headers=HEADERS)
    page = httpx.get(f"{proxy.origin}/authorize?client_id=x")

    assert stream.status_code == 502
    assert (answer.status_code, answer.json()["error"]["code"]) == (200, -32003)
    assert "location" not in answer.headers
    assert (page.status_code, page.headers["location"]) == (302, elsewhere)


@pytest.mark.parametrize(
    ("origin", "status", "allowed"),
    [
        ("http://localhost:6274", 200, "http://localhost:6274"),
        ("https://elsewhere.example", 403, None),
        (None, 200, None),
    ],
)
def test_an_agent_in_a_browser_reads_a_refusal(
    origin: str | None, status: int, allowed: str | None, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, _ = fenced
    headers = {**HEADERS, **({"Origin": origin} if origin else {})}
    refused = httpx.post(f"{proxy.origin}/mcp", content=call_body("delete_file"), headers=headers)

    assert refused.status_code == status
    assert "error" in refused.json()
    assert refused.headers.get("access-control-allow-origin") == allowed


def test_an_agent_in_a_browser_reads_that_its_body_is_too_large(
    fenced: tuple[Proxy, RecordingUpstream],
) -> None:
    headers = {**HEADERS, "Origin": "http://localhost:6274"}
    refused = httpx.post(f"{fenced[0].origin}/mcp", content=b" " * (LIMIT + 1), headers=headers, timeout=30)

    assert refused.status_code == 413
    assert refused.headers["access-control-allow-origin"] == "http://localhost:6274"


LISTED = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read_file"},{"name":"delete_file"}]}}'


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("is_encoded", [False, True])
@pytest.mark.parametrize("is_chunked", [False, True])
def test_an_answer_that_is_written_anew_has_one_length(
    is_chunked: bool, is_encoded: bool, version: str, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, upstream = fenced
    body = gzip.compress(LISTED) if is_encoded else LISTED
    coding = (("Content-Encoding", "gzip"),) if is_encoded else ()
    upstream.answer = lambda _: Response(iter([body]) if is_chunked else body, headers=(JSON_TYPE, *coding))
    asked = post("/mcp", b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', version=version)
    head, _, listed = send_raw(proxy.port, asked).partition(b"\r\n\r\n")

    assert json.loads(listed)["result"]["tools"] == [{"name": "read_file"}]
    frames = (b"content-length:", b"transfer-encoding:", b"content-encoding:")
    framing = [line for line in head.lower().split(b"\r\n") if line.startswith(frames)]
    assert framing == [b"content-length: %d" % len(listed)]


def test_a_client_of_http_1_0_gets_events_without_chunks(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    upstream.answer = lambda _: Response(RESULT, headers=EVENT_STREAM)
    answer = send_raw(proxy.port, post("/mcp", call_body("read_file"), version="1.0"))

    assert answer.endswith(b"\r\n\r\n" + RESULT)


PLAIN = b'{"jsonrpc":"2.0","id":1,"result":{}}'
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
FRAMED = {
    "behind interim answers": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(PLAIN), PLAIN),
    "with trailers": CHUNKED + b"\r\n%x\r\n%b\r\n0\r\nX-Sum: 1\r\n\r\n" % (len(PLAIN), PLAIN),
    "in broken chunks": CHUNKED + b"\r\n%x\r\n%b\r\nzz\r\n" % (len(PLAIN), PLAIN),
    "with two lengths": CHUNKED + b"Content-Length: 4\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(PLAIN), PLAIN),
}


@pytest.mark.parametrize("frame", FRAMED)
def test_an_answer_in_an_odd_frame(frame: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection, contextlib.suppress(ConnectionError):
                    while connection.recv(65_536):
                        connection.sendall(FRAMED[frame])

        threading.Thread(target=serve, daemon=True).start()
        upstream = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with (
            start_proxy(tmp_path_factory.mktemp("frame"), upstream=upstream) as proxy,
            httpx.Client() as client,
        ):
            answers = [
                client.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)
                for _ in range(2)
            ]

    assert {answer.status_code for answer in answers} == {200}
    if frame in {"with two lengths", "in broken chunks"}:
        assert [answer.json()["error"]["code"] for answer in answers] == [-32002, -32002]
    else:
        assert [answer.content for answer in answers] == [PLAIN, PLAIN]


@pytest.mark.parametrize("odd", ["b\rContent-Type: application/json", "b\r\n Content-Type: application/json"])
def test_no_client_finds_a_header_that_was_not_read(
    odd: str, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    """Python's `http.client` takes a CR for the end of a line."""
    proxy, upstream = fenced
    upstream.answer = lambda _: Response(PLAIN, headers=(("X-A", odd), ("Content-Type", "text/html")))
    client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
    with contextlib.closing(client):
        client.request("POST", "/mcp", call_body("read_file"), HEADERS)
        answer = client.getresponse()

    assert answer.headers.get_all("Content-Type") == ["text/html"]
    assert answer.headers["X-A"] == "b Content-Type: application/json"


def test_a_page_that_breaks_off_breaks_off(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    """An event at its end would be part of it, or make its client wait for the rest."""
    proxy, upstream = fenced

    def halves() -> Iterator[bytes]:
        yield b"<html>"
        raise EOFError("the server ends the connection in the middle")

    upstream.answer = lambda _: Response(halves(), headers=(("Content-Type", "text/html"),))
    pieces: list[bytes] = []
    with (
        pytest.raises(httpx.RemoteProtocolError),
        httpx.stream(
            "POST", f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS
        ) as answer,
    ):
        pieces.extend(answer.iter_raw())

    assert pieces == [b"<html>"]


def test_an_answer_is_read_as_the_utf_8_that_it_was_judged_as(
    fenced: tuple[Proxy, RecordingUpstream],
) -> None:
    proxy, upstream = fenced
    body = b'{"jsonrpc":"2.0","id":1,"result":{"+ACI-":"+AF8-"}}'
    upstream.answer = lambda _: Response(body, headers=(("Content-Type", "application/json; charset=utf-7"),))
    answer = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)

    assert (answer.headers["content-type"], answer.content) == ("application/json; charset=utf-8", body)


def test_a_stream_that_breaks_off_ends_with_an_error(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced

    def events() -> Iterator[bytes]:
        yield progress(0)
        raise EOFError("the server ends the connection in the middle")

    upstream.answer = lambda _: Response(events(), headers=EVENT_STREAM)
    with httpx.stream(
        "POST", f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS
    ) as answer:
        text = b"".join(answer.iter_raw())

    assert text.startswith(progress(0))
    assert b'"id":1,"error":{"code":-32002' in text


def test_a_server_that_is_not_there(tmp_path_factory: pytest.TempPathFactory) -> None:
    with start_proxy(tmp_path_factory.mktemp("gone"), upstream="http://127.0.0.1:1") as proxy:
        answer = send_raw(proxy.port, post("/mcp", call_body("read_file", "k")))

    assert status_of(answer) == 200
    assert body_of(answer)["id"] == "k"
    assert body_of(answer)["error"]["code"] == -32002


# --- bodies that are too large ---

LIMIT = 4_194_304


def test_wrong_host_is_refused_before_a_body_is_read(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    head = b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\n"

    for length in (b"99", b"%d" % (2 * LIMIT)):
        assert status_of(send_raw(proxy.port, head + b"Content-Length: " + length + b"\r\n\r\n")) == 403
    assert upstream.requests == []


def test_exactly_the_limit_passes_and_one_byte_more_does_not(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    body = call_body("read_file", path="PAD")
    exact = body.replace(b"PAD", b"a" * (LIMIT - len(body) + 3))

    passed = httpx.post(f"{proxy.origin}/mcp", content=exact, headers=HEADERS, timeout=30)
    refused = httpx.post(f"{proxy.origin}/mcp", content=exact + b" ", headers=HEADERS, timeout=30)

    assert passed.json()["result"] == {"content": [], "isError": False}
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, -32005)
    assert str(LIMIT) in refused.json()["error"]["message"]
    assert refused.headers["connection"] == "close"
    assert len(upstream.requests) == 1


def pieces(size: int) -> Iterator[bytes]:
    for _ in range(size // 65536):
        yield b" " * 65536


@pytest.mark.parametrize("framing", ["declared", "chunked"])
def test_a_client_that_sends_60_megabytes_gets_its_answer(
    framing: str, fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, upstream = fenced
    before = memory_of(proxy)
    content = b" " * 60_000_000 if framing == "declared" else pieces(60_000_000)
    with httpx.Client(timeout=60) as client:
        refused = client.post(f"{proxy.origin}/mcp", content=content, headers=HEADERS)
        grown = memory_of(proxy) - before
        after = client.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)

    assert (refused.status_code, refused.json()["id"]) == (413, None)
    assert after.status_code == 200
    assert grown < 30_000
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("framing", ["declared", "chunked"])
def test_requests_is_refused_and_goes_on(framing: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = fenced
    content = b" " * 60_000_000 if framing == "declared" else pieces(60_000_000)
    with requests.Session() as client:
        refused = client.post(f"{proxy.origin}/mcp", data=content, headers=HEADERS, timeout=60)
        after = client.post(f"{proxy.origin}/mcp", data=call_body("read_file"), headers=HEADERS, timeout=60)

    assert (refused.status_code, refused.json()["error"]["code"], after.status_code) == (413, -32005, 200)


@pytest.mark.parametrize(
    ("method", "headers", "said"),
    [
        ("PUT", HEADERS, (405, "allow", "POST, GET, DELETE")),
        ("POST", {**HEADERS, "Content-Encoding": "gzip"}, (415, "accept-encoding", "identity")),
    ],
)
def test_a_refusal_says_what_would_pass(
    method: str, headers: dict[str, str], said: tuple[int, str, str], fenced: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, _ = fenced
    refused = httpx.request(method, f"{proxy.origin}/mcp", content=call_body("read_file"), headers=headers)

    assert (refused.status_code, refused.headers[said[1]]) == (said[0], said[2])


CURL = ["curl", "-s", "-m", "20", "-w", "%{http_code} %{size_upload}"]
CURL += ["-H", "Expect: 100-continue", "-H", "Content-Type: application/json"]


def test_curl_is_refused_before_it_sends(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    ran = subprocess.run(
        [*CURL, "--data-binary", "@-", f"{proxy.origin}/mcp"],
        input=b" " * 60_000_000,
        capture_output=True,
        timeout=60,
        check=True,
    )

    body, _, end = ran.stdout.rpartition(b"}")
    assert end.split() == [b"413", b"0"]
    assert json.loads(body + b"}")["error"]["code"] == -32005
    assert upstream.requests == []


FETCH = """
const answer = await fetch(process.argv[1], {method: "POST", body: " ".repeat(60_000_000),
    headers: {"Content-Type": "application/json"}});
const refused = await answer.json();
const next = await fetch(process.argv[1], {method: "POST", body: process.argv[2],
    headers: {"Content-Type": "application/json"}});
console.log(JSON.stringify([answer.status, refused.error.code, next.status]));
"""


def test_nodes_fetch_is_refused_and_goes_on(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = fenced
    command = [NODE, "--input-type=module", "-e", FETCH, f"{proxy.origin}/mcp", call_body("read_file")]
    ran = subprocess.run(command, capture_output=True, timeout=60, check=True)

    assert json.loads(ran.stdout) == [413, -32005, 200]


def test_a_head_without_end_is_cut_off(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = fenced
    before = memory_of(proxy)
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        try:
            connection.sendall(b"POST /mcp HTTP/1.1\r\n")
            for number in range(20_000):
                connection.sendall(b"X-%d: %b\r\n" % (number, b"y" * 1000))
        except ConnectionError:
            pass
        answer = receive(connection, 5)

    assert status_of(answer) in {0, 431}
    assert memory_of(proxy) - before < 20_000


def test_a_large_answer_is_replaced_by_an_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    def answer(request: Request) -> Response:
        message = json.loads(request.body)
        result = {"content": [{"type": "text", "text": "x" * 100_000}]}
        return Response(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    with (
        start_recording_upstream(answer) as upstream,
        start_proxy(
            tmp_path_factory.mktemp("large"),
            upstream=upstream.url.removesuffix("/mcp"),
            settings=["agentfence_max_answer=50000"],
        ) as proxy,
    ):
        refused = send_raw(proxy.port, post("/mcp", call_body("read_file", 7)))

    assert (body_of(refused)["id"], body_of(refused)["error"]["code"]) == (7, -32003)


@pytest.mark.parametrize("kind", ["the answer", "a notification", "a comment"])
def test_a_large_event_ends_its_call_alone(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    large = {
        "the answer": RESULT.replace(b"[]", b'["' + b"x" * 100_000 + b'"]').replace(b"data", b"id: 7\ndata"),
        "a notification": progress(1).replace(b"progressToken", b"x" * 100_000),
        "a comment": b": " + b"x" * 100_000 + b"\n\n",
    }
    later = RESULT if kind != "the answer" else progress(2)

    with (
        start_recording_upstream(
            lambda _: Response(iter([large[kind], later]), headers=EVENT_STREAM)
        ) as upstream,
        start_proxy(
            tmp_path_factory.mktemp("large"),
            upstream=upstream.url.removesuffix("/mcp"),
            settings=["agentfence_max_answer=50000"],
        ) as proxy,
    ):
        answer = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)

    *refused, passed = answer.content.split(b"\n\n")[:-1]
    assert passed + b"\n\n" == later
    ended = [json.loads(event.split(b"data: ")[1]) for event in refused]
    assert [(end["id"], end["error"]["code"]) for end in ended] == [(1, -32003)] * (kind == "the answer")


def test_a_post_without_a_body_is_no_message(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    before = len(upstream.requests)
    refused = send_raw(proxy.port, post("/mcp", b""))

    assert (status_of(refused), body_of(refused)["error"]["code"]) == (400, -32700)
    assert len(upstream.requests) == before


def test_keep_alive_serves_many_requests(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = fenced
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
    for number in range(50):
        connection.request("POST", "/mcp", call_body("read_file", number), HEADERS)
        assert json.loads(connection.getresponse().read())["id"] == number
    connection.close()


def test_empty_lines_between_requests_are_passed_over(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = fenced
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        for number in range(2):
            connection.sendall(b"\r\n" + post("/mcp", call_body("read_file", number)))
            assert body_of(receive(connection))["id"] == number
