"""People decide: each approver in real programs, with real clients, terminals and views."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import http.client
import json
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING, Any, Literal

import pytest
from e2e.fence import (
    BIN,
    Proxy,
    body_of,
    call_body,
    post,
    read_events,
    receive,
    relay,
    script_of,
    send_raw,
    start_proxy,
)
from e2e.network import RecordingUpstream, Response, free_port, start_recording_upstream
from e2e.parts import call, open_client, stdio_server
from e2e.process import Process

from agentfence.approval.queue_folder import address_of
from agentfence.approval.queue_messages import Attend, Look, Looked, line_of, read_from_fence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

pytestmark = pytest.mark.e2e

POLICY = """\
version: "1"
defaults: {decision: deny}
tools:
  read_file: allow
  write_file: {decision: ask, message: "writing needs a person"}
  ask_user: {decision: ask, remember: tool}
  delete_file: deny
"""
ASKED = call_body("write_file", 1, path="a")
SERVER = """
import json, sys
for line in sys.stdin.buffer:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"ran": message["params"]["name"]}}), flush=True)
    else:
        print(json.dumps(message), file=sys.stderr, flush=True)
"""


def until(condition: Callable[[], bool], timeout: float = 30.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


def write_server(folder: Path) -> list[str]:
    file = folder / "server.py"
    file.write_text(SERVER)
    return [sys.executable, str(file)]


# --- queue ---


@contextlib.contextmanager
def start_relay(folder: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Process]:
    """The relay as a desktop client starts it: without a terminal, and with hardly any environment."""
    folder.mkdir(exist_ok=True)
    command = ["env", "-i", f"PATH={os.environ['PATH']}", f"HOME={folder.parent}"]
    command += [f"{name}={text}" for name, text in (env or {}).items()]
    with Process(
        [*command, *relay(folder, *write_server(folder), policy=POLICY, options=options)]
    ) as process:
        yield process


def read(process: Process) -> Any:
    return json.loads(process.read_line())


@contextlib.contextmanager
def attend(home: Path) -> Iterator[Process]:
    """`agentfence approvals --json`, attending all fences of a home folder."""
    environment = {"HOME": str(home), "XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": ""}
    with Process([BIN / "agentfence", "approvals", "--json"], env=environment) as process:
        yield process


def approvals(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": ""}
    command = [str(BIN / "agentfence"), "approvals", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home folder whose fences are found in it alone."""
    if (runtime := f"/run/user/{os.getuid()}") and os.path.isdir(runtime):
        pytest.skip("the machine has a runtime folder, which fences of other tests share")
    return tmp_path


def test_two_relays_without_a_terminal_are_answered(home: Path) -> None:
    with start_relay(home / "one") as one, start_relay(home / "two") as two:
        one.write(ASKED + b"\n")
        refused = read(one)["error"]
        assert refused["data"]["agentfence"]["reason_code"] == "non_interactive_denied"
        assert "agentfence approvals" in refused["message"]

        with attend(home) as attendant:
            wait_until_attended(home, 2)
            one.write(call_body("write_file", 2) + b"\n")
            two.write(call_body("ask_user", 2) + b"\n")
            first, second = sorted((read(attendant), read(attendant)), key=lambda asked: str(asked["tool"]))
            assert (first["tool"], second["tool"]) == ("ask_user", "write_file")
            two.write(call_body("read_file", 3) + b"\n")
            assert read(two)["id"] == 3  # while another call waits
            listed = approvals(home, "--list").stdout
            assert first["id"] in listed
            assert second["id"] in listed
            assert approvals(home, "--approve", first["id"], "--session").returncode == 0
            assert approvals(home, "--deny", second["id"]).returncode == 0
            assert read(two)["result"] == {"ran": "ask_user"}
            assert read(one)["error"]["data"]["agentfence"]["reason_code"] == "approval_denied"
            two.write(call_body("ask_user", 4) + b"\n")
            assert read(two)["result"] == {"ran": "ask_user"}
            assert approvals(home, "--approve", first["id"]).returncode == 1

    given, remembered = [
        event["approval"] for event in read_events(home / "two" / "audit.jsonl") if "approval" in event
    ]
    assert (given["approver"], given["holds_for"], remembered["approver"]) == ("queue", "tool", "session")
    assert remembered["given"]["approver"] == "queue"
    assert remembered["by"] == given["by"]


def wait_until_attended(home: Path, fences: int) -> None:
    """Return once so many fences have a connection at their socket, and have heard who it is."""
    until(lambda: len(connected_sockets(home)) == fences)
    time.sleep(0.3)


