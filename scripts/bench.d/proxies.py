"""Proxies with and without the fence before one server, for benchmarks over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from figures import ROOT, agentfence, cpu_seconds
from messages import policy_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
DIRECT, BARE, STREAMING, SCRIPT, SMALL, PROXY, WEB = (
    "direct",
    "bare mitmdump -q",
    "bare mitmdump -q, streaming",
    "mitmdump -q -s addon/agentfence.py",
    "the launcher without the fence",
    "agentfence proxy-http",
    "agentfence proxy-http --web",
)
_PATIENCE = 60.0


class Target:
    """Something that listens on a port of this machine, and its process."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self.pid = pid

    @property
    def cpu_seconds(self) -> float:
        """What its process has used so far."""
        return cpu_seconds(self.pid)

    @property
    def resident_bytes(self) -> int:
        """What memory it holds now."""
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def running(names: Sequence[str]) -> Iterator[dict[str, Target]]:
    """Give what was asked for by name, all before the same server."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(_child([sys.executable, str(HERE / "http_server.py")], folder))
        assert server.stdout is not None
        upstream = int(server.stdout.readline())
        targets = {DIRECT: Target(upstream, server.pid)}
        for name in names:
            if name != DIRECT:
                port = _free_port()
                command = _command(name, f"http://127.0.0.1:{upstream}", port, Path(folder))
                child = stack.enter_context(_child(command, folder))
                targets[name] = Target(port, child.pid)
        for target in targets.values():
            connect(target).close()
        yield {name: targets[name] for name in names}


def connect(target: Target) -> socket.socket:
    """Give a connection, as soon as it listens."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", target.port))
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def post(body: bytes) -> bytes:
    """The bytes of a request with that body."""
    fields = (
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-06-18",
        f"Content-Length: {len(body)}",
    )
    head = "\r\n".join(("POST /mcp HTTP/1.1", *fields, "", ""))
    return head.encode() + body


def take_answer(connection: socket.socket) -> None:
    """Read one short answer."""
    received = b""
    while not received.endswith(b"}}"):
        piece = connection.recv(65_536)
        if not piece:
            raise SystemExit(f"the connection ended after {received!r}")
        received += piece
    if not received.startswith(b"HTTP/1.1 200") or b'"result"' not in received:
        raise SystemExit(f"a call was answered with {received!r}")


def _command(name: str, upstream: str, port: int, folder: Path) -> list[str]:
    policy, log = folder / "policy.yaml", folder / f"audit-{port}.jsonl"
    policy.write_text(policy_text(logs_arguments=True))
    host = ["--set", f"confdir={folder}"]
    listen = [*host, "-q", "--mode", f"reverse:{upstream}", "--listen-host", "127.0.0.1", "-p", str(port)]
    mitmdump = str(Path(sys.executable).with_name("mitmdump"))
    if name == BARE:
        return [mitmdump, *listen]
    if name == STREAMING:  # else it would hold a stream back until it ends
        return [mitmdump, *listen, "--set", "stream_large_bodies=1"]
    if name == SCRIPT:
        own = ["--set", f"agentfence_policy={policy}", "--set", f"agentfence_audit_log={log}"]
        return [mitmdump, *listen, "-s", str(ROOT / "addon" / "agentfence.py"), *own]
    if name == SMALL:
        return [sys.executable, str(HERE / "bare_launcher.py"), upstream, str(port)]
    own = ["--policy", str(policy), "--audit-log", str(log), "-q", *host]
    web = (
        ["--web", "--set", "web_open_browser=false", "--set", f"web_port={_free_port()}"]
        if name == WEB
        else []
    )
    return [*agentfence("proxy-http", "--upstream", upstream, "--listen", f"127.0.0.1:{port}"), *own, *web]


@contextmanager
def _child(command: Sequence[str], folder: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "XDG_STATE_HOME": folder}
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        yield child
    finally:
        child.terminate()
        child.wait()
        if child.stdout is not None:
            child.stdout.close()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
