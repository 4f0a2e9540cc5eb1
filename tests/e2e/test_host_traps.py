"""mitmproxy lets traffic pass in many ways when an addon is not careful: in none does a denied call get through.

Each test here is a trap that was seen to be one on mitmproxy 12.3.1.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import ssl
import struct
import time
from typing import TYPE_CHECKING, Any

import h2.connection
import h2.events
import pytest
from e2e.fence import (
    BIN,
    LAUNCHES,
    POLICY,
    Launch,
    Proxy,
    body_of,
    call_body,
    post,
    receive,
    send_raw,
    start_proxy,
    status_of,
    write_policy,
)
from e2e.network import RecordingUpstream, Response, free_port, make_ca, start_recording_upstream
from e2e.parts import ROOT
from e2e.process import Process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

DENIED = call_body("delete_file", path="a")
ALLOWED = call_body("read_file", path="a")
SCRIPT = ROOT / "addon" / "agentfence.py"


def executed(upstream: RecordingUpstream) -> list[str]:
    """The tools that the server was asked to run, however it was asked."""
    asked = b"\n".join(request.body for request in upstream.requests)
    return [tool for tool in ("read_file", "delete_file") if tool.encode() in asked]


def origin(upstream: RecordingUpstream) -> str:
    return upstream.url.removesuffix("/mcp")


@pytest.fixture
def upstream() -> Iterator[RecordingUpstream]:
    with start_recording_upstream() as running:
        yield running


def check_fenced(proxy: Proxy, upstream: RecordingUpstream) -> None:
    """A denied call is refused, an allowed one passes."""
    refused = send_until_answered(proxy, post("/mcp", DENIED))
    assert "delete_file" not in executed(upstream)
    assert body_of(refused)["error"]["code"] in {-32001, -32003}
    send_raw(proxy.port, post("/mcp", ALLOWED))
    assert executed(upstream) == ["read_file"]


def send_until_answered(proxy: Proxy, request: bytes) -> bytes:
    """The first answer: the host listens anew for a moment after its `mode` was set, though it was set back."""
    for _ in range(100):
        with contextlib.suppress(ConnectionError):
            if answer := send_raw(proxy.port, request):
                return answer
        time.sleep(0.1)
    raise AssertionError("no answer within 10 s")


# --- other scripts ---

MEDDLERS = {
    "raises in requestheaders": "def requestheaders(flow):\n    raise KeyError('x')\n",
    "raises in request": "def request(flow):\n    raise RecursionError('x')\n",
    "raises in responseheaders": "def responseheaders(flow):\n    raise ValueError('x')\n",
    "halts the chain in requestheaders": (
        "from mitmproxy.exceptions import AddonHalt\ndef requestheaders(flow):\n    raise AddonHalt\n"
    ),
    "halts the chain in request": (
        "from mitmproxy.exceptions import AddonHalt\ndef request(flow):\n    raise AddonHalt\n"
    ),
    "takes the response away in requestheaders": "def requestheaders(flow):\n    flow.response = None\n",
    "streams every body": "def requestheaders(flow):\n    flow.request.stream = True\n",
    "takes the response away and streams": (
        "def requestheaders(flow):\n    flow.response, flow.request.stream = None, True\n"
    ),
    "takes the response away in request": "def request(flow):\n    flow.response = None\n",
    "breaks the sorting": (
        "from agentfence.core.http.traffic import Sorter\n"
        "def running():\n    Sorter.sort = lambda *_: 1 / 0\n"
    ),
    "breaks the gate": (
        "from agentfence.core.gate import Gate\ndef running():\n    Gate.client_message = lambda *_: 1 / 0\n"
    ),
    "forges an approval": "def requestheaders(flow):\n    flow.metadata['agentfence'] = 'allow'\n",
}


@pytest.mark.parametrize("position", ["before", "after"])
@pytest.mark.parametrize("meddler", MEDDLERS)
def test_another_script_meddles(
    meddler: str, position: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    script = tmp_path / "meddler.py"
    script.write_text(MEDDLERS[meddler])
    scripts = {position: [script]}
    with start_proxy(tmp_path, upstream=origin(upstream), **scripts) as proxy:  # type: ignore[arg-type]
        send_raw(proxy.port, post("/mcp", DENIED))
        send_raw(proxy.port, post("/mcp", ALLOWED))

    assert "delete_file" not in executed(upstream)


@pytest.mark.parametrize("meddler", ["streams every body", "takes the response away and streams"])
def test_a_script_that_streams_keeps_no_agent_waiting(
    meddler: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    script = tmp_path / "meddler.py"
    script.write_text(MEDDLERS[meddler])
    with start_proxy(tmp_path, upstream=origin(upstream), after=[script]) as proxy:
        assert b'"error"' in send_raw(proxy.port, post("/mcp", DENIED))
        assert b'"result"' in send_raw(proxy.port, post("/mcp", ALLOWED))


@pytest.mark.parametrize("position", ["before", "after"])
def test_a_script_that_streams_answers_has_them_judged(position: str, tmp_path: Path) -> None:
    asks = b'{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}'
    script = tmp_path / "meddler.py"
    script.write_text("def responseheaders(flow):\n    flow.response.stream = True\n")
    policy = POLICY + "methods: {sampling/createMessage: deny}\n"
    with (
        start_recording_upstream(lambda _: Response(asks)) as upstream,
        start_proxy(tmp_path, policy=policy, upstream=origin(upstream), **{position: [script]}) as proxy,  # type: ignore[arg-type]
    ):
        answer = send_raw(proxy.port, post("/mcp", ALLOWED))

    assert body_of(answer)["method"] == "agentfence/refused"


@pytest.mark.parametrize("position", ["before", "after"])
def test_another_script_rewrites_an_allowed_call(
    position: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    script = tmp_path / "rewriter.py"
    script.write_text(f"def request(flow):\n    flow.request.raw_content = {DENIED!r}\n")
    with start_proxy(tmp_path, upstream=origin(upstream), **{position: [script]}) as proxy:  # type: ignore[arg-type]
        send_raw(proxy.port, post("/mcp", ALLOWED))

    assert executed(upstream) == []


def test_another_script_sends_a_call_to_another_server(upstream: RecordingUpstream, tmp_path: Path) -> None:
    script = tmp_path / "rewriter.py"
    script.write_text("def request(flow):\n    flow.request.path = '/shut'\n")
    urls = {name: {"url": f"{origin(upstream)}/{name}"} for name in ("open", "shut")}
    rules = {"open/read_file": "allow", "shut/read_file": "deny"}
    policy = json.dumps({"version": "1", "servers": urls, "tools": rules})
    with start_proxy(tmp_path, policy=policy, upstream=origin(upstream), before=[script]) as proxy:
        send_raw(proxy.port, post("/open", ALLOWED))

    assert executed(upstream) == []
    assert [(event["server"], event["decision"]) for event in proxy.events] == [("shut", "deny")]


REWRITERS = {
    "a body that is streamed": ("requestheaders", post("/a", DENIED)),
    "a body that grows too large": (
        "requestheaders",
        post("/a", b'{"a":"' + b"x" * 5_000_000 + b'",' + DENIED[1:]),
    ),
    "no body": ("request", b"GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
}


@pytest.mark.parametrize("position", ["before", "after"])
@pytest.mark.parametrize("rewriter", REWRITERS)
def test_another_script_makes_a_call_of_what_was_none(
    rewriter: str, position: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    hook, request = REWRITERS[rewriter]
    if rewriter == "a body that is streamed":
        request = request.replace(b"application/json\r\n", b"application/octet-stream\r\n", 1)
    request = request.replace(b"127.0.0.1", b"files.example", 1).replace(b"/a", b"http://files.example/a", 1)
    script = tmp_path / "rewriter.py"
    call = f"flow.request.method, flow.request.content = 'POST', {DENIED!r}" if hook == "request" else "pass"
    script.write_text(
        f"def {hook}(flow):\n    flow.request.url = {upstream.url!r}\n"
        f"    flow.request.headers['content-type'] = 'application/json'\n    {call}\n"
    )
    policy = POLICY + f'servers: {{files: {{url: "{upstream.url}"}}}}\n'
    with start_proxy(tmp_path, policy=policy, **{position: [script]}) as proxy:  # type: ignore[arg-type]
        answer = send_raw(proxy.port, request)

    assert executed(upstream) == []
    assert answer.startswith(b"HTTP/1.1 ")
    assert [event["decision"] for event in proxy.events] == ["deny"]


def test_another_script_sends_a_large_body_elsewhere(upstream: RecordingUpstream, tmp_path: Path) -> None:
    body = b'{"a":"' + b"x" * 5_000_000 + b'"}'
    script = tmp_path / "rewriter.py"
    script.write_text(
        f"def requestheaders(flow):\n    flow.request.url = '{origin(upstream)}/a'\n"
        "    flow.request.headers['content-type'] = 'image/png'\n"
        "def request(flow):\n    flow.request.path = '/b'  # too late, as it is streamed\n"
    )
    request = post("http://files.example/a", body, host="files.example").replace(
        b"Content-Length: %d" % len(body), b"Transfer-Encoding: chunked"
    )
    chunked = request.replace(body, b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
    with start_proxy(tmp_path, before=[script]) as proxy:
        answer = send_raw(proxy.port, chunked)

    assert status_of(answer) == 202
    assert [(request.target, request.body) for request in upstream.requests] == [("/a", body)]


UNJUDGED = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"nobody judged it"}]}}'


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b"data: " + UNJUDGED + b"\n\n", "text/event-stream"), (UNJUDGED, "application/json")],
)
@pytest.mark.parametrize(
    "step",
    ["heads.check_answer_head", "heads.classify_answer", "answers.server_message", "answers.refuse_answer"],
)
def test_an_answer_on_which_the_fence_fails_does_not_pass(
    step: str, body: bytes, content_type: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    """Also where it fails again as it refuses."""
    refuses = step == "answers.refuse_answer"
    failing = ["answers.server_message", step] if refuses else [step]
    script = tmp_path / "breaker.py"
    script.write_text(
        "from agentfence.mitm import answers, heads\ndef running():\n"
        + "".join(f"    assert {name}; {name} = lambda *_: 1 / 0\n" for name in failing)
    )
    upstream.answer = lambda _: Response(body, headers=(("Content-Type", content_type),))
    with start_proxy(tmp_path, upstream=origin(upstream), before=[script]) as proxy:
        answered = send_raw(proxy.port, post("/mcp", ALLOWED))

    assert executed(upstream) == ["read_file"]
    assert b"nobody judged it" not in answered
    if not refuses or content_type == "application/json":
        assert b'"error"' in answered


CALL = post("http://files.example/a", ALLOWED, host="files.example")
PICTURE = CALL.replace(b"application/json\r\n", b"image/png\r\n", 1)
LARGE = post("http://files.example/a", b'{"a":"' + b"x" * 5_000_000 + b'"}', host="files.example")
HOST_OPTIONS = {
    "block_list": (["--set", "block_list=:~d files.example:451"], 451, []),
    "block_list without an answer": (["--set", "block_list=:~d files.example:444"], 0, []),
    "map_local": (["--map-local", "|files.example|{file}"], 200, []),
    "map_remote": (["--map-remote", "|http://files.example|{origin}"], 200, ["/a"]),
    "a header beside map_remote": (
        ["--map-remote", "|http://files.example|{origin}", "--modify-headers", "|~q|X-More|yes"],
        200,
        ["/a", "yes"],
    ),
}


@pytest.mark.parametrize("kind", ["call", "upload", "large body"])
@pytest.mark.parametrize("option", HOST_OPTIONS)
def test_the_hosts_own_options_count_for_what_is_judged_and_what_is_streamed(
    option: str, kind: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    words, status, seen = HOST_OPTIONS[option]
    (tmp_path / "local.json").write_text("{}")
    upstream.answer = lambda _: Response(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    words = [word.format(origin=origin(upstream), file=tmp_path / "local.json") for word in words]
    with start_proxy(tmp_path, arguments=words) as proxy:
        answer = send_raw(proxy.port, {"call": CALL, "upload": PICTURE, "large body": LARGE}[kind])

    assert status_of(answer) == (status or (413 if kind == "large body" else 0))
    asked = [[request.target, *request.header("x-more")] for request in upstream.requests]
    assert asked == ([seen] if seen else [])


@pytest.mark.parametrize("start", [DENIED, ALLOWED])
def test_what_the_hosts_own_option_writes_is_judged(
    start: bytes, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    becomes = "read_file" if start == DENIED else "delete_file"
    words = ["--modify-body", f"/~q/(delete|read)_file/{becomes}"]
    with start_proxy(tmp_path, upstream=origin(upstream), arguments=words) as proxy:
        send_raw(proxy.port, post("/mcp", start))

    assert executed(upstream) == (["read_file"] if start == DENIED else [])


# --- the script itself ---


@pytest.mark.parametrize("change", ["edited", "broken", "deleted"])
def test_the_script_is_changed_while_it_runs(
    change: str, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    # A checkout of its own, as the script runs the package beside it.
    shutil.copytree(ROOT / "addon", tmp_path / "addon", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "engine").symlink_to(ROOT / "engine")
    script = tmp_path / "addon" / "agentfence.py"
    with start_proxy(tmp_path, upstream=origin(upstream), script=script) as proxy:
        match change:
            case "edited":
                script.write_text(script.read_text() + "\n# edited\n")
            case "broken":
                script.write_text("def (")
            case "deleted":
                script.unlink()
        time.sleep(2.5)  # mitmproxy looks once a second

        check_fenced(proxy, upstream)


class Web:
    """mitmweb's own API."""

    def __init__(self, port: int) -> None:
        self._port = port

    def send(self, method: str, path: str, body: Any = None) -> int:
        """The status of the answer."""
        headers = {
            "Authorization": "Bearer pw",
            "Cookie": "_mitmproxy_xsrf=abc",
            "X-XSRFToken": "abc",
            "Content-Type": "application/json",
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            return connection.getresponse().status


@pytest.fixture
def web(upstream: RecordingUpstream, tmp_path: Path) -> Iterator[tuple[Web, Proxy]]:
    port = free_port()
    settings = ["web_password=pw", f"web_port={port}", "web_open_browser=false"]
    with start_proxy(tmp_path, upstream=origin(upstream), program="mitmweb", settings=settings) as proxy:
        yield Web(port), proxy


def test_the_script_is_unloaded_over_the_web(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    api, proxy = web

    assert api.send("PUT", "/options", {"scripts": []}) == 200
    check_fenced(proxy, upstream)


REFUSED: dict[str, Any] = {
    "rawtcp": True,
    "websocket": False,
    "http2": True,
    "http3": True,
    "validate_inbound_headers": False,
    "connection_strategy": "eager",
    "keep_host_header": False,
    "stream_large_bodies": "1k",
    "body_size_limit": "1m",
    "ignore_hosts": ["."],
    "allow_hosts": ["x"],
    "tcp_hosts": ["."],
    "udp_hosts": ["."],
    "mode": ["transparent"],
    "agentfence_mode": "observe",
}


def test_an_option_is_changed_while_it_runs(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    api, proxy = web

    answers = {name: api.send("PUT", "/options", {name: value}) for name, value in REFUSED.items()}

    assert answers == dict.fromkeys(REFUSED, 400)
    check_fenced(proxy, upstream)


@pytest.mark.parametrize("mode", [["regular"], ["reverse:http://127.0.0.1:1", "regular@18098"]])
def test_reverse_mode_is_left_while_it_runs(
    mode: list[str], web: tuple[Web, Proxy], upstream: RecordingUpstream
) -> None:
    api, proxy = web

    assert api.send("PUT", "/options", {"mode": mode}) == 400
    check_fenced(proxy, upstream)


def test_all_options_are_reset_while_it_runs(web: tuple[Web, Proxy], upstream: RecordingUpstream) -> None:
    api, proxy = web

    api.send("POST", "/commands/options.reset", {"arguments": []})
    check_fenced(proxy, upstream)


# --- options at the start ---

BAD_STARTS = {
    "a mistyped option": ["--set", "agentfence_polcy=x"],
    "a word for a number": ["--set", "agentfence_max_body=abc"],
    "zero": ["--set", "agentfence_max_body=0"],
    "a negative number": ["--set", "agentfence_max_batch=-1"],
    "an empty value": ["--set", "agentfence_max_body="],
    "an unknown choice": ["--set", "agentfence_mode=off"],
    "a blank for the equals sign of a policy": ["--set", "agentfence_policy", "policy.yaml"],
    "a switch without its value": ["--set", "agentfence_watch_policy"],
    "two values": ["--set", "agentfence_mode=observe", "--set", "agentfence_mode=enforce"],
    "a policy that is not there": ["--set", "agentfence_policy=nowhere.yaml"],
    "an audit log that cannot be opened": ["--set", "agentfence_audit_log=/nowhere/x"],
    "websocket off": ["--set", "websocket=false"],
    "headers not validated": ["--set", "validate_inbound_headers=false"],
    "large bodies streamed": ["--set", "stream_large_bodies=1m"],
    "the host's own limit": ["--set", "body_size_limit=1m"],
    "hosts ignored": ["--ignore-hosts", "."],
    "hosts allowed": ["--allow-hosts", "x"],
    "hosts as raw TCP": ["--tcp-hosts", "."],
    "hosts as raw UDP": ["--set", "udp_hosts=."],
    "an unknown mode": ["--mode", "dns"],
    "reverse mode with another": ["--mode", "reverse:http://127.0.0.1:1", "--mode", "regular@18099"],
}


@pytest.mark.parametrize("mistake", BAD_STARTS)
def test_a_mistake_at_the_start_ends_it(mistake: str, tmp_path: Path) -> None:
    port = free_port()
    command = [BIN / "mitmdump", "-s", SCRIPT, "-p", str(port), "--set", f"confdir={tmp_path}"]
    if "policy" not in mistake:
        command += ["--set", f"agentfence_policy={write_policy(tmp_path)}"]

    with Process([*command, *BAD_STARTS[mistake]], env={"HOME": str(tmp_path)}, cwd=tmp_path) as process:
        assert process.wait(60) == 1
        written = process.stderr

    assert "Traceback" not in written
    assert written.strip()


# --- what a client may send ---


@pytest.fixture(scope="module", params=LAUNCHES)
def forward(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Proxy, RecordingUpstream]]:
    launch: Launch = request.param
    folder = tmp_path_factory.mktemp("forward")
    certificate = make_ca(folder)
    with start_recording_upstream(certificate=certificate) as upstream:
        port = upstream.url.split(":")[2].split("/")[0]
        policy = POLICY + f'servers: {{files: {{url: "https://localhost:{port}/mcp"}}}}\n'
        with start_proxy(folder, launch=launch, policy=policy, trusts=certificate.authority) as proxy:
            yield proxy, upstream


def connect(proxy: Proxy, target: str) -> socket.socket:
    """A tunnel to a target, as the proxy opens it."""
    connection = socket.create_connection(("127.0.0.1", proxy.port), 10)
    connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    assert b" 200 " in connection.recv(4096)
    return connection


def connect_socks(proxy: Proxy, upstream: RecordingUpstream) -> socket.socket:
    """A tunnel to a server, as a SOCKS proxy opens it."""
    connection = socket.create_connection(("127.0.0.1", proxy.port), 10)
    connection.sendall(b"\x05\x01\x00")
    assert connection.recv(2) == b"\x05\x00"
    port = int(upstream.url.split(":")[2].split("/")[0])
    connection.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + port.to_bytes(2))
    assert connection.recv(10)[1] == 0
    return connection


def target_of(upstream: RecordingUpstream) -> str:
    return upstream.url.removeprefix("https://").removesuffix("/mcp")


def start_tls(proxy: Proxy, connection: socket.socket, name: str, *protocols: str) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(proxy.authority))
    context.check_hostname = False
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context.wrap_socket(connection, server_hostname=name)


