"""The real servers and clients work with each other directly: what fails through the fence is the fence's."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.network import (
    Request,
    Response,
    answer_result,
    make_ca,
    proxied,
    start_recording_upstream,
    trusting,
)
from e2e.parts import (
    LIST,
    ROOT,
    SDK_LINES,
    Call,
    Client,
    Era,
    HttpServer,
    Outcome,
    SdkLine,
    Step,
    call,
    everything_server,
    executed_calls,
    filesystem_server,
    open_client,
    run_client,
    start_http_server,
    stdio_server,
)
from e2e.process import Process, ProcessFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

TOOLS = [tool["name"] for tool in json.loads((ROOT / "tests/parts/servers/tools.json").read_text())]
STEPS: list[Step] = [LIST, call("write_file", path="a", content="b"), call("read_file", path="a")]
EXECUTED = [Call("write_file", {"path": "a", "content": "b"}), Call("read_file", {"path": "a"})]

every_line = pytest.mark.parametrize("line", SDK_LINES)


def check(outcomes: list[Outcome]) -> None:
    """STEPS went as they should."""
    listed, written, read = outcomes

    assert listed.tools == TOOLS
    assert (written.text, read.text) == ("wrote a", "b")


PAIRS: list[tuple[SdkLine, SdkLine]] = [
    *zip(SDK_LINES, SDK_LINES, strict=True),
    ("py1", "ts2"),
    ("ts1", "py2"),
]
"""Each line of clients with its own servers, and both languages with the other's."""


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[Client, HttpServer]]:
    line, server_line = request.param
    with start_http_server(server_line) as server, open_client(line, http=server.url) as opened:
        yield opened, server


@pytest.fixture
def client(pair: tuple[Client, HttpServer]) -> Client:
    return pair[0]


def test_client_lists_and_calls_over_http(pair: tuple[Client, HttpServer]) -> None:
    client, server = pair
    before = len(server.calls)

    check([client.do(step) for step in STEPS])

    assert server.calls[before:] == EXECUTED


def test_client_answers_the_servers_questions_over_http(client: Client) -> None:
    user = client.do(call("ask_user", question="which colour?"))
    model = client.do(call("ask_model", prompt="say hello"))

    assert (user.text, model.text) == ("the user said blue", "the model said hello")


def test_client_sees_progress_while_the_call_runs(client: Client) -> None:
    counted = client.do(call("count_slowly", steps=3, seconds=0.3))

    assert [done for _, done in counted.progress] == [[1, 3], [2, 3], [3, 3]]
    assert counted.progress[-1][0] - counted.progress[0][0] > 0.4


def test_client_does_other_things_while_a_call_runs(client: Client) -> None:
    slow = client.begin(call("count_slowly", steps=1, seconds=1.0))
    began = time.monotonic()
    failed = client.do(call("fail", message="no"))
    took = time.monotonic() - began
    counted = client.wait_for(slow)

    assert failed.result is not None
    assert (failed.result["isError"], failed.text) == (True, "no")
    assert took < 0.9
    assert counted.text == "counted to 1"


@pytest.mark.parametrize(("line", "server"), PAIRS)
def test_client_lists_and_calls_over_stdio(line: SdkLine, server: SdkLine, tmp_path: Path) -> None:
    record = tmp_path / "calls.jsonl"

    check(run_client(line, STEPS, stdio=stdio_server(server, record)))

    assert executed_calls(record) == EXECUTED


@pytest.mark.parametrize(
    ("line", "server"), [("py1", "ts1"), ("py2", "py1"), ("ts1", "py2"), ("ts1", "ts1"), ("ts2", "ts1")]
)
def test_client_lists_and_calls_over_the_transport_of_2024(line: SdkLine, server: SdkLine) -> None:
    with start_http_server(server) as running:
        check(run_client(line, STEPS, sse=running.sse_url, era="legacy"))


