"""The server that benchmarks over HTTP talk to: a POST gets a short answer, a GET an event stream.

As a script it prints the port that it listens on. `GET /events?count=N&every=S` sends N events, S seconds
apart, each with the clock's reading when it was sent; with N = 0 the stream stays open, silent after one.
With `&size=B` each holds a text of B bytes more.
"""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import parse_qs, urlsplit

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):
                await _stream(head.split()[1].decode(), writer)
                continue
            lower = head.lower()
            start = lower.index(b"content-length:") + 15
            body = await reader.readexactly(int(lower[start : lower.index(b"\r", start)]))
            id_ = body[body.index(b'"id":') + 5 : body.index(b",", body.index(b'"id":'))]
            answer = b'{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}' % id_
            writer.write(_HEAD % len(answer) + answer)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def _stream(target: str, writer: asyncio.StreamWriter) -> None:
    query = parse_qs(urlsplit(target).query)
    count, every = int(query["count"][0]), float(query["every"][0])
    text = "x" * int(query.get("size", ["0"])[0])
    writer.write(_STREAM)
    for _ in range(max(1, count)):
        params = {"level": "info", "data": time.monotonic(), "text": text}
        message = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
        event = f"event: message\ndata: {message}\n\n".encode()
        writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await writer.drain()
        await asyncio.sleep(every)
    if count == 0:
        await asyncio.Event().wait()
    writer.write(b"0\r\n\r\n")


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, backlog=2_048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
