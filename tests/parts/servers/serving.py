"""How the Python test servers are started: one command line, one HTTP listener."""

from __future__ import annotations

import argparse
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

Application = Callable[[Any, Any, Any], Any]


def read_arguments() -> argparse.Namespace:
    """The command line that all test servers share."""
    parser = argparse.ArgumentParser()
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--stdio", action="store_true")
    way.add_argument("--http", type=int, metavar="PORT", help="0 picks a free one; the URL is printed")
    parser.add_argument("--record", type=Path, help="append each executed call to this file, one JSON a line")
    parser.add_argument("--json", action="store_true", help="answer with JSON instead of an event stream")
    parser.add_argument("--cert", type=Path)
    parser.add_argument("--key", type=Path)
    return parser.parse_args()


async def serve_http(
    application: Application, running: AbstractAsyncContextManager[None], arguments: argparse.Namespace
) -> None:
    """Serve on the loopback until told to stop, after printing the endpoint's URL on a line of its own."""
    listener = socket.create_server(("127.0.0.1", arguments.http))
    origin = "https://localhost" if arguments.cert else "http://127.0.0.1"
    print(f"{origin}:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(
        application,
        interface="asgi3",
        lifespan="off",
        log_level=logging.ERROR,
        ssl_certfile=arguments.cert,
        ssl_keyfile=arguments.key,
        timeout_graceful_shutdown=1,
    )
    async with running:
        await uvicorn.Server(config).serve(sockets=[listener])


def route(streamable: Application, sse: Application, sse_messages: Application) -> Application:
    """Streamable HTTP at /mcp; at /sse and /messages/ the transport of revision 2024-11-05."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        if path == "/mcp":
            await streamable(scope, receive, send)
        elif path == "/sse":
            await sse(scope, receive, send)
        elif path.startswith("/messages/"):
            await sse_messages(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    return application