@pytest.mark.parametrize("beginning", [b"PO", b" ", b"\r\n", b"\x00\x01\x02\x03", b"\n\n\nPOST"])
def test_a_tunnel_that_does_not_begin_as_http(
    beginning: bytes, forward: tuple[Proxy, RecordingUpstream]
) -> None:
    proxy, upstream = forward
    upstream.requests.clear()
    with start_recording_upstream() as plain, connect(proxy, plain.url.split("/")[2]) as connection:
        connection.sendall(beginning)
        time.sleep(0.3)
        with contextlib.suppress(ConnectionError):
            connection.sendall(post("/mcp", DENIED))
            receive(connection, 2)

        assert executed(plain) == []


@pytest.mark.parametrize("port", [53, 5353])
def test_a_tunnel_to_a_port_of_dns(port: int, forward: tuple[Proxy, RecordingUpstream]) -> None:
    """The host takes what goes there for DNS, and passes it on unread."""
    proxy, _ = forward
    query = struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + b"\x0bdelete_file\x07example\0" + b"\0\x10\0\x01"
    with connect(proxy, f"127.0.0.1:{port}") as connection:
        connection.sendall(post("/mcp", DENIED, host=f"127.0.0.1:{port}"))
        refused = receive(connection)
    with connect(proxy, f"127.0.0.1:{port}") as connection:
        connection.sendall(struct.pack(">H", len(query)) + query + b"\r\n\r\n")
        answer = receive(connection)

    assert body_of(refused)["error"]["code"] == -32001
    assert status_of(answer) == 400


