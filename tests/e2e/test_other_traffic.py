"""What an agent's proxy carries beside MCP passes untouched and unbuffered."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from typing import TYPE_CHECKING

import h2.config
import h2.connection
import h2.events
import httpx
import pytest
from e2e.fence import LAUNCHES, POLICY, Launch, Proxy, call_body, post, receive, start_proxy, status_of
from e2e.network import (
    Certificate,
    RecordingUpstream,
    Request,
    Response,
    answer_result,
    make_ca,
    start_recording_upstream,
)
from e2e.test_streams import memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module", params=LAUNCHES)
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Proxy, RecordingUpstream, Certificate]]:
    """A forward proxy, and a server that the policy does not name."""
    launch: Launch = request.param
    folder = tmp_path_factory.mktemp("other")
    certificate = make_ca(folder)
    policy = POLICY + "tunnel: [localhost]\n"
    with (
        start_recording_upstream() as upstream,
        start_proxy(folder, launch=launch, policy=policy, trusts=certificate.authority) as proxy,
    ):
        yield proxy, upstream, certificate


@pytest.fixture
def proxy(world: tuple[Proxy, RecordingUpstream, Certificate]) -> Proxy:
    return world[0]


@pytest.fixture
def upstream(world: tuple[Proxy, RecordingUpstream, Certificate]) -> RecordingUpstream:
    world[1].answer = answer_result
    world[1].requests.clear()
    return world[1]


@pytest.fixture
def client(proxy: Proxy) -> Iterator[httpx.Client]:
    with httpx.Client(proxy=proxy.origin, timeout=30) as opened:
        yield opened


def test_mcp_is_judged_here_too(client: httpx.Client, upstream: RecordingUpstream) -> None:
    denied = client.post(
        upstream.url, content=call_body("delete_file"), headers={"Content-Type": "application/json"}
    )
    allowed = client.post(
        upstream.url, content=call_body("read_file"), headers={"Content-Type": "application/json"}
    )

    assert denied.json()["error"]["code"] == -32001
    assert "result" in allowed.json()
    assert len(upstream.requests) == 1


def test_a_conversation_with_a_model_streams(client: httpx.Client, upstream: RecordingUpstream) -> None:
    """The prompt holds an image over the limit; the answer comes word by word."""
    image = base64.b64encode(b"x" * 6_000_000).decode()
    prompt = {"model": "m", "stream": True, "messages": [{"role": "user", "content": [{"image": image}]}]}
    left: list[float] = []

    def words() -> Iterator[bytes]:
        for word in ("one", "two", "three"):
            time.sleep(0.2)
            left.append(time.monotonic())
            yield f'data: {{"choices":[{{"delta":{{"content":"{word}"}}}}]}}\n\n'.encode()

    upstream.answer = lambda _: Response(words(), headers=(("Content-Type", "text/event-stream"),))
    body = json.dumps(prompt).encode()
    arrived: list[float] = []
    with client.stream(
        "POST", upstream.url, content=body, headers={"Content-Type": "application/json"}
    ) as answer:
        arrived.extend(time.monotonic() for _ in answer.iter_raw())

    assert upstream.requests[0].body == body
    assert min(b - a for a, b in zip(left, arrived, strict=False)) < 0.1


def test_a_body_over_the_limit_that_is_a_message_is_refused(
    client: httpx.Client, upstream: RecordingUpstream
) -> None:
    body = call_body("delete_file", path="x" * 6_000_000)

    answer = client.post(upstream.url, content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == 413
    assert upstream.requests == []


def test_an_upload_is_not_buffered(client: httpx.Client, proxy: Proxy, upstream: RecordingUpstream) -> None:
    def memory() -> int:
        with open(f"/proc/{proxy.process.pid}/status") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    before = memory()
    seen: list[int] = []

    def pieces() -> Iterator[bytes]:
        for number in range(300):
            if number % 100 == 0:
                seen.append(memory())
            yield b"z" * 65536

    client.put(upstream.url, content=pieces(), headers={"Content-Type": "application/octet-stream"})

    assert len(upstream.requests[0].body) == 300 * 65536
    assert max(seen) - before < 20_000


OTHER = {
    "Ethereum": b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x0"},"latest"]}',
    "a batch of Ethereum": b'[{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}]',
    "Odoo": b'{"jsonrpc":"2.0","method":"call","params":{"service":"common","method":"login","args":[]},"id":3}',
    "A2A": b'{"jsonrpc":"2.0","id":"1","method":"message/send","params":{"message":{"role":"user"}}}',
    "GraphQL": b'{"query":"{ me { name } }","variables":{"method":"tools"}}',
    "broken JSON": b'{"a":1,}',
    "duplicate keys": b'{"a":1,"a":2}',
    "text": b"tools/call",
    "nothing": b"",
}


@pytest.mark.parametrize("kind", OTHER)
def test_other_json_passes_unchanged(kind: str, client: httpx.Client, upstream: RecordingUpstream) -> None:
    upstream.answer = lambda _: Response(b'{"ok":true}')

    answer = client.post(upstream.url, content=OTHER[kind], headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.content) == (200, b'{"ok":true}')
    assert upstream.requests[0].body == OTHER[kind]
    if OTHER[kind][:1] in {b"{", b"["}:
        assert upstream.requests[0].header("connection") == ["keep-alive"]


def test_a_client_is_told_that_its_upload_ends_the_connection(
    client: httpx.Client, upstream: RecordingUpstream
) -> None:
    upstream.answer = lambda _: Response(b"ok", headers=(("Content-Type", "text/plain"),))

    answers = [client.post(upstream.url, data={"a": "b"}) for _ in range(20)]

    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers["connection"] for answer in answers} == {"close"}
    assert {request.header("connection")[0] for request in upstream.requests} == {"close"}


def test_headers_of_other_traffic_stay_as_they_are(client: httpx.Client, upstream: RecordingUpstream) -> None:
    upstream.answer = lambda _: Response(
        b"\x1f\x8b",
        headers=(("Content-Encoding", "gzip"), ("Alt-Svc", 'h3=":443"'), ("X-Odd", "a"), ("X-Odd", "b")),
    )
    with client.stream(
        "GET", upstream.url, headers={"Accept-Encoding": "gzip, br", "X-Twice": "1"}
    ) as answer:
        raw = b"".join(answer.iter_raw())

    assert raw == b"\x1f\x8b"
    assert answer.headers.get_list("x-odd") == ["a", "b"]
    assert upstream.requests[0].header("accept-encoding") == ["gzip, br"]


def test_oauth_passes(client: httpx.Client, upstream: RecordingUpstream) -> None:
    origin = upstream.url.removesuffix("/mcp")
    upstream.answer = lambda request: Response(json.dumps({"path": request.target}).encode())

    metadata = client.get(
        f"{origin}/.well-known/oauth-authorization-server", headers={"MCP-Protocol-Version": "2025-06-18"}
    )
    token = client.post(f"{origin}/token", data={"grant_type": "authorization_code", "code": "c"})
    registered = client.post(
        f"{origin}/register", json={"client_name": "x", "redirect_uris": ["http://localhost/"]}
    )

    assert [answer.status_code for answer in (metadata, token, registered)] == [200, 200, 200]
    assert len(upstream.requests) == 3


def _websocket_frame(text: bytes) -> bytes:
    mask = b"\x01\x02\x03\x04"
    masked = bytes(octet ^ mask[i % 4] for i, octet in enumerate(text))
    length = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + struct.pack(">H", len(text))
    return b"\x81" + length + mask + masked


@contextlib.contextmanager
def _echoing_websocket(*, is_sink: bool = False) -> Iterator[tuple[int, list[bytes]]]:
    """A server that upgrades anything, echoes one frame, and keeps what it was sent; a sink says nothing."""
    received: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(
                        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
                    )
                    connection.settimeout(3)
                    with contextlib.suppress(OSError):
                        frame = connection.recv(65536)
                        received.append(frame)
                        while is_sink and received[-1]:
                            received.append(connection.recv(65536))
                        if frame and not is_sink:
                            connection.sendall(b"\x81\x02hi")
                            received.append(connection.recv(65536))

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1], received
    finally:
        listener.close()


def _upgrade(port: int, *more: str) -> bytes:
    lines = [
        f"GET http://127.0.0.1:{port}/ws HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        *more,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def test_a_websocket_passes(proxy: Proxy) -> None:
    with (
        _echoing_websocket() as (port, received),
        socket.create_connection(("127.0.0.1", proxy.port), 5) as client,
    ):
        client.sendall(_upgrade(port))
        assert b" 101 " in client.recv(4096)
        client.sendall(_websocket_frame(b"hello"))
        assert client.recv(4096).endswith(b"hi")

    assert received


def test_a_message_on_a_websocket_is_dropped(proxy: Proxy) -> None:
    with (
        _echoing_websocket() as (port, received),
        socket.create_connection(("127.0.0.1", proxy.port), 5) as client,
    ):
        client.sendall(_upgrade(port))
        assert b" 101 " in client.recv(4096)
        client.sendall(_websocket_frame(call_body("delete_file")))
        with contextlib.suppress(OSError):
            while client.recv(4096):
                continue
            client.sendall(_websocket_frame(b"hello"))
        time.sleep(0.3)

    assert received == [b""], "the socket was not ended"


def test_a_websocket_is_not_kept_in_memory(proxy: Proxy) -> None:
    message = b"\x82\xff" + struct.pack(">Q", 1_000_000) + bytes(4) + b"x" * 1_000_000
    with (
        _echoing_websocket(is_sink=True) as (port, received),
        socket.create_connection(("127.0.0.1", proxy.port), 5) as client,
    ):
        client.sendall(_upgrade(port))
        assert b" 101 " in client.recv(4096)
        client.sendall(message)
        before = memory_of(proxy)
        for _ in range(100):
            client.sendall(message)
        client.shutdown(socket.SHUT_WR)
        client.recv(4096)

    assert sum(map(len, received)) > 100 * 1_000_000
    assert memory_of(proxy) - before < 50_000


@pytest.mark.parametrize("content_type", ["image/png", "application/json"])
def test_another_addons_answer_comes_before_a_large_body(content_type: str, tmp_path: Path) -> None:
    """As the question for a password: clients send the body again with it."""
    head = f"POST http://127.0.0.1:9/ HTTP/1.1\r\nHost: 127.0.0.1:9\r\nContent-Type: {content_type}\r\n"
    with (
        start_proxy(tmp_path, launch="launcher", settings=["proxyauth=eva:pw"]) as proxy,
        socket.create_connection(("127.0.0.1", proxy.port), 30) as client,
    ):
        before = memory_of(proxy)
        client.sendall(head.encode() + b"Content-Length: 100000000\r\n\r\n")
        for _ in range(100):
            client.sendall(b"x" * 1_000_000)
        answer = receive(client)
        grown = memory_of(proxy) - before

    assert status_of(answer) == 407
    assert grown < 50_000


def test_a_websocket_that_says_it_is_mcp_is_refused(proxy: Proxy) -> None:
    with (
        _echoing_websocket() as (port, received),
        socket.create_connection(("127.0.0.1", proxy.port), 5) as client,
    ):
        client.sendall(_upgrade(port, "Sec-WebSocket-Protocol: mcp"))
        answer = receive(client, 5)

    assert status_of(answer) == 403
    assert received == []


def _serve_http2(certificate: Certificate) -> tuple[socket.socket, list[bytes]]:
    """A server that speaks HTTP/2 alone, as gRPC does."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file, certificate.key)
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0))
    received: list[bytes] = []

    def serve() -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            plain, _ = listener.accept()
            with context.wrap_socket(plain, server_side=True) as connection:
                server = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
                server.initiate_connection()
                connection.sendall(server.data_to_send())
                while octets := connection.recv(65536):
                    for event in server.receive_data(octets):
                        if isinstance(event, h2.events.DataReceived):
                            received.append(event.data)
                            server.send_headers(
                                event.stream_id, [(":status", "200"), ("content-type", "application/grpc")]
                            )
                            server.send_data(event.stream_id, b"pong", end_stream=True)
                    connection.sendall(server.data_to_send())

    threading.Thread(target=serve, daemon=True).start()
    return listener, received


