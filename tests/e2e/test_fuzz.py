"""Mutated messages through the fence to real servers: none ever runs a tool that the policy denies."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import TYPE_CHECKING

import pytest
from e2e.fence import Launch, receive, relay, start_proxy
from e2e.parts import SDK_LINES, SdkLine, executed_calls, start_http_server, stdio_server
from e2e.process import Process
from fuzz.messages import DENIED, MUTATIONS, message

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

POLICY = 'version: "1"\ndefaults: {decision: deny}\ntools: {read_file: allow, delete_file: deny}\n'
COUNT = 5 * len(MUTATIONS)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "start",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "f", "version": "1"},
    },
}


@pytest.mark.parametrize("on_batch", ["reject", "evaluate"])
@pytest.mark.parametrize("line", SDK_LINES)
def test_no_server_on_stdio_runs_a_denied_tool(line: SdkLine, on_batch: str, tmp_path: Path) -> None:
    record = tmp_path / "calls.jsonl"
    command = relay(tmp_path, *stdio_server(line, record), policy=POLICY, options=["--on-batch", on_batch])
    with Process(command, cwd=tmp_path) as process:
        process.write_line(json.dumps(INITIALIZE))
        process.read_line()
        process.write_line('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        for seed in range(COUNT):
            process.write(message(seed) + b"\n")
        process.write_line('{"jsonrpc":"2.0","id":"end","method":"ping"}')
        while json.loads(process.read_line()).get("id") != "end":
            continue

    ran = {call.tool for call in executed_calls(record)}
    assert DENIED not in ran
    assert "read_file" in ran


# The two ways to launch share all that reads messages, so the second is tried with half of the servers.
@pytest.mark.parametrize(
    ("line", "launch"),
    [*((line, "script") for line in SDK_LINES), ("py1", "launcher"), ("ts2", "launcher")],
)
def test_no_server_on_http_runs_a_denied_tool(line: SdkLine, launch: Launch, tmp_path: Path) -> None:
    types = (
        "application/json",
        "application/json; charset=utf-7",
        "text/plain",
        "application/json;charset=utf-16",
    )
    with (
        start_http_server(line) as server,
        start_proxy(
            tmp_path, launch=launch, upstream=server.url.removesuffix("/mcp"), policy=POLICY
        ) as proxy,
    ):
        for seed in range(COUNT):
            body = message(seed)
            lines = [
                "POST /mcp HTTP/1.1",
                f"Host: 127.0.0.1:{proxy.port}",
                f"Content-Type: {types[seed % 7] if seed % 7 < len(types) else types[0]}",
                "Accept: application/json, text/event-stream",
                f"Content-Length: {len(body)}",
                *(["Content-Encoding: gzip"] if body.startswith(b"\x1f\x8b") else []),
            ]
            with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
                connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
                with contextlib.suppress(TimeoutError):
                    assert receive(connection, 5), message(seed)
        assert proxy.process.exit_status is None

        assert DENIED not in {call.tool for call in server.calls}
