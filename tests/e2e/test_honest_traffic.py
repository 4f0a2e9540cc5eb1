"""What honest agents and servers say passes unchanged, byte for byte, in both directions."""

from __future__ import annotations

import base64
import http.client
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from e2e.fence import Proxy, start_proxy
from e2e.network import RecordingUpstream, Response, start_recording_upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

POLICY = """\
version: "1"
defaults: {decision: allow}
servers: {it: {url: "http://127.0.0.1:*/mcp"}}
"""
JSON_TYPE = ("Content-Type", "application/json")
EVENT_STREAM = ("Content-Type", "text/event-stream")
POSTED = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True)
class Way:
    """How a request gets to the upstream: in front of it, or through a forward proxy."""

    proxy: Proxy
    upstream: RecordingUpstream
    is_forward: bool

    def send(
        self, method: str, path: str, body: bytes | Iterator[bytes] | None, headers: dict[str, str]
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=60)
        origin = self.upstream.url.removesuffix("/mcp")
        named = {"Host": urlsplit(origin).netloc} if self.is_forward else {}
        connection.request(
            method,
            origin + path if self.is_forward else path,
            body,
            {**named, **headers},
            encode_chunked=True,
        )
        response = connection.getresponse()
        answer = Answer(response.status, response.read(), tuple(response.getheaders()))
        connection.close()
        return answer


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent got."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...]


@pytest.fixture(scope="module", params=["reverse", "forward"])
def way(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Way]:
    is_forward = request.param == "forward"
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            tmp_path_factory.mktemp("honest"),
            launch="script" if is_forward else "launcher",
            upstream=None if is_forward else upstream.url.removesuffix("/mcp"),
            policy=POLICY,
        ) as proxy,
    ):
        yield Way(proxy, upstream, is_forward)


@pytest.fixture(autouse=True)
def no_requests_yet(way: Way) -> None:
    way.upstream.requests.clear()


def check(way: Way, body: bytes, answer: Response, headers: dict[str, str] | None = None) -> None:
    """A POST and its answer pass as they are."""
    wanted = answer.body if isinstance(answer.body, bytes) else None
    way.upstream.answer = lambda _: answer
    given = {**POSTED, **(headers or {})}
    got = way.send("POST", "/mcp", body, given)

    (request,) = way.upstream.requests
    assert request.body == body
    for name, value in given.items():
        if name.lower() != "accept-encoding":
            assert request.header(name) == [value]
    assert got.status == answer.status
    assert wanted is None or got.body == wanted
    for header in answer.headers:
        assert header in got.headers


def call_of(id_: str = "1", arguments: str = '"arguments":{"a":1}', **more: str) -> bytes:
    members = "".join(f',"{name}":{value}' for name, value in more.items())
    return f'{{"jsonrpc":"2.0","id":{id_},"method":"tools/call","params":{{"name":"t",{arguments}{members}}}}}'.encode()


def result_of(id_: str = "1", result: str = '{"content":[]}') -> Response:
    return Response(f'{{"jsonrpc":"2.0","id":{id_},"result":{result}}}'.encode(), headers=(JSON_TYPE,))


IDS = [
    "0",
    "-1",
    "9007199254740991",
    "-9007199254740991",
    '""',
    '"a b"',
    '"9007199254740993"',
    '"\\u00e9\\n"',
]
IDS += [f'"{"x" * 2000}"', '"é漢😀"', '"00000000-0000-4000-8000-000000000000"']


@pytest.mark.parametrize("id_", IDS, ids=range(len(IDS)))
def test_every_legal_id(id_: str, way: Way) -> None:
    check(way, call_of(id_), result_of(id_))