def test_grpc_passes_through_a_tunnel(world: tuple[Proxy, RecordingUpstream, Certificate]) -> None:
    proxy, _, certificate = world
    listener, received = _serve_http2(certificate)
    target = f"localhost:{listener.getsockname()[1]}"
    context = ssl.create_default_context(cafile=str(certificate.authority))
    context.set_alpn_protocols(["h2"])
    with listener, socket.create_connection(("127.0.0.1", proxy.port), 5) as plain:
        plain.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(4096)
        with context.wrap_socket(plain, server_hostname="localhost") as connection:
            assert connection.selected_alpn_protocol() == "h2"
            client = h2.connection.H2Connection()
            client.initiate_connection()
            client.send_headers(
                1, [(":method", "POST"), (":path", "/x.Y/Z"), (":scheme", "https"), (":authority", target)]
            )
            client.send_data(1, b"ping", end_stream=True)
            connection.sendall(client.data_to_send())
            text = b""
            while b"pong" not in text and (octets := connection.recv(65536)):
                text += octets

    assert received == [b"ping"]
    assert [event["host"] for event in proxy.events if event["kind"] == "tunnel"] == ["localhost"]


@pytest.mark.parametrize("named", ["other.example", None])
def test_a_tunnel_needs_its_host_twice(
    named: str | None, world: tuple[Proxy, RecordingUpstream, Certificate]
) -> None:
    """CONNECT to a tunnelled host with another SNI, or none, is read and not passed."""
    proxy, _, certificate = world
    with (
        start_recording_upstream(certificate=certificate) as upstream,
        socket.create_connection(("127.0.0.1", proxy.port), 5) as plain,
    ):
        target = upstream.url.split("/")[2]
        plain.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        assert b" 200 " in plain.recv(4096)
        context = ssl.create_default_context(cafile=str(proxy.authority))
        context.check_hostname = False
        with context.wrap_socket(plain, server_hostname=named) as connection:
            connection.sendall(post("/mcp", call_body("delete_file"), host=target))
            answer = receive(connection, 5)

    assert b"-32001" in answer
    assert upstream.requests == []


def test_a_server_that_the_policy_blocks(tmp_path: Path) -> None:
    """With the statuses of a policy's refusals, as others end the sessions of some clients."""

    def answer(_: Request) -> Response:
        return Response(b"{}")

    said = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    with (
        start_recording_upstream(answer) as upstream,
        start_proxy(tmp_path, policy=POLICY + "unlisted: block\n") as proxy,
        httpx.Client(proxy=proxy.origin) as client,
    ):
        headers = {"Content-Type": "application/json"}
        bodies = (call_body("read_file", "a"), said, b'[{"method":"tools/call"}]', b'{"a":1}')
        mcp, told, listed, other = (
            client.post(upstream.url, content=body, headers=headers) for body in bodies
        )

    assert (mcp.status_code, mcp.json()["id"], mcp.json()["error"]["code"]) == (200, "a", -32001)
    assert mcp.json()["error"]["data"]["agentfence"]["reason_code"] == "server_unlisted"
    assert (told.status_code, told.content) == (202, b"")
    assert (listed.status_code, listed.json()["id"]) == (403, None)
    assert other.status_code == 200
    assert len(upstream.requests) == 1
