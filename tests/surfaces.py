"""One message through each way in: the core alone, the relay as a process, the addon in mitmproxy.

A surface has one policy and one agent; what it is given goes through in order. All of them stand
before the same server (`echo_server.py`) and tell what came of a message in the same words.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import threading
from base64 import b64encode
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from echo_server import answers
from event_schema import validate_event
from talking import make_gate

from agentfence.core.answers import server_message
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Answer, Approval, Ask, Forward, Record
from agentfence.core.event_stream import EventSplitter
from agentfence.core.servers import name_of_command
from agentfence.core.session import Conversation, Session, Transport

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from agentfence.core.effects import Effects
    from agentfence.core.gate import Gate

TESTS = Path(__file__).parent
SERVER_URL = "http://127.0.0.1:9/mcp"
"""What policies call the server's URL; a surface over HTTP puts its own port there."""
HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
_NOBODY = Approval("no_approver", "deny", advice="start AgentFence with another --approver to be asked")
_MIRRORED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


@dataclass
class Outcome:
    """What became of one message."""

    sent: list[bytes] = field(default_factory=list)
    """What the server got."""
    received: list[Any] = field(default_factory=list)
    """What the agent got."""
    events: list[dict[str, Any]] = field(default_factory=list)
    status: int | None = None
    """Of HTTP."""


class Surface(Protocol):
    """A way in; use it as a context manager."""

    def pass_on(self, body: bytes, revision: str | None = None) -> Outcome:
        """Have an agent that settled on `revision` send `body`."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class _Base:
    def __init__(self, policy: str, options: Mapping[str, str], folder: Path) -> None:
        self.policy, self.options, self.folder = policy, dict(options), folder
        self.log = folder / "audit.jsonl"
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def _write_policy(self, url: str = SERVER_URL) -> Path:
        file = self.folder / "policy.yaml"
        file.write_text(self.policy.replace(SERVER_URL, url))
        return file

    def _new_events(self) -> list[dict[str, Any]]:
        lines = self.log.read_bytes().splitlines() if self.log.exists() else []
        new, self._read = lines[self._read :], len(lines)
        return about_messages(json.loads(line) for line in new)


def about_messages(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events about messages that were judged or refused; all of them must fit the schema."""
    found = [dict(event) for event in events]
    for event in found:
        validate_event(event)
    return [event for event in found if event["kind"] not in {"answered", "run_started", "run_ended"}]


def server_of(gate: Gate) -> str | None:
    """The policy's name for the server that all surfaces stand before."""
    return name_of_command(gate.engine.policy.servers, ["server"])


class CoreSurface(_Base):
    """The gate with an in-memory log, over a transport."""

    transport = Transport.STDIO

    def __enter__(self) -> Self:
        self.gate = make_gate(self.policy, self.options)
        self._server = server_of(self.gate)
        self._session = Session("agent", is_identified=True)
        self._conversation = self._new_conversation()
        self._time = 1_700_000_000.0
        return self

    def _new_conversation(self) -> Conversation:
        return Conversation(self._session, self.transport, self._server)

    def pass_on(self, body: bytes, revision: str | None = None) -> Outcome:
        self._settle(revision)
        self._time += 0.001
        outcome = Outcome()
        self._carry_out(self._judge(body, revision), outcome)
        return outcome

    def _settle(self, revision: str | None) -> None:
        if revision in HANDSHAKES and revision != getattr(self._conversation.negotiated, "name", None):
            self.pass_on(_initialize(revision))

    def _judge(self, body: bytes, revision: str | None) -> Effects:
        return self.gate.client_message(body, self._conversation, Circumstances(self._time, effort=Effort()))

    def _carry_out(self, effects: Effects, outcome: Outcome) -> None:
        for effect in effects:
            match effect:
                case Record(event=event):
                    outcome.events += about_messages([event])
                case Answer(body=body, status=status):
                    outcome.received.append(json.loads(body))
                    outcome.status = status
                case Ask(pending=pending):
                    resolved = self.gate.resolve(pending, _NOBODY, Circumstances(self._time, effort=Effort()))
                    self._carry_out(resolved, outcome)
                case Forward(body=body):
                    outcome.sent.append(body)
                    for answer in answers(body):
                        self._take(answer, outcome)

    def _take(self, answer: bytes, outcome: Outcome) -> None:
        """What the server writes goes the way back."""
        back = server_message(
            self.gate, answer, self._conversation, Circumstances(self._time, effort=Effort())
        )
        for effect in back:
            match effect:
                case Record(event=event):
                    outcome.events += about_messages([event])
                case Ask(pending=pending):
                    resolved = self.gate.resolve(pending, _NOBODY, Circumstances(self._time, effort=Effort()))
                    for inner in resolved:
                        if isinstance(inner, Record):
                            outcome.events += about_messages([inner.event])
                        elif isinstance(inner, Forward):
                            outcome.received.append(json.loads(inner.body))
                case Forward(body=body):
                    outcome.received.append(json.loads(body))


