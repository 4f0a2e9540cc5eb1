"""What is made to exhaust the fence: each gets an answer, memory stays flat, and the process lives."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from typing import TYPE_CHECKING

import brotli
import httpx
import pytest
from backports import zstd
from e2e.fence import Proxy, body_of, call_body, receive, start_proxy, status_of
from e2e.network import RecordingUpstream, start_recording_upstream
from e2e.test_streams import memory_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

MIB = 1_048_576
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def fenced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, RecordingUpstream]]:
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            tmp_path_factory.mktemp("limits"), launch="launcher", upstream=upstream.url.removesuffix("/mcp")
        ) as proxy,
    ):
        httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS)  # to warm up
        yield proxy, upstream


@pytest.fixture(autouse=True)
def process_lives(fenced: tuple[Proxy, RecordingUpstream]) -> Iterator[None]:
    proxy, upstream = fenced
    upstream.requests.clear()
    before = memory_of(proxy)
    yield
    after = httpx.post(f"{proxy.origin}/mcp", content=call_body("read_file"), headers=HEADERS, timeout=60)
    assert "result" in after.json()
    assert memory_of(proxy) - before < 100_000, "kilobytes"


def call_with(arguments: bytes) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":%b}}'
        % arguments
    )


SIZE = 4 * MIB - 200
BOMBS = {
    "arrays": b"[" * SIZE,
    "arrays inside": call_with(b'{"a":' + b"[" * (SIZE // 2) + b"]" * (SIZE // 2) + b"}"),
    "objects": b'{"a":' * (SIZE // 5),
    "a level too many": call_with(b'{"a":' + b"[" * 127 + b"]" * 127 + b"}"),
    "digits": call_with(b'{"a":' + b"9" * SIZE + b"}"),
    "an exponent": call_with(b'{"a":1e999999999}'),
    "many numbers": call_with(b'{"a":[' + b"1," * (SIZE // 2) + b"1]}"),
    "keys": call_with(b"{" + b",".join(b'"%d":0' % n for n in range(300_000)) + b"}"),
    "one key twice": call_with(b"{" + b",".join(b'"%d":0' % n for n in range(90_000)) + b',"0":1}'),
    "an id": b'{"jsonrpc":"2.0","id":' + b"1" * SIZE + b',"method":"ping"}',
    "escapes without end": call_with(b'{"a":"' + b"\\u00" * (SIZE // 4)),
    "backslashes": call_with(b'{"a":"' + b"\\\\" * (SIZE // 2 - 100) + b'"')[:-1],
    "blanks": b" " * SIZE,
    "halves of pairs": call_with(b'{"a":"' + b"\\ud800" * (SIZE // 6) + b'"}'),
    "a batch": b"[" + b",".join([b"{}"] * 1_000_000) + b"]",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_body_that_is_hard_to_read_is_refused(kind: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    refused = httpx.post(f"{proxy.origin}/mcp", content=BOMBS[kind], headers=HEADERS, timeout=60)

    assert refused.status_code in {200, 400}
    assert refused.json()["error"]["code"] in {-32700, -32600, -32004}
    assert upstream.requests == []


def test_as_many_keys_as_may_be_pass(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    arguments = json.dumps({str(number): number for number in range(90_000)}).encode()
    passed = httpx.post(f"{proxy.origin}/mcp", content=call_with(arguments), headers=HEADERS, timeout=60)

    assert "result" in passed.json()
    assert upstream.requests[0].body == call_with(arguments)


ZEROS = bytes(64 * MIB)
COMPRESSED = {
    "gzip": gzip.compress(ZEROS, 1),
    "deflate": zlib.compress(ZEROS, 1),
    "br": brotli.compress(ZEROS, quality=1),
    "zstd": zstd.compress(ZEROS),
    "gzip, gzip": gzip.compress(gzip.compress(ZEROS, 1)),
    "x-gzip": gzip.compress(call_body("delete_file")),
    "hex": call_body("delete_file").hex().encode(),
}


@pytest.mark.parametrize("coding", COMPRESSED)
def test_a_compressed_body_is_refused_unread(coding: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    headers = {**HEADERS, "Content-Encoding": coding}
    refused = httpx.post(f"{proxy.origin}/mcp", content=COMPRESSED[coding], headers=headers, timeout=60)

    assert (refused.status_code, refused.json()["error"]["code"]) == (415, -32600)
    assert upstream.requests == []


HEAD_FLOODS = {
    "many": [f"X-{number}: y" for number in range(9_000)],
    "parameters of MCP": [f"Mcp-Param-{number}: y" for number in range(5_000)],
    "one name again and again": ["Mcp-Session-Id: a"] * 5_000,
    "one long value": ["X: " + "y" * 200_000],
    "a long type": ["Content-Type: application/json" + "; a=b" * 20_000],
    "a long list": ["Transfer-Encoding: " + "chunked," * 20_000],
}


@pytest.mark.parametrize("kind", HEAD_FLOODS)
def test_a_flood_of_headers_is_answered(kind: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = fenced
    body = call_body("read_file")
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *HEAD_FLOODS[kind]]
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        answer = receive(connection, 20)

    assert status_of(answer) in {200, 400, 415, 431}


@pytest.mark.parametrize("kind", ["many", "parameters of MCP", "one name again and again"])
def test_a_head_of_too_many_fields_is_refused(kind: str, fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    body = call_body("read_file")
    lines = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", f"Content-Length: {len(body)}", *HEAD_FLOODS[kind]]
    with socket.create_connection(("127.0.0.1", proxy.port), 20) as connection:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        answer = receive(connection, 20)

    assert status_of(answer) == 431
    error = body_of(answer)["error"]
    assert (error["code"], error["data"]["agentfence"]["reason_code"]) == (-32005, "oversize")
    assert proxy.events[-1]["reason_code"] == "oversize"
    assert upstream.requests == []


def test_a_transfer_coding_of_blanks_holds_nobody_up(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    flood = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: a" + b" " * 200_000 + b"b\r\n\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port), 5) as connection:
        connection.sendall(flood)

        assert status_of(receive(connection, 5)) == 400
    assert upstream.requests == []


def test_bodies_that_never_end_hold_nobody_up(fenced: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = fenced
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n"
    slow = [socket.create_connection(("127.0.0.1", proxy.port), 20) for _ in range(100)]
    try:
        for connection in slow:
            connection.sendall(head + b'{"jsonrpc"')
        for octet in b':"2.0","id":1':
            for connection in slow:
                connection.sendall(bytes([octet]))
        with socket.create_connection(("127.0.0.1", proxy.port), 20) as other:
            body = call_body("read_file", 5)
            other.sendall(head.replace(b"4000000", b"%d" % len(body)) + body)
            assert body_of(receive(other, 20))["id"] == 5
    finally:
        for connection in slow:
            connection.close()

    assert len(upstream.requests) == 1