def connected_sockets(home: Path) -> set[str]:
    """The fences in a home folder that somebody is connected to."""
    fences = {path.stem for path in (home / ".local/state/agentfence/approvals").glob("*.sock")}
    with open("/proc/net/unix") as table:
        lines = [line.split() for line in table]
    return fences & {
        os.path.basename(line[7]).split(".")[0] for line in lines if line[5:6] == ["03"] and line[7:]
    }


ASKING_SERVER = """
import json, sys
def request(text):
    content = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [content], "maxTokens": 5}}
for line in sys.stdin.buffer:
    id_ = json.loads(line)["id"]
    result = {"resultType": "input_required", "inputRequests": {"a": request("first"), "b": request("second")}}
    print(json.dumps({"jsonrpc": "2.0", "id": id_, "result": result}), flush=True)
"""
"""Answers each call by asking the agent for two things."""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_answer_counts_for_one_of_several_questions_about_a_call(home: Path) -> None:
    folder = home / "one"
    folder.mkdir()
    (folder / "server.py").write_text(ASKING_SERVER)
    policy = 'version: "1"\ntools: {"*": ask}\nmethods: {sampling/createMessage: ask}\n'
    command = relay(folder, sys.executable, folder / "server.py", policy=policy)
    params = {"name": "t", "arguments": {}, "_meta": META}
    with (
        Process(["env", "-i", f"PATH={os.environ['PATH']}", f"HOME={home}", *command]) as process,
        attend(home) as attendant,
    ):
        wait_until_attended(home, 1)
        process.write_line(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        ids = []
        for method in ("tools/call", "sampling/createMessage", "sampling/createMessage"):
            while (asked := read(attendant))["type"] != "asked":
                continue
            assert asked["method"] == method
            ids.append(asked["id"])
            statuses = [approvals(home, "--approve", asked["id"]).returncode for _ in "12"]
            assert statuses == [0, 1]  # also where the next question is there by now

        assert "inputRequests" in read(process)["result"]
        assert len(set(ids)) == 3


def test_agent_takes_its_call_back(home: Path) -> None:
    with start_relay(home / "one") as process, attend(home) as attendant:
        wait_until_attended(home, 1)
        process.write(call_body("write_file", 2) + b"\n")
        asked = read(attendant)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
        process.write(json.dumps(cancelled).encode() + b"\n")

        assert read(attendant) == {"type": "settled", "id": asked["id"], "outcome": "cancelled", "by": None}
        assert read(process)["error"]["data"]["agentfence"]["reason_code"] == "approval_cancelled"
        assert approvals(home, "--approve", asked["id"]).returncode == 1
        assert "cancelled" not in process.stderr.partition("notifications")[2]


def test_agent_ends_while_a_call_waits(home: Path) -> None:
    with start_relay(home / "one") as process, attend(home) as attendant:
        wait_until_attended(home, 1)
        process.write(call_body("write_file", 2) + b"\n")
        read(attendant)
        process.close_stdin()

        assert read(attendant)["outcome"] == "cancelled"
        assert process.wait() == 0
        assert list((home / ".local/state/agentfence/approvals").iterdir()) == []


def test_nobody_answers(home: Path) -> None:
    with start_relay(home / "one", "--approval-timeout", "1") as process, attend(home) as attendant:
        wait_until_attended(home, 1)
        process.write(call_body("write_file", 2) + b"\n")
        read(attendant)

        assert read(process)["error"]["data"]["agentfence"]["reason_code"] == "approval_timeout"


def test_person_leaves_while_a_call_waits(home: Path) -> None:
    with start_relay(home / "one") as process:
        with attend(home) as attendant:
            wait_until_attended(home, 1)
            process.write(call_body("write_file", 2) + b"\n")
            read(attendant)

        assert read(process)["error"]["data"]["agentfence"]["reason_code"] == "non_interactive_denied"


@contextlib.contextmanager
def attend_surely(home: Path) -> Iterator[None]:
    """Attend the one fence of a home folder: it has heard of it when the block begins."""
    sockets = home / ".local/state/agentfence/approvals"
    until(lambda: bool([*sockets.glob("*.sock")]))
    (path,) = sockets.glob("*.sock")
    with socket.socket(socket.AF_UNIX) as peer, address_of(path) as address:
        peer.connect(address)
        peer.sendall(line_of(Attend()) + line_of(Look()))
        with peer.makefile("rb") as lines:
            while read_from_fence(next(lines)) != Looked():
                pass
        yield


def test_too_many_calls_wait(home: Path) -> None:
    with start_relay(home / "one") as process, attend_surely(home):
        for number in range(21):
            process.write(call_body("write_file", number) + b"\n")

        assert read(process)["error"]["data"]["agentfence"]["reason_code"] == "approval_queue_full"


LARGE_ASKING_SERVER = """
import json, sys
sys.stdin.buffer.readline()
for number in range(3):
    content = {"role": "user", "content": {"type": "text", "text": "x" * 30_000_000}}
    params = {"messages": [content], "maxTokens": 5}
    print(json.dumps({"jsonrpc": "2.0", "id": number, "method": "sampling/createMessage", "params": params}), flush=True)
for line in sys.stdin.buffer:
    print(line.decode(), file=sys.stderr, flush=True)
"""


def test_large_questions_of_a_server_do_not_all_wait(home: Path) -> None:
    (home / "server.py").write_text(LARGE_ASKING_SERVER)
    policy = POLICY + "methods: {sampling/createMessage: ask}\n"
    command = relay(home, sys.executable, str(home / "server.py"), policy=policy)
    with Process(command, env={"HOME": str(home), "XDG_RUNTIME_DIR": ""}) as process, attend_surely(home):
        process.write(call_body("read_file", 1) + b"\n")

        assert '"id":2' in process.wait_for_stderr("approval_queue_full")


def test_client_that_waits_sees_progress(home: Path) -> None:
    program = (
        "import sys\nfrom agentfence.approval import progress\nprogress.INTERVAL = 0.3\n"
        "progress.ProgressNotices.__init__.__defaults__ = (0.3,)\n"
        "from agentfence.stdio import main\nsys.exit(main())"
    )
    own = relay(home, *write_server(home), policy=POLICY)
    command = [own[0], "-c", program, *own[3:]]
    with (
        Process(command, env={"HOME": str(home), "XDG_RUNTIME_DIR": ""}) as process,
        attend(home) as attendant,
    ):
        wait_until_attended(home, 1)
        params = {"name": "write_file", "arguments": {}, "_meta": {"progressToken": "t"}}
        process.write(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n"
        )
        asked = read(attendant)
        told = [read(process) for _ in range(2)]
        approvals(home, "--approve", asked["id"])
        while "result" not in (last := read(process)):
            told.append(last)

    assert last["result"] == {"ran": "write_file"}
    assert all(message["method"] == "notifications/progress" for message in told)
    assert [message["params"]["progressToken"] for message in told[:2]] == ["t", "t"]
    assert told[0]["params"]["progress"] < told[1]["params"]["progress"]


def test_client_that_does_not_read_is_sent_no_end_of_progress(home: Path) -> None:
    program = (
        "import sys\nfrom agentfence.approval import progress\n"
        "progress.ProgressNotices.__init__.__defaults__ = (0.02,)\n"
        "from agentfence.stdio import main\nsys.exit(main())"
    )
    own = relay(home, *write_server(home), policy=POLICY)
    environment = {**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": ""}
    with subprocess.Popen(
        [own[0], "-c", program, *own[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        try:
            with attend_surely(home):
                params = {"name": "write_file", "arguments": {}, "_meta": {"progressToken": "t" * 500_000}}
                asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                assert process.stdin is not None
                process.stdin.write(json.dumps(asked).encode() + b"\n")
                process.stdin.flush()
                time.sleep(2)
            written, _ = process.communicate(timeout=30)
        finally:
            process.kill()

    assert len(written.splitlines()) < 10


@pytest.mark.parametrize("line", ["py1", "ts2"])
def test_real_client_is_approved_and_denied(line: Any, home: Path) -> None:
    record = home / "calls.jsonl"
    command = script_of(home, relay(home, *stdio_server(line, record), policy=POLICY))
    environment = {"HOME": str(home), "XDG_RUNTIME_DIR": ""}
    with open_client(line, stdio=command, env=environment) as client, attend(home) as attendant:
        wait_until_attended(home, 1)
        first = client.begin(call("write_file", path="a", content="x"))
        approvals(home, "--approve", read(attendant)["id"])
        assert client.wait_for(first).ok
        read(attendant)
        second = client.begin(call("write_file", path="b", content="x"))
        approvals(home, "--deny", read(attendant)["id"])
        denied = client.wait_for(second)

        assert denied.error is not None
        assert "a person denied it" in denied.error.message
    assert [json.loads(line)["arguments"]["path"] for line in record.read_text().splitlines()] == ["a"]


@pytest.mark.parametrize("broken", ["core.gate.Gate.resolve", "approval.deny.DenyApprover.ask"])
def test_fence_that_fails_when_it_asks_denies(broken: str, tmp_path: Path) -> None:
    module, kind, method = f"agentfence.{broken}".rsplit(".", 2)
    program = (
        f"import sys\nfrom {module} import {kind}\n"
        f"{kind}.{method} = lambda *_: 1 / 0\n"
        "from agentfence.stdio import main\nsys.exit(main())"
    )
    own = relay(tmp_path, *write_server(tmp_path), policy=POLICY, options=["--approver", "deny"])
    with Process([own[0], "-c", program, *own[3:]], env={"HOME": str(tmp_path)}) as process:
        for _ in range(2):  # its id is free again
            process.write(call_body("write_file", 1) + b"\n")
            answer = read(process)
            assert (answer["id"], "result" in answer) == (1, False)
        process.write(call_body("read_file", 2) + b"\n")
        assert read(process)["result"] == {"ran": "read_file"}


# --- terminal ---


class Terminal:
    """A terminal that a program has as its controlling one, and the person at it."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        self._person, device = pty.openpty()
        self.child = subprocess.Popen(
            command,
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(device, termios.TIOCSCTTY, 0),
            pass_fds=(device,),
        )
        os.close(device)
        self._seen = ""

    def wait_for(self, text: str, timeout: float = 30.0) -> str:
        end = time.monotonic() + timeout
        while text not in self._seen:
            assert time.monotonic() < end, self._seen
            self.look(0.1)
        seen, self._seen = self._seen, ""
        time.sleep(0.7)  # a person reads first
        return seen

    def look(self, seconds: float) -> str:
        if select.select([self._person], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self._seen += os.read(self._person, 65_536).decode()
        return self._seen

    def type(self, text: str) -> None:
        os.write(self._person, text.encode())

    def write(self, body: bytes) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(body + b"\n")
        self.child.stdin.flush()

    def read(self) -> Any:
        assert self.child.stdout is not None
        return json.loads(self.child.stdout.readline())

    def close(self) -> None:
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self.child.terminate()
        self.child.wait(10)
        os.close(self._person)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    options = ["--approver", "tty", "--approval-timeout", "20"]
    command = relay(tmp_path, *write_server(tmp_path), policy=POLICY, options=options)
    terminal = Terminal(command, {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)})
    yield terminal
    terminal.close()


@pytest.mark.parametrize(("typed", "member"), [("y\n", "result"), ("n\n", "error"), ("\n", "error")])
def test_relay_asks_on_its_terminal(typed: str, member: str, terminal: Terminal, tmp_path: Path) -> None:
    terminal.write(call_body("write_file", 1, path="a\x1b[2J"))
    shown = terminal.wait_for("denies) ")
    terminal.write(call_body("read_file", 2))
    assert terminal.read()["id"] == 2  # while the question stands there
    terminal.type(typed)

    answer = terminal.read()
    assert (answer["id"], member in answer) == (1, True)
    assert '"path": "a\\u001b[2J"' in shown
    assert "\x1b" not in shown
    (event,) = [event for event in read_events(tmp_path / "audit.jsonl") if "approval" in event]
    assert (event["approval"]["approver"], event["call_id"] in shown) == ("tty", True)


def test_protocol_answers_no_question(terminal: Terminal) -> None:
    terminal.write(call_body("write_file", 1))
    terminal.wait_for("denies) ")
    for line in (b"y", b"yes", b"\x1bOM"):
        terminal.write(line)
        assert terminal.read()["error"]["code"] == -32700
    terminal.type("n\n")

    assert terminal.read()["error"]["data"]["agentfence"]["reason_code"] == "approval_denied"


def test_terminal_is_told_that_a_call_was_taken_back(terminal: Terminal) -> None:
    terminal.write(call_body("write_file", 1))
    terminal.wait_for("denies) ")
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    terminal.write(json.dumps(cancelled).encode())

    terminal.wait_for("ended without an answer")
    assert terminal.read()["error"]["data"]["agentfence"]["reason_code"] == "approval_cancelled"


def test_relay_without_a_terminal_says_so(tmp_path: Path) -> None:
    command = relay(tmp_path, *write_server(tmp_path), policy=POLICY, options=["--approver", "tty"])
    with Process(command, env={"HOME": str(tmp_path)}) as process:
        assert process.wait() == 2
        assert "no terminal" in process.stderr


def test_mitmdump_asks_on_its_terminal(tmp_path: Path, upstream: RecordingUpstream) -> None:
    port = free_port()
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY)
    settings = [
        "listen_host=127.0.0.1",
        f"agentfence_policy={policy}",
        f"agentfence_audit_log={tmp_path / 'audit.jsonl'}",
        f"confdir={tmp_path}",
    ]
    command = [str(BIN / "mitmdump"), "-s", str(BIN.parents[1] / "addon" / "agentfence.py"), "-p", str(port)]
    command += ["--mode", f"reverse:{origin(upstream)}", *[w for s in settings for w in ("--set", s)]]
    terminal = Terminal(command, {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)})
    try:
        until(lambda: can_connect(port))
        time.sleep(0.5)
        with socket.create_connection(("127.0.0.1", port)) as asking:
            asking.sendall(post("/mcp", ASKED))
            terminal.wait_for("denies) ")
            send_raw(port, post("/mcp", call_body("read_file")))  # while the question stands there
            assert executed(upstream) == ["read_file"]
            terminal.type("y\n")
            receive(asking, 10)

        assert executed(upstream) == ["read_file", "write_file"]
        (event,) = [event for event in read_events(tmp_path / "audit.jsonl") if "approval" in event]
        assert event["approval"]["approver"] == "tty"
    finally:
        terminal.close()


def can_connect(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


# --- intercept ---


class Web:
    """mitmweb's own API, as a person's browser uses it."""

    def __init__(self, port: int) -> None:
        self._port = port

    def send(self, method: str, path: str, body: Any = None) -> Any:
        headers = {
            "Authorization": "Bearer pw",
            "Cookie": "_mitmproxy_xsrf=abc",
            "X-XSRFToken": "abc",
            "Content-Type": "application/json",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status < 300, (path, answer.status, content)
            return json.loads(content) if method == "GET" else None

    def flows(self) -> list[dict[str, Any]]:
        return self.send("GET", "/flows")

    def held(self) -> dict[str, Any]:
        """The flow that waits for a person, once one does."""
        until(lambda: any(flow["intercepted"] for flow in self.flows()), 10)
        return next(flow for flow in self.flows() if flow["intercepted"])


@pytest.fixture
def upstream() -> Iterator[RecordingUpstream]:
    with start_recording_upstream() as running:
        yield running


def origin(upstream: RecordingUpstream) -> str:
    return upstream.url.removesuffix("/mcp")


def executed(upstream: RecordingUpstream) -> list[str]:
    return [json.loads(request.body)["params"]["name"] for request in upstream.requests]


@contextlib.contextmanager
def start_web(folder: Path, upstream: RecordingUpstream, *, timeout: int) -> Iterator[tuple[Web, Proxy]]:
    port = free_port()
    settings = ["web_password=pw", f"web_port={port}", "web_open_browser=false"]
    settings += [f"agentfence_approval_timeout={timeout}"]
    with start_proxy(
        folder, upstream=origin(upstream), program="mitmweb", settings=settings, policy=POLICY
    ) as proxy:
        yield Web(port), proxy


@pytest.fixture
def web(upstream: RecordingUpstream, tmp_path: Path) -> Iterator[tuple[Web, Proxy]]:
    with start_web(tmp_path, upstream, timeout=30) as running:
        yield running


class Asking:
    """A POST that waits for its answer."""

    def __init__(self, proxy: Proxy, body: bytes = ASKED, *headers: str) -> None:
        self._connection = socket.create_connection(("127.0.0.1", proxy.port), 30)
        self._connection.sendall(post("/mcp", body, *headers))

    def answer(self) -> bytes:
        with self._connection:
            return receive(self._connection, 30)

    def reason_code(self) -> str:
        return body_of(self.answer())["error"]["data"]["agentfence"]["reason_code"]

    def leave(self) -> None:
        self._connection.close()


def test_resume_approves(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    view, proxy = web
    asking = Asking(proxy)
    held = view.held()
    assert "writing needs a person" in held["comment"]
    send_raw(proxy.port, post("/mcp", call_body("read_file", 2)))
    assert executed(upstream) == ["read_file"]  # while the other waits
    view.send("POST", f"/flows/{held['id']}/resume")
    asking.answer()

    assert executed(upstream) == ["read_file", "write_file"]
    (approval,) = [event["approval"] for event in proxy.events if "approval" in event]
    assert (approval["outcome"], approval["approver"]) == ("approved", "intercept")
    shown = [(flow["intercepted"], flow["marked"], flow["comment"]) for flow in view.flows()]
    assert shown == [(False, "✅", "✅ allow write_file"), (False, "✅", "✅ allow read_file")]


@pytest.mark.parametrize("way", ["kill", "delete"])
def test_kill_denies_with_an_answer(way: str, web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    view, proxy = web
    asking = Asking(proxy)
    flow = view.held()["id"]
    view.send(*(("POST", f"/flows/{flow}/kill") if way == "kill" else ("DELETE", f"/flows/{flow}")))

    assert asking.reason_code() == "approval_denied"
    assert executed(upstream) == []


def test_edit_is_judged_again(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    view, proxy = web
    asking = Asking(proxy)
    flow = view.held()["id"]
    edited = call_body("delete_file", 1, path="a").decode()
    view.send("PUT", f"/flows/{flow}", {"request": {"content": edited}})
    view.send("POST", f"/flows/{flow}/resume")

    assert asking.reason_code() != "approval_approved"
    assert executed(upstream) == []
    decisions = [(event["tool"], event["decision"]) for event in proxy.events]
    assert decisions == [("write_file", "deny"), ("delete_file", "deny")]


EDITS: dict[str, dict[str, Any]] = {
    "arguments": {"content": call_body("write_file", 1, path="b").decode()},
    "a header": {"headers": [["Host", "127.0.0.1"], ["Content-Type", "application/json"], ["X-More", "1"]]},
    "the path": {"path": "/other"},
}


@pytest.mark.parametrize("edit", EDITS)
def test_edit_that_asks_again_is_held_again(
    edit: str, web: tuple[Web, Proxy], upstream: RecordingUpstream
) -> None:
    view, proxy = web
    asking = Asking(proxy)
    flow = view.held()["id"]
    view.send("PUT", f"/flows/{flow}", {"request": EDITS[edit]})
    view.send("POST", f"/flows/{flow}/resume")
    until(lambda: len(proxy.events) == 1)
    assert executed(upstream) == []
    assert view.held()["id"] == flow
    view.send("POST", f"/flows/{flow}/resume")
    asking.answer()

    assert executed(upstream) == ["write_file"]
    outcomes = [event["approval"]["outcome"] for event in proxy.events]
    assert outcomes == ["edited", "approved"]


def test_edit_to_an_allowed_call_passes(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    view, proxy = web
    asking = Asking(proxy)
    flow = view.held()["id"]
    view.send("PUT", f"/flows/{flow}", {"request": {"content": call_body("read_file", 1).decode()}})
    view.send("POST", f"/flows/{flow}/resume")
    asking.answer()

    assert executed(upstream) == ["read_file"]


def test_client_that_leaves_takes_its_question_along(
    web: tuple[Web, Proxy], upstream: RecordingUpstream
) -> None:
    view, proxy = web
    asking = Asking(proxy)
    view.held()
    asking.leave()
    until(lambda: not any(flow["intercepted"] for flow in view.flows()))

    until(lambda: len(proxy.events) == 1)
    assert proxy.events[0]["approval"]["outcome"] == "cancelled"
    assert executed(upstream) == []


def test_flow_that_is_cleared_from_the_view_times_out(upstream: RecordingUpstream, tmp_path: Path) -> None:
    with start_web(tmp_path, upstream, timeout=3) as (view, proxy):
        asking = Asking(proxy)
        view.held()
        view.send("POST", "/clear")

        assert asking.reason_code() == "approval_timeout"
    assert executed(upstream) == []


def test_cancellation_in_another_post_takes_the_question_back(
    web: tuple[Web, Proxy], upstream: RecordingUpstream
) -> None:
    view, proxy = web
    asking = Asking(proxy, ASKED, "Mcp-Session-Id: s1")
    view.held()
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    send_raw(proxy.port, post("/mcp", json.dumps(cancelled).encode(), "Mcp-Session-Id: s2"))
    time.sleep(0.3)
    assert any(flow["intercepted"] for flow in view.flows())
    send_raw(proxy.port, post("/mcp", json.dumps(cancelled).encode(), "Mcp-Session-Id: s1"))

    assert asking.reason_code() == "approval_cancelled"


@pytest.mark.parametrize(("way", "outcome"), [("kill", "denied"), ("revert", "cancelled")])
def test_replay_is_asked_about_again_and_only_resuming_approves_it(
    way: str, outcome: str, web: tuple[Web, Proxy], upstream: RecordingUpstream
) -> None:
    view, proxy = web
    asking = Asking(proxy)
    flow = view.held()["id"]
    view.send("POST", f"/flows/{flow}/resume")
    asking.answer()
    view.send("POST", f"/flows/{flow}/replay")
    assert view.held()["id"] == flow
    view.send("POST", f"/flows/{flow}/{way}")
    until(lambda: len(proxy.events) == 2)

    assert [event["approval"]["outcome"] for event in proxy.events] == ["approved", outcome]
    assert executed(upstream) == ["write_file"]


@contextlib.contextmanager
def start_slow_server() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """An origin that takes no connection until it is asked what it has received."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        address = listener.getsockname()
        before = [socket.socket() for _ in "12"]  # which fill its queue
        for connection in before:
            connection.setblocking(False)
            connection.connect_ex(address)

        def receive_all() -> bytes:
            for connection in before:
                connection.close()
            received = b""
            listener.settimeout(3)
            with contextlib.suppress(TimeoutError):
                while not received:
                    connection, _ = listener.accept()
                    with connection:
                        connection.settimeout(1)
                        received = connection.recv(65_536)
            return received

        yield f"http://127.0.0.1:{address[1]}", receive_all


@pytest.mark.parametrize("way", ["edit", "kill"])
def test_approved_call_that_is_changed_before_it_is_sent_is_not_sent(way: str, tmp_path: Path) -> None:
    with start_slow_server() as (server, received):
        settings = ["web_password=pw", f"web_port={(port := free_port())}", "web_open_browser=false"]
        with start_proxy(
            tmp_path, upstream=server, program="mitmweb", settings=settings, policy=POLICY
        ) as proxy:
            view, asking = Web(port), Asking(proxy)
            flow = view.held()["id"]
            view.send("POST", f"/flows/{flow}/resume")
            until(lambda: len(proxy.events) == 1)
            if way == "kill":
                view.send("POST", f"/flows/{flow}/kill")
            else:
                edited = call_body("delete_file", 1).decode()
                view.send("PUT", f"/flows/{flow}", {"request": {"content": edited}})

            assert received() == b""
            error = body_of(asking.answer())["error"]
            assert (error["code"], "before it was sent" in error["message"]) == (-32002, way == "kill")


def test_flow_that_the_views_own_filter_holds_is_judged_as_it_is_let_through(
    web: tuple[Web, Proxy], upstream: RecordingUpstream
) -> None:
    view, proxy = web
    view.send("PUT", "/options", {"intercept": "~m POST"})
    asking = Asking(proxy, call_body("read_file", 1))
    flow = view.held()["id"]
    view.send("PUT", "/options", {"intercept": ""})  # else it holds the answer as well
    view.send("PUT", f"/flows/{flow}", {"request": {"content": call_body("delete_file", 1).decode()}})
    view.send("POST", f"/flows/{flow}/resume")

    assert asking.reason_code() == "rule_match"
    assert executed(upstream) == []


def test_saved_flow_holds_no_permission(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    view, proxy = web
    asking = Asking(proxy)
    flow = view.held()["id"]
    view.send("POST", f"/flows/{flow}/duplicate")  # a copy, as saving makes one: its state must be plain
    view.send("POST", f"/flows/{flow}/kill")

    assert asking.reason_code() == "approval_denied"


# --- over HTTP, by queue ---


def test_proxy_without_a_terminal_asks_by_queue(home: Path, upstream: RecordingUpstream) -> None:
    with start_proxy(home, launch="launcher", upstream=origin(upstream), policy=POLICY) as proxy:
        assert Asking(proxy).reason_code() == "non_interactive_denied"
        with attend(home) as attendant:
            wait_until_attended(home, 1)
            asking = Asking(proxy)
            asked = read(attendant)
            assert asked["client"] == "address:127.0.0.1"
            assert asked["remember"] is None
            approvals(home, "--approve", asked["id"])
            asking.answer()
            assert executed(upstream) == ["write_file"]

            left = Asking(proxy, call_body("ask_user", 2))
            read(attendant)
            asked = read(attendant)
            assert asked["remember"] is None  # the policy lets it, but an address is nobody
            left.leave()
            assert read(attendant)["outcome"] == "cancelled"


@pytest.mark.parametrize("id_", ["1", '"1"', '"0x1"'])
def test_no_stream_answers_what_a_person_is_asked_about_where_no_session_ties_them(
    id_: str, home: Path, upstream: RecordingUpstream
) -> None:
    answer = b'data: {"jsonrpc":"2.0","id":%b,"result":{"content":[]}}\n\n' % id_.encode()
    url = origin(upstream)
    with (
        start_proxy(home, launch="launcher", upstream=url, policy=POLICY) as proxy,
        attend(home) as attendant,
    ):
        wait_until_attended(home, 1)
        asking = Asking(proxy)
        asked = read(attendant)
        upstream.answer = lambda _: Response(
            iter([answer, b'data: {"jsonrpc":"2.0","id":77,"result":{}}\n\n']),
            headers=(("Content-Type", "text/event-stream"),),
        )
        told = send_raw(proxy.port, b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\n\r\n")
        approvals(home, "--deny", asked["id"])

        assert asking.reason_code() == "approval_denied"
        assert answer not in told
        assert b'"id":77' in told, "a replay"


def as_user(upstream: RecordingUpstream, id_: int, user: str) -> bytes:
    """A call to the server through a forward proxy, by a user of it."""
    host = upstream.url.split("/")[2]
    credentials = base64.b64encode(f"{user}:pw".encode()).decode()
    body = call_body("ask_user", id_)
    return post(upstream.url, body, f"Proxy-Authorization: Basic {credentials}", host=host)


def test_approval_holds_for_the_session_of_a_proxy_user(home: Path, upstream: RecordingUpstream) -> None:
    settings = ["proxyauth=eva:pw"]
    with (
        start_proxy(home, launch="launcher", policy=POLICY, settings=settings) as proxy,
        attend(home) as attendant,
    ):
        wait_until_attended(home, 1)
        with socket.create_connection(("127.0.0.1", proxy.port), 30) as asking:
            asking.sendall(as_user(upstream, 1, "eva"))
            asked = read(attendant)
            assert (asked["client"], asked["remember"]) == ("user:eva", "tool")
            approvals(home, "--approve", asked["id"], "--session")
            receive(asking, 10)
        send_raw(proxy.port, as_user(upstream, 2, "eva"))

        assert executed(upstream) == ["ask_user", "ask_user"]
        assert proxy.events[-1]["approval"]["given"]["approver"] == "queue"


def test_approval_for_the_session_holds_at_one_server(home: Path, upstream: RecordingUpstream) -> None:
    with (
        start_recording_upstream() as other,
        start_proxy(home, launch="launcher", policy=POLICY, settings=["proxyauth=eva:pw"]) as proxy,
        attend(home) as attendant,
    ):
        wait_until_attended(home, 1)
        for server in (upstream, other):  # the policy has a name for neither
            with socket.create_connection(("127.0.0.1", proxy.port), 30) as asking:
                asking.sendall(as_user(server, 1, "eva"))
                asked = read(attendant)
                assert asked["server"] == origin(server)
                approvals(home, "--approve", asked["id"], "--session")
                receive(asking, 10)
                read(attendant)
        send_raw(proxy.port, as_user(other, 2, "eva"))

        assert [executed(server) for server in (upstream, other)] == [["ask_user"], ["ask_user", "ask_user"]]


def test_user_that_the_agent_chooses_is_no_identity(home: Path, upstream: RecordingUpstream) -> None:
    settings = ["proxyauth=any"]
    with (
        start_proxy(home, launch="launcher", policy=POLICY, settings=settings) as proxy,
        attend(home) as attendant,
    ):
        wait_until_attended(home, 1)
        with socket.create_connection(("127.0.0.1", proxy.port), 30) as asking:
            asking.sendall(as_user(upstream, 1, "eva"))
            asked = read(attendant)

        assert (asked["client"], asked["remember"]) == ("user:eva", None)


# --- what is said ---


@pytest.mark.parametrize("launch", ["script", "launcher"])
def test_proxy_says_a_line_for_each_decision(
    launch: Literal["script", "launcher"], upstream: RecordingUpstream, tmp_path: Path
) -> None:
    with start_proxy(tmp_path, launch=launch, upstream=origin(upstream), policy=POLICY) as proxy:
        send_raw(proxy.port, post("/mcp", call_body("read_file")))
        send_raw(proxy.port, post("/mcp", call_body("delete_file")))
        said = []
        while not said or " deny " not in said[-1]:
            said.append(proxy.process.read_line())

    decisions = [line.partition("] ")[2].split()[:2] for line in said if "_file  " in line]
    assert decisions == [["allow", "read_file"], ["deny", "delete_file"]]
    assert "\x1b" not in "".join(said)


@pytest.mark.parametrize("launch", ["script", "launcher"])
def test_proxy_says_json_on_stderr(
    launch: Literal["script", "launcher"], upstream: RecordingUpstream, tmp_path: Path
) -> None:
    settings = ["agentfence_log_format=json"]
    with start_proxy(
        tmp_path, launch=launch, upstream=origin(upstream), policy=POLICY, settings=settings
    ) as proxy:
        send_raw(proxy.port, post("/mcp", call_body("delete_file", secret="needle")))
        proxy.process.wait_for_stderr('"deny"')
        lines = [json.loads(line) for line in proxy.process.stderr.splitlines()]

    assert [line["kind"] for line in lines] == ["start", "decision"]
    assert (lines[1]["tool"], lines[1]["decision"]) == ("delete_file", "deny")
    assert "needle" not in str(lines)


def test_proxy_is_quiet(upstream: RecordingUpstream, tmp_path: Path) -> None:
    settings = ["agentfence_log_level=quiet", "flow_detail=0"]
    with start_proxy(tmp_path, upstream=origin(upstream), policy=POLICY, settings=settings) as proxy:
        send_raw(proxy.port, post("/mcp", call_body("delete_file")))
        process = proxy.process
    said = []
    while (line := process.read_line_or_end()) is not None:
        said.append(line)

    assert "delete_file" not in "".join(said) + process.stderr
    assert "policy" not in "".join(said) + process.stderr


def test_relay_is_coloured_on_a_terminal_alone(tmp_path: Path) -> None:
    command = relay(tmp_path, *write_server(tmp_path), policy=POLICY)
    person, device = pty.openpty()
    environment = {**os.environ, "HOME": str(tmp_path), "TERM": "xterm", "NO_COLOR": ""}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=device
    ) as child:
        os.close(device)
        assert child.stdin is not None
        child.stdin.write(call_body("delete_file") + b"\n")
        child.stdin.close()
        assert child.stdout is not None
        child.stdout.read()
    seen = b""
    with contextlib.suppress(OSError):  # how a terminal says that the other side has gone
        while piece := os.read(person, 65_536):
            seen += piece
    os.close(person)

    assert b"\x1b[1;31mdeny\x1b[0m" in seen