ARGUMENTS = {
    "none": '"x":1',
    "empty": '"arguments":{}',
    "null": '"arguments":null',
    "numbers": '"arguments":{"a":1.50,"b":1e2,"c":-0.0,"d":1E-400,"e":123456789012345678901234567890}',
    "spaces": '"arguments" :\r\n\t{ "a" : [ 1 , 2 ] }',
    "escapes": '"arguments":{"\\u0061":"\\/\\u0041\\ud83d\\ude00","":"empty key","a/b":"\\b\\f\\n\\r\\t\\""}',
    "unicode": '"arguments":{"ключ":"значение","e\u0301":"é","line":"\u2028\u2029","nul":"\\u0000"}',
    "deep": '"arguments":{"a":' + "[" * 100 + "]" * 100 + "}",
    "twins of nothing": '"arguments":{"method":"x","Method":"y","id":1,"jsonrpc":"3","name":"n","params":[]}',
    "prototype": '"arguments":{"__proto__":{"a":1},"constructor":1}',
    "wide": '"arguments":{' + ",".join(f'"k{n}":{n}' for n in range(5000)) + "}",
    "large": '"arguments":{"text":"' + "y" * 3_000_000 + '"}',
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_exotic_but_legal_arguments(kind: str, way: Way) -> None:
    check(way, call_of(arguments=ARGUMENTS[kind]), result_of())


META = '{"progressToken":"p","traceparent":"00-1","vendor.example/x":{"a":[null,true]},"io.modelcontextprotocol/related-task":{"taskId":"t"}}'


def test_meta_and_members_that_nobody_knows(way: Way) -> None:
    body = call_of(_meta=META, task='{"ttl":1000}', futureMember="[1]")
    body = body[:-1] + b',"extension":{"a":1}}'
    check(
        way,
        body,
        result_of(result='{"content":[],"_meta":{"a":1},"structuredContent":{"b":[1.0]},"future":null}'),
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "Application/JSON",
        "application/json;",
    ],
)
def test_content_types_that_mean_the_same(content_type: str, way: Way) -> None:
    check(way, call_of(), result_of(), {"Content-Type": content_type})


HEADERS = {
    "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "Tracestate": "vendor=1,other=2",
    "Baggage": "user=x",
    "X-Request-Id": "1",
    "Authorization": "Bearer token",
    "DPoP": "proof",
    "Cookie": "a=b; c=d",
    "User-Agent": "agent/1",
    "Mcp-Session-Id": "0-9az~!",
    "MCP-Protocol-Version": "2025-06-18",
    "Accept-Language": "de",
}


def test_headers_pass(way: Way) -> None:
    check(way, call_of(), result_of(), HEADERS)


def test_a_chunked_post_passes(way: Way) -> None:
    way.upstream.answer = lambda _: result_of()
    pieces = [call_of()[:20], call_of()[20:]]
    got = way.send("POST", "/mcp?x=1&y=%20", iter(pieces), POSTED)

    assert got.body == result_of().body
    assert (way.upstream.requests[0].body, way.upstream.requests[0].target) == (call_of(), "/mcp?x=1&y=%20")


def test_a_request_that_claims_2026_passes(way: Way) -> None:
    meta = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    mirrored = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "t",
        "Mcp-Param-X": "1",
    }
    check(way, call_of(_meta=meta), result_of(result='{"resultType":"complete","content":[]}'), mirrored)


OTHERS = [
    b'{"jsonrpc":"2.0","method":"notifications/vendor/unknown","params":{"a":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none","reason":"x"}}',
    b'{"jsonrpc":"2.0","id":7,"result":{"roots":[]}}',
    b'{"jsonrpc":"2.0","id":"q","error":{"code":-1,"message":"User rejected","data":{"a":1}}}',
]


@pytest.mark.parametrize("body", OTHERS, ids=range(len(OTHERS)))
def test_what_needs_no_answer_gets_202(body: bytes, way: Way) -> None:
    check(way, body, Response(b"", 202, ()))


RECEIPTS = [b"{}", b"null", b'""', b"[]", b'{"status":"accepted"}', b'{"ok": true}']


@pytest.mark.parametrize("status", [200, 202])
@pytest.mark.parametrize("receipt", RECEIPTS)
def test_a_receipt_of_what_needs_no_answer(receipt: bytes, status: int, way: Way) -> None:
    for body in (OTHERS[1], OTHERS[4]):
        way.upstream.requests.clear()
        check(way, body, Response(receipt, status, (JSON_TYPE,)))


ODD_RECEIPTS = [b'{"jsonrpc":"2.0","result":{}}', b'{"jsonrpc":"2.0","id":null,"result":null}', b"OK"]


@pytest.mark.parametrize("receipt", ODD_RECEIPTS)
def test_a_receipt_that_looks_like_a_message_is_a_receipt(receipt: bytes, way: Way) -> None:
    way.upstream.answer = lambda _: Response(receipt, headers=(JSON_TYPE,))
    got = way.send("POST", "/mcp", OTHERS[1], POSTED)

    assert (got.status, got.body) == (202, b"")