def test_target_and_host_disagree(forward: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = forward
    upstream.requests.clear()
    with start_tls(proxy, connect(proxy, target_of(upstream)), "localhost") as connection:
        connection.sendall(post("/mcp", ALLOWED, host="other.example"))
        answer = receive(connection)

    assert status_of(answer) == 403
    assert upstream.requests == []


def test_target_and_sni_disagree(forward: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = forward
    upstream.requests.clear()
    with start_tls(proxy, connect(proxy, target_of(upstream)), "other.example") as connection:
        connection.sendall(post("/mcp", ALLOWED, host=target_of(upstream)))
        answer = receive(connection)

    assert status_of(answer) in {403, 502}
    assert upstream.requests == []


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("mode", ["regular", "socks5"])
def test_target_and_url_disagree(mode: str, launch: Launch, tmp_path: Path) -> None:
    """A server, and the more so another proxy, goes by the URL in the request line, if there is one."""
    policy = POLICY + 'servers: {files: {url: "http://files.example/mcp"}}\nunlisted: pass\n'
    connections = {"regular": lambda *to: connect(to[0], to[1].url.split("/")[2]), "socks5": connect_socks}
    with (
        start_recording_upstream() as upstream,
        start_proxy(tmp_path, launch=launch, policy=policy, settings=[f"mode={mode}"]) as proxy,
        connections[mode](proxy, upstream) as connection,
    ):
        connection.sendall(post("http://files.example/mcp", DENIED, host=upstream.url.split("/")[2]))
        answer = receive(connection)

    assert status_of(answer) == 403
    assert upstream.requests == []


def test_a_client_that_offers_http2_is_fenced(forward: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = forward
    upstream.requests.clear()
    with start_tls(proxy, connect(proxy, target_of(upstream)), "localhost", "h2", "http/1.1") as connection:
        assert connection.selected_alpn_protocol() in {None, "http/1.1"}
        connection.sendall(post("/mcp", DENIED, host=target_of(upstream)))
        answer = receive(connection)

    assert body_of(answer)["error"]["code"] == -32001
    assert upstream.requests == []


def test_http2_without_asking(forward: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = forward
    upstream.requests.clear()
    with start_tls(proxy, connect(proxy, target_of(upstream)), "localhost") as connection:
        client = h2.connection.H2Connection()
        client.initiate_connection()
        head = [
            (":method", "POST"),
            (":path", "/mcp"),
            (":scheme", "https"),
            (":authority", target_of(upstream)),
        ]
        client.send_headers(1, [*head, ("content-type", "application/json")])
        client.send_data(1, DENIED, end_stream=True)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            connection.sendall(client.data_to_send())
            receive(connection, 2)

    assert upstream.requests == []


@pytest.fixture(scope="module", params=LAUNCHES)
def reverse(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Proxy, RecordingUpstream]]:
    launch: Launch = request.param
    with (
        start_recording_upstream() as upstream,
        start_proxy(tmp_path_factory.mktemp("reverse"), launch=launch, upstream=origin(upstream)) as proxy,
    ):
        yield proxy, upstream


def _chunked(body: bytes, trailers: bytes) -> bytes:
    head = post("/mcp", b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    return head + b"%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailers)


SENT = {
    "an absolute target": post("http://other.example/mcp", DENIED),
    "an absolute target of the server": post("http://127.0.0.1/mcp", ALLOWED),
    "an upgrade": post(
        "/mcp", DENIED, "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"
    ),
    "a websocket": post(
        "/mcp",
        DENIED,
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ),
    "trailers": _chunked(DENIED, b"X-More: 1\r\n"),
    "trailers on an allowed call": _chunked(ALLOWED, b"Mcp-Name: delete_file\r\n"),
    "another verb": post("/mcp", DENIED).replace(b"POST", b"PUT", 1),
    "a body on GET": post("/mcp", DENIED).replace(b"POST", b"GET", 1),
    "a verb in lower case": post("/mcp", DENIED).replace(b"POST", b"post", 1),
    "CONNECT": b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n" + post("/mcp", DENIED),
    "a method override": post("/mcp", DENIED, "X-HTTP-Method-Override: GET"),
    "another path": post("/anything/else?x=1", DENIED),
    "no content type": post("/mcp", DENIED).replace(b"Content-Type: application/json\r\n", b""),
    "gzip that is none": post("/mcp", DENIED, "Content-Encoding: gzip"),
    "quoted printable": post("/mcp", DENIED.replace(b"delete", b"=64elete"), "Content-Encoding: quopri"),
    "an approval in a header": post("/mcp", DENIED, "X-AgentFence: allow"),
    "HTTP/1.0": post("/mcp", DENIED, version="1.0"),
    "two requests at once": post("/mcp", DENIED) + post("/mcp", DENIED),
    "two lengths": post("/mcp", DENIED, "Content-Length: 2"),
    "a length and chunks": post("/mcp", DENIED, "Transfer-Encoding: chunked"),
    "a folded header": post("/mcp", DENIED, "X-A: 1\r\n Content-Length: 3"),
}
ALLOWED_TO_PASS = {"an absolute target of the server"}


@pytest.mark.parametrize("trick", SENT)
def test_a_client_tries(trick: str, reverse: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = reverse
    upstream.requests.clear()

    answer = send_raw(proxy.port, SENT[trick], timeout=5)

    assert "delete_file" not in executed(upstream)
    assert upstream.requests == [] or trick in ALLOWED_TO_PASS
    assert answer, "the client was left without an answer"


@pytest.mark.parametrize("launch", LAUNCHES)
@pytest.mark.parametrize("verb", ["GET", "PUT", "POST"])
@pytest.mark.parametrize("is_named", [True, False], ids=["named", "unnamed"])
def test_a_call_in_the_body_of_what_is_none(
    verb: str, is_named: bool, launch: Launch, upstream: RecordingUpstream, tmp_path: Path
) -> None:
    target = origin(upstream)
    policy = POLICY + (f'servers: {{files: {{url: "{upstream.url}"}}}}\n' if is_named else "")
    upstream.leaves_bodies, upstream.answer = True, lambda _: Response(b"{}")
    host = target.removeprefix("http://")
    chunks = b"".join(b"1\r\n%c\r\n" % octet for octet in DENIED) + b"0\r\n\r\n"
    inside = (
        post("/mcp", b"", host=host).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + chunks
    )
    request = post(f"{target}/a", inside, host=host).replace(b"application/json", b"text/plain", 1)
    with start_proxy(tmp_path, launch=launch, policy=policy) as proxy:
        answer = send_raw(proxy.port, request.replace(b"POST", verb.encode(), 1))
        again = send_raw(proxy.port, post(f"{target}/mcp", ALLOWED, host=host))

    assert [(request.method, request.target) for request in upstream.requests] == [
        (verb, "/a"),
        ("POST", "/mcp"),
    ]
    assert executed(upstream) == ["read_file"]
    assert (status_of(answer), status_of(again)) == (200, 200)


def test_a_call_after_a_refused_one_on_the_same_connection(reverse: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, upstream = reverse
    upstream.requests.clear()
    with socket.create_connection(("127.0.0.1", proxy.port), 10) as connection:
        connection.sendall(post("/mcp", DENIED))
        refused = receive(connection)
        connection.sendall(post("/mcp", ALLOWED))
        answered = receive(connection)

    assert body_of(refused)["error"]["code"] == -32001
    assert body_of(answered)["result"] == {"content": [], "isError": False}
    assert executed(upstream) == ["read_file"]


def test_the_fence_listens_on_the_loopback_alone(reverse: tuple[Proxy, RecordingUpstream]) -> None:
    proxy, _ = reverse
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.2", proxy.port), 1):
        pytest.fail("the fence listens on more than 127.0.0.1")