@every_line
def test_client_uses_the_file_system_server(line: SdkLine, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    steps = [
        LIST,
        call("write_file", path=str(file), content="hello"),
        call("read_text_file", path=str(file)),
    ]

    listed, _, read = run_client(line, steps, stdio=filesystem_server(tmp_path))

    assert {"read_text_file", "write_file"} <= set(listed.tools)
    assert read.text == file.read_text() == "hello"


@every_line
def test_client_raises_the_servers_error_and_goes_on(line: SdkLine) -> None:
    missing: Step = {"do": "prompt", "name": "no such prompt"}

    refused, echoed = run_client(line, [missing, call("echo", message="hi")], stdio=everything_server())

    assert refused.error is not None
    assert refused.error.code == -32602
    assert (
        refused.error.type
        == {"py1": "McpError", "py2": "MCPError", "ts1": "McpError", "ts2": "ProtocolError"}[line]
    )
    assert echoed.text == "Echo: hi"


@pytest.mark.parametrize("server", ["py2", "ts2"])
@pytest.mark.parametrize(
    ("line", "era", "revision"),
    [
        ("py2", "legacy", "2025-11-25"),
        ("ts2", "legacy", "2025-11-25"),
        ("ts2", "modern", "2026-07-28"),
        ("ts2", "auto", "2026-07-28"),
    ],
)
def test_client_connects_in_the_era_it_is_told(
    line: SdkLine, server: SdkLine, era: Era, revision: str
) -> None:
    with (
        start_http_server(server, json_answers=True) as running,
        open_client(line, http=running.url, era=era) as opened,
    ):
        check([opened.do(step) for step in STEPS])

    assert opened.connection.result is not None
    assert opened.connection.result["protocolVersion"] == revision


@every_line
def test_client_trusts_the_authority_it_is_told(line: SdkLine, tmp_path: Path) -> None:
    certificate = make_ca(tmp_path)
    with start_http_server(line, certificate=certificate) as server:
        with open_client(line, http=server.url, timeout=5) as distrusting:
            refused = distrusting.connection
        (read,) = run_client(
            line, [call("read_file", path="a")], http=server.url, env=trusting(certificate.authority)
        )

    assert server.url.startswith("https://localhost:")
    assert refused.error is not None
    assert read.text == "contents of a"


@every_line
def test_client_goes_through_the_proxy_it_is_told(line: SdkLine, tmp_path: Path) -> None:
    certificate = make_ca(tmp_path)
    options = f"--listen-host 127.0.0.1 --listen-port 0 --set confdir={tmp_path}".split()
    trust = f"--set ssl_verify_upstream_trusted_ca={certificate.authority}".split()
    mitmdump = [str(Path(sys.executable).with_name("mitmdump")), *options, *trust]
    with start_http_server("ts1", certificate=certificate) as server, Process(mitmdump) as proxy:
        listening = re.search(r"listening at (\S+)\.$", proxy.read_line())
        assert listening is not None
        env = proxied(f"http://{listening[1]}") | trusting(tmp_path / "mitmproxy-ca-cert.pem")
        (read,) = run_client(line, [call("read_file", path="a")], http=server.url, env=env)
        seen = proxy.read_line()

    assert read.text == "contents of a"
    assert "client connect" in seen


def test_upstream_records_what_arrives_and_answers_as_told() -> None:
    def answer(request: Request) -> Response:
        if request.header("x-stream"):
            return Response(
                iter([b"data: 1\n\n", b"data: 2\n\n"]), headers=(("Content-Type", "text/event-stream"),)
            )
        return answer_result(request)

    body = b'{"jsonrpc":"2.0","id":"a","method":"tools/call"}'
    with start_recording_upstream(answer) as upstream:
        plain = urllib.request.urlopen(urllib.request.Request(upstream.url, body, method="POST")).read()
        streaming = urllib.request.Request(upstream.url, body, {"X-Stream": "yes"}, method="POST")
        streamed = urllib.request.urlopen(streaming).read()

    assert json.loads(plain) == {"jsonrpc": "2.0", "id": "a", "result": {"content": [], "isError": False}}
    assert streamed == b"data: 1\n\ndata: 2\n\n"
    assert [(request.method, request.target, request.body) for request in upstream.requests] == [
        ("POST", "/mcp", body)
    ] * 2


def test_process_ends_its_children_with_it() -> None:
    with Process(["bash", "-c", "sleep 600 & echo started; wait"]) as process:
        assert process.read_line() == "started"

    # The child held the other end of this pipe.
    assert process.read_line_or_end(1) is None


def test_process_that_ends_early_says_why() -> None:
    failing = Process([sys.executable, "-c", "raise SystemExit('no such thing')"])

    with failing, pytest.raises(ProcessFailedError, match="no such thing"):
        failing.read_line()