IMAGE = base64.b64encode(bytes(range(256)) * 4096).decode()
RESULTS = {
    "an image": f'{{"content":[{{"type":"image","data":"{IMAGE}","mimeType":"image/png"}}]}}',
    "a big result": '{"content":[{"type":"text","text":"' + "z" * 12_000_000 + '"}]}',
    "an error of the tool": '{"content":[{"type":"text","text":"no"}],"isError":true}',
    "a resource": '{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"AAAA"}},{"type":"resource_link","uri":"x:y","name":"n"}]}',
    "nothing": "null",
    "a text": '"text"',
    "a number": "1.0e2",
}


@pytest.mark.parametrize("kind", RESULTS)
def test_results_of_any_kind(kind: str, way: Way) -> None:
    check(way, call_of(), result_of(result=RESULTS[kind]))


def test_a_list_of_tools_in_which_none_is_hidden(way: Way) -> None:
    tools = '{ "tools" : [{"name":"t", "inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}],"nextCursor":""}'
    check(
        way, b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":""}}', result_of(result=tools)
    )


MESSAGE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1}}}'
ANSWERED = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
STREAMS = {
    "line ends": b"event: message\r\nid: 1\r\ndata: " + MESSAGE + b"\r\n\r\ndata: " + ANSWERED + b"\r\r",
    "comments": b": hello\n\n:\n\ndata: " + MESSAGE + b"\n: inside\n\ndata:" + ANSWERED + b"\n\n",
    "priming": b"id: 0\ndata: \n\nretry: 3000\n\nid: 1\ndata: " + ANSWERED + b"\n\n",
    "several lines": b'data: {"jsonrpc":"2.0",\ndata: "id":1,\ndata: "result":{}}\n\n',
    "other events": b"event: ping\ndata: 2024-01-01\n\nevent: vendor\ndata: {}\n\ndata: "
    + ANSWERED
    + b"\n\n",
    "a mark": b"\xef\xbb\xbfdata: " + ANSWERED + b"\n\n",
    "a large event": b'data: {"jsonrpc":"2.0","id":1,"result":{"x":"' + b"w" * 6_000_000 + b'"}}\n\n',
    "a ping of the server": b'data: {"jsonrpc":"2.0","id":"s1","method":"ping"}\n\ndata: '
    + ANSWERED
    + b"\n\n",
}


@pytest.mark.parametrize("kind", STREAMS)
def test_event_streams_of_any_form(kind: str, way: Way) -> None:
    stream = STREAMS[kind]
    pieces = [stream[i : i + 7_919] for i in range(0, len(stream), 7_919)]
    way.upstream.answer = lambda _: Response(
        iter(pieces), headers=(EVENT_STREAM, ("Cache-Control", "no-cache"))
    )
    got = way.send("POST", "/mcp", call_of(), POSTED)

    assert (got.status, got.body) == (200, stream)
    assert ("Cache-Control", "no-cache") in got.headers


def test_a_stream_that_is_silent_for_a_while_and_one_that_resumes(way: Way) -> None:
    def slow() -> Iterator[bytes]:
        yield b"retry: 10\n\n: \n\n"
        time.sleep(1.5)
        yield b"id: 5\ndata: " + MESSAGE + b"\n\n"

    way.upstream.answer = lambda _: Response(slow(), headers=(EVENT_STREAM, ("Mcp-Session-Id", "s")))
    listening = way.send("GET", "/mcp", None, {"Accept": "text/event-stream", "Mcp-Session-Id": "s"})
    resumed = way.send("GET", "/mcp", None, {"Accept": "text/event-stream", "Last-Event-ID": "4"})

    assert (
        listening.body
        == resumed.body
        == b"".join([b"retry: 10\n\n: \n\n", b"id: 5\ndata: " + MESSAGE + b"\n\n"])
    )
    assert [request.header("last-event-id") for request in way.upstream.requests] == [[], ["4"]]


