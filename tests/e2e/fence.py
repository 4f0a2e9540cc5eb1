"""The fence, started as a person starts it: the script in mitmdump, the launcher, the relay."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from e2e.network import free_port
from e2e.parts import ROOT
from e2e.process import Process
from surfaces import about_messages

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Launch = Literal["script", "launcher"]
LAUNCHES: tuple[Launch, ...] = ("script", "launcher")
BIN = ROOT / ".venv" / "bin"

POLICY = """\
version: "1"
defaults: {decision: deny}
tools:
  read_file: allow
  write_file: allow
  count_slowly: allow
  fail: allow
  ask_user: allow
  ask_model: allow
  delete_file: {decision: deny, message: "deleting is never for agents"}
"""
ALLOW_ALL = 'version: "1"\ndefaults: {decision: allow}\n'


@dataclass(frozen=True, slots=True)
class Proxy:
    """A running proxy with the fence in it."""

    port: int
    process: Process
    folder: Path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def authority(self) -> Path:
        """The certificate of the authority that signs what a forward proxy shows its clients."""
        return self.folder / "conf" / "mitmproxy-ca-cert.pem"

    @property
    def events(self) -> list[dict[str, Any]]:
        """The audit events so far."""
        return read_events(self.folder / "audit.jsonl")


def read_events(log: Path) -> list[dict[str, Any]]:
    """The events of an audit log about messages that were judged or refused."""
    return about_messages(map(json.loads, log.read_text().splitlines())) if log.exists() else []


def write_policy(folder: Path, text: str = POLICY) -> Path:
    """A policy file in a folder."""
    file = folder / "policy.yaml"
    file.write_text(text)
    return file


@contextlib.contextmanager
def start_proxy(
    folder: Path,
    *,
    launch: Launch = "script",
    upstream: str | None = None,
    policy: str = POLICY,
    before: Sequence[Path] = (),
    after: Sequence[Path] = (),
    script: Path = ROOT / "addon" / "agentfence.py",
    settings: Sequence[str] = (),
    program: str = "mitmdump",
    trusts: Path | None = None,
    arguments: Sequence[str] = (),
) -> Iterator[Proxy]:
    """The fence in front of `upstream` (an origin), or as a forward proxy, ready for connections.

    `before` and `after` are other scripts for mitmdump; `trusts` is the authority of TLS servers.
    """
    port = free_port()
    sets = [f"agentfence_audit_log={folder / 'audit.jsonl'}", f"confdir={folder / 'conf'}", *settings]
    if trusts is not None:
        sets.append(f"ssl_verify_upstream_trusted_ca={trusts}")
    policy_file = write_policy(folder, policy)
    if launch == "script":
        scripts = [word for file in (*before, script, *after) for word in ("-s", str(file))]
        command = [BIN / program, *scripts, "-p", str(port), "--set", f"agentfence_policy={policy_file}"]
        command += ["--mode", f"reverse:{upstream}"] if upstream else []
    else:
        command = [BIN / "agentfence", "proxy-http", "--listen", f"127.0.0.1:{port}", "--policy", policy_file]
        command += ["--upstream", upstream] if upstream else []
    command += [*(word for setting in sets for word in ("--set", setting)), *arguments]
    with Process(command, env={"HOME": str(folder)}, cwd=folder) as process:
        wait_for_port(port, process)
        yield Proxy(port, process, folder)


def wait_for_port(port: int, process: Process, timeout: float = 60.0) -> None:
    """Return once a process says that it listens at this port of the loopback, where mitmdump moves to."""
    while f"listening at 127.0.0.1:{port}" not in process.read_line(timeout):
        continue


def relay(folder: Path, *server: str | Path, policy: str = POLICY, options: Sequence[str] = ()) -> list[str]:
    """The command of the relay around a server."""
    own = [
        "--policy",
        str(write_policy(folder, policy)),
        "--audit-log",
        str(folder / "audit.jsonl"),
        *options,
    ]
    return [str(BIN / "python"), "-m", "agentfence.stdio", *own, "--", *map(str, server)]


def script_of(folder: Path, command: Sequence[str]) -> list[str]:
    """A command in a script of its own, for programs that take no `--` in a command."""
    script = folder / "server.sh"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
    script.chmod(0o700)
    return [str(script)]


def send_raw(port: int, octets: bytes, *, timeout: float = 10.0, half_close: bool = False) -> bytes:
    """What comes back for these octets until the other side closes or is silent for a second."""
    with socket.create_connection(("127.0.0.1", port), timeout) as connection:
        connection.sendall(octets)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        return receive(connection, timeout)


def receive(connection: socket.socket, timeout: float = 10.0) -> bytes:
    """What a connection says: one HTTP answer with a length, or all until it is closed or silent."""
    received = b""
    deadline = time.monotonic() + timeout
    with contextlib.suppress(TimeoutError, ConnectionError):
        while not _is_whole(received):
            connection.settimeout(max(0.05, deadline - time.monotonic()))
            piece = connection.recv(65536)
            if not piece:
                break
            received += piece
    return received


def _is_whole(received: bytes) -> bool:
    head, separator, body = received.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return head.split(b" ")[1] in {b"202", b"204"} or body.endswith(b"0\r\n\r\n")


def post(path: str, body: bytes, *headers: str, host: str = "127.0.0.1", version: str = "1.1") -> bytes:
    """An HTTP request that posts JSON."""
    lines = [
        f"POST {path} HTTP/{version}",
        f"Host: {host}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(body)}",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def call_body(tool: str, id_: int | str = 1, **arguments: Any) -> bytes:
    """The body of a `tools/call`."""
    message = {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    return json.dumps(message).encode()


def body_of(answer: bytes) -> Any:
    """The JSON in an HTTP answer."""
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def status_of(answer: bytes) -> int:
    """The status of an HTTP answer; 0 when there is none."""
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/") else 0


def environment(**variables: str) -> dict[str, str]:
    """This environment with some more variables."""
    return {**os.environ, **variables}