class CoreOverHttp(CoreSurface):
    """The gate as HTTP uses it: one conversation a POST, revisions by header."""

    transport = Transport.HTTP

    def _settle(self, revision: str | None) -> None:
        self._conversation = self._new_conversation()

    def _judge(self, body: bytes, revision: str | None) -> Effects:
        headers = tuple(headers_for(body, revision).items())
        return self.gate.client_message(
            body, self._conversation, Circumstances(self._time, effort=Effort()), headers
        )


class RelaySurface(_Base):
    """The relay as a process."""

    def __enter__(self) -> Self:
        self._seen = self.folder / "seen"
        self._seen.touch()
        flags = [
            word for name, value in self.options.items() for word in (f"--{name.replace('_', '-')}", value)
        ]
        command = [sys.executable, "-m", "agentfence.stdio", "--policy", str(self._write_policy())]
        command += ["--audit-log", str(self.log), "--approver", "deny", *flags, "--"]
        self._child = subprocess.Popen(
            [*command, sys.executable, str(TESTS / "echo_server.py"), str(self._seen)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=TESTS.parent / "engine",
        )
        self._revision: str | None = None
        self._markers = 0
        self._shown = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._child.stdin.close()
        try:
            self._child.wait(15)
        finally:
            self._child.kill()
            self._child.stdout.close()
            self._child.wait()

    def pass_on(self, body: bytes, revision: str | None = None) -> Outcome:
        if revision in HANDSHAKES and revision != self._revision:
            self._revision = revision
            self._exchange(_initialize(revision))
        return self._exchange(body)

    def _exchange(self, body: bytes) -> Outcome:
        """Send a line, and wait until all that comes of it has come."""
        self._child.stdin.write(body + b"\n")
        # What nobody was asked about is refused a turn of the relay's loop later: hence the second.
        received = [*self._until_answered(), *self._until_answered()]
        lines = self._seen.read_bytes().splitlines()
        sent = [line for line in lines[self._shown :] if b'"marker-' not in line]
        self._shown = len(lines)
        events = [e for e in self._new_events() if not str(e.get("request_id")).startswith("marker-")]
        return Outcome(sent, received, events)

    def _until_answered(self) -> list[Any]:
        """Send a ping; give what comes before its answer."""
        self._markers += 1
        marker = f"marker-{self._markers}"
        self._child.stdin.write(
            json.dumps({"jsonrpc": "2.0", "id": marker, "method": "ping"}).encode() + b"\n"
        )
        self._child.stdin.flush()
        received = []
        while not received or not _is_answer_to(received[-1], marker):
            line = self._child.stdout.readline()
            if not line:
                raise AssertionError("the relay has ended")
            received.append(json.loads(line))
        return received[:-1]


class AddonSurface(_Base):
    """The addon in mitmproxy, in this process, as a reverse proxy."""

    def __enter__(self) -> Self:
        self._upstream = _Upstream()
        self._proxy = _InProcessProxy(self._options(), self._upstream.port)
        self._client = http.client.HTTPConnection("127.0.0.1", self._proxy.port, timeout=20)
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._proxy.close()
        self._upstream.close()

    def _options(self) -> dict[str, str]:
        policy = self._write_policy(SERVER_URL.replace(":9/", f":{self._upstream.port}/"))
        given = {"policy": str(policy), "audit_log": str(self.log), "approver": "deny", **self.options}
        return {f"agentfence_{name}": value for name, value in given.items()}

    def pass_on(self, body: bytes, revision: str | None = None) -> Outcome:
        self._upstream.seen.clear()
        self._client.request("POST", "/mcp", body, headers_for(body, revision))
        response = self._client.getresponse()
        content = response.read()
        if response.headers.get_content_type() == "text/event-stream":
            events = EventSplitter(1 << 20).feed(content)
            received = [json.loads(event.data) for event in events if event.data]
        else:
            received = [json.loads(content)] if content else []
        return Outcome(list(self._upstream.seen), received, self._new_events(), response.status)


class _Upstream:
    """The server over HTTP."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                seen.append(body)
                made = answers(body)
                self.send_response(200 if made else 202)
                content = made[0] if made else b""
                if len(made) > 1:
                    content = b"".join(b"data: %s\n\n" % message for message in made)
                self.send_header("Content-Type", "text/event-stream" if len(made) > 1 else "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _InProcessProxy:
    """mitmproxy on a thread of its own; `ctx` is global to the process, so one at a time."""

    def __init__(self, options: Mapping[str, str], upstream: int) -> None:
        self.port = 0
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(options, upstream), daemon=True)
        self._thread.start()
        assert self._started.wait(20), "mitmproxy did not start"
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._host.shutdown)
        self._thread.join(20)

    def _run(self, options: Mapping[str, str], upstream: int) -> None:
        try:
            asyncio.run(self._serve(options, upstream))
        except BaseException as error:  # the host ends a failed start with SystemExit
            self._failure = error
            self._started.set()

    async def _serve(self, options: Mapping[str, str], upstream: int) -> None:
        from mitmproxy.options import Options

        from agentfence.mitm.entry import promote
        from agentfence.mitm.launcher import SmallMaster

        self._loop = asyncio.get_running_loop()
        opts = Options(listen_host="127.0.0.1", listen_port=0, mode=[f"reverse:http://127.0.0.1:{upstream}"])
        self._host = SmallMaster(opts, with_termlog=False)
        opts.set(*(f"{name}={value}" for name, value in options.items()), defer=True)
        promote(self._host.addons)
        running = asyncio.ensure_future(self._host.run())
        proxyserver = self._host.addons.get("proxyserver")
        while not running.done() and not proxyserver.listen_addrs():
            await asyncio.sleep(0.005)
        if not running.done():
            self.port = proxyserver.listen_addrs()[0][1]
            self._started.set()
        await running


SURFACES: dict[str, type[CoreSurface | RelaySurface | AddonSurface]] = {
    "core": CoreSurface,
    "core-http": CoreOverHttp,
    "relay": RelaySurface,
    "addon": AddonSurface,
}


def headers_for(body: bytes, revision: str | None) -> dict[str, str]:
    """The headers that an honest client of `revision` sends with `body`."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if revision is not None:
        headers["MCP-Protocol-Version"] = revision
    message = _object(body)
    if revision not in {None, *HANDSHAKES} and "id" in message:
        headers["Mcp-Method"] = message["method"]
        member = _MIRRORED.get(message["method"])
        name = (message.get("params") or {}).get(member)
        if isinstance(name, str):
            is_plain = name.isascii() and name.isprintable()
            headers["Mcp-Name"] = name if is_plain else f"=?base64?{b64encode(name.encode()).decode()}?="
    return headers


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) and isinstance(value.get("method"), str) else {}


def _initialize(revision: str | None) -> bytes:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    call = {"jsonrpc": "2.0", "id": f"initialize-{revision}", "method": "initialize", "params": params}
    return json.dumps(call).encode()


def _is_answer_to(message: Any, id_: str) -> bool:
    return isinstance(message, dict) and message.get("id") == id_ and "method" not in message