CHALLENGE = 'Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x.example/.well-known/oauth-protected-resource/mcp"'
VERBS: list[tuple[str, str, Response]] = [
    ("GET", "/mcp", Response(b"", 405, (("Allow", "POST"),))),
    (
        "GET",
        "/mcp",
        Response(b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"Method not allowed."},"id":null}', 405),
    ),
    ("DELETE", "/mcp", Response(b"", 200, ())),
    ("DELETE", "/mcp", Response(b"", 405, (("Allow", "GET, POST"),))),
    ("OPTIONS", "/mcp", Response(b"", 204, (("Access-Control-Allow-Methods", "POST"),))),
    ("GET", "/mcp", Response(b"", 401, (("WWW-Authenticate", CHALLENGE), ("WWW-Authenticate", "DPoP")))),
    ("GET", "/.well-known/oauth-protected-resource/mcp", Response(b'{"resource":"http://x/mcp" }')),
    ("GET", "/.well-known/oauth-authorization-server", Response(b'{"issuer":"http://x"}')),
    (
        "GET",
        "/.well-known/openid-configuration",
        Response(b"<html>none</html>", 404, (("Content-Type", "text/html"),)),
    ),
    ("GET", "/mcp/.well-known/openid-configuration", Response(b"{}", 404)),
    ("GET", "/mcp", Response(b'{"status":"ok"}')),
    ("DELETE", "/mcp", Response(b'{"deleted": true}')),
    (
        "GET",
        "/favicon.ico",
        Response(b"\x00\x01\xff", 200, (("Content-Type", "image/x-icon"), ("ETag", '"a"'))),
    ),
    (
        "GET",
        "/authorize?response_type=code",
        Response(b"", 302, (("Location", "http://localhost/cb?code=1"),)),
    ),
]


@pytest.mark.parametrize(("method", "path", "answer"), VERBS, ids=range(len(VERBS)))
def test_other_verbs_and_oauth_discovery(method: str, path: str, answer: Response, way: Way) -> None:
    way.upstream.answer = lambda _: answer
    headers = {
        "MCP-Protocol-Version": "2025-11-25",
        "Mcp-Session-Id": f"verbs-{VERBS.index((method, path, answer))}",
    }
    got = way.send(method, path, None, headers)

    assert (got.status, got.body) == (answer.status, answer.body)
    assert [header for header in got.headers if header in answer.headers] == list(answer.headers)
    (request,) = way.upstream.requests
    assert (request.method, request.target, request.body) == (method, path, b"")


OAUTH_POSTS: list[tuple[str, dict[str, str], bytes]] = [
    (
        "/token",
        {"Content-Type": "application/x-www-form-urlencoded"},
        b"grant_type=refresh_token&refresh_token=r",
    ),
    (
        "/register",
        {"Content-Type": "application/json"},
        b'{"client_name":"x","redirect_uris":["http://localhost/cb"]}',
    ),
    ("/oauth/revoke", {"Content-Type": "application/x-www-form-urlencoded"}, b"token=t"),
]


@pytest.mark.parametrize(("path", "headers", "body"), OAUTH_POSTS, ids=range(len(OAUTH_POSTS)))
def test_oauth_posts(path: str, headers: dict[str, str], body: bytes, way: Way) -> None:
    answer = Response(
        b'{"access_token":"a" , "token_type":"Bearer"}', 200, (JSON_TYPE, ("Cache-Control", "no-store"))
    )
    way.upstream.answer = lambda _: answer
    got = way.send("POST", path, body, headers)

    assert (got.status, got.body) == (200, answer.body)
    assert way.upstream.requests[0].body == body


ERRORS = [400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 451, 500, 502, 503]


@pytest.mark.parametrize("status", ERRORS)
def test_errors_of_http_pass(status: int, way: Way) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no","data":{"x":[1]}}}'
    check(way, call_of(), Response(body, status, (JSON_TYPE, ("Retry-After", "1"), ("X-Other", "a"))))


def test_an_error_of_the_server_passes_with_its_data(way: Way) -> None:
    error = b'{"jsonrpc": "2.0","error":{"code":-32002,"message":"Resource not found","data":{"uri":"a"}}, "id":1}'
    check(way, call_of(), Response(error, headers=(JSON_TYPE,)))


def test_a_session_of_many_requests(way: Way) -> None:
    way.upstream.answer = lambda request: result_of(json.dumps(json.loads(request.body)["id"]))
    headers = {**POSTED, "Mcp-Session-Id": "many"}
    for number in range(30):
        assert way.send("POST", "/mcp", call_of(str(number)), headers).body == result_of(str(number)).body
