"""`agentfence run`: an agent that knows nothing of the fence is behind it, and they end together."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from e2e.fence import BIN, POLICY, read_events, send_raw, status_of, write_policy
from e2e.network import make_ca, start_recording_upstream
from e2e.parts import Client, call, start_http_server
from e2e.parts import _program as program_of
from e2e.process import Process

from agentfence.cli.main import main
from agentfence.cli.run import (
    AUTHORITY_VARIABLES,
    PROXY_VARIABLES,
    _free_web_port,
    _plain_name,
    agent_environment,
    write_bundle,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

PROXY = "http://agent-x:secret@127.0.0.1:1"


def environment(**inherited: str) -> dict[str, str]:
    return agent_environment(inherited, PROXY, Path("/ca.pem"), Path("/bundle.pem"))


def test_environment_leads_through_the_proxy() -> None:
    made = environment(
        HOME="/home/eva", HTTPS_PROXY="http://old", no_proxy="*", NODE_EXTRA_CA_CERTS="/old.pem"
    )

    assert {made[name] for name in PROXY_VARIABLES} == {PROXY}
    assert {made[name.lower()] for name in PROXY_VARIABLES} == {PROXY}
    assert (made["NO_PROXY"], made["no_proxy"]) == ("", "")
    assert (made["NODE_USE_ENV_PROXY"], made["NODE_EXTRA_CA_CERTS"]) == ("1", "/ca.pem")
    assert {made[name] for name in AUTHORITY_VARIABLES} == {"/bundle.pem"}
    assert made["HOME"] == "/home/eva"


def test_environment_holds_nothing_of_the_fence() -> None:
    made = environment(AGENTFENCE_POLICY="p", AGENTFENCE_AUDIT_LOG="a", OTHER="o")

    assert [name for name in made if name.startswith("AGENTFENCE_")] == []
    assert made["OTHER"] == "o"


def test_bundle_holds_what_was_trusted_before(tmp_path: Path) -> None:
    (tmp_path / "own.pem").write_text("the system's\n")
    (tmp_path / "ca.pem").write_text("the proxy's\n")

    bundle = write_bundle(tmp_path, tmp_path / "ca.pem", {"SSL_CERT_FILE": str(tmp_path / "own.pem")})
    assert bundle.read_text() == "the system's\nthe proxy's\n"


@pytest.mark.parametrize("trusted", [{}, {"SSL_CERT_FILE": "/nowhere.pem"}])
def test_bundle_holds_public_authorities(trusted: dict[str, str], tmp_path: Path) -> None:
    authority = make_ca(tmp_path).authority
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(write_bundle(tmp_path, authority, trusted))

    assert len(context.get_ca_certs()) > 20


@pytest.mark.parametrize(
    ("program", "user"),
    [
        ("/usr/bin/claude", "claude"),
        ("my agent:x", "my-agent-x"),
        ("", "unnamed"),
        ("é", "-"),
        ("a" * 99, "a" * 40),
    ],
)
def test_user_is_called_as_the_program(program: str, user: str) -> None:
    assert _plain_name(program) == user


def test_live_view_gets_a_port() -> None:
    assert 1024 < _free_web_port() < 65_536


def test_there_is_no_agent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 2
    assert "after `--`" in capsys.readouterr().err


# --- with real processes ---


def command(folder: Path, *agent: str | Path, options: Sequence[str] = ()) -> list[str]:
    own = ["--policy", str(write_policy(folder, POLICY)), "--audit-log", str(folder / "audit.jsonl")]
    return [str(BIN / "agentfence"), "run", *own, *options, "--", *map(str, agent)]


def variables(folder: Path) -> dict[str, str]:
    """An environment as a desktop has it: no authorities, no proxy, a home of its own."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(folder)}


def run(
    folder: Path, *agent: str | Path, options: Sequence[str] = (), env: dict[str, str] | None = None
) -> Any:
    return subprocess.run(
        command(folder, *agent, options=options),
        env={**variables(folder), **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.e2e
@pytest.mark.parametrize("line", ["py1", "py2", "ts1", "ts2"])
def test_agent_that_knows_nothing_of_the_fence_is_behind_it(line: Any, tmp_path: Path) -> None:
    with start_http_server(line) as server:
        agent = [*program_of(line, "clients"), "--http", server.url]
        with Process(command(tmp_path, *agent), env={"HOME": str(tmp_path)}) as process:
            client = Client(process, 60)
            allowed = client.do(call("read_file", path="a"))
            denied = client.do(call("delete_file", path="a"))
            process.close_stdin()
            assert process.wait(60) == 0

        assert allowed.ok
        assert denied.error is not None
        assert "deleting is never for agents" in denied.error.message
        assert [made.tool for made in server.calls] == ["read_file"]
    clients = {event["client"] for event in read_events(tmp_path / "audit.jsonl")}
    assert clients == {"user:agent-node" if line.startswith("ts") else "user:agent-python"}


ASKING_OVER_TLS = """
import json, sys, urllib.request
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": sys.argv[2], "arguments": {}}})
request = urllib.request.Request(sys.argv[1], body.encode(), {"Content-Type": "application/json", "Accept": "application/json"})
print(urllib.request.urlopen(request).read().decode())
"""
ASKING_OVER_TLS_IN_NODE = """
const body = JSON.stringify({jsonrpc: '2.0', id: 1, method: 'tools/call', params: {name: process.argv[2], arguments: {}}});
const headers = {'Content-Type': 'application/json', Accept: 'application/json'};
const answer = await fetch(process.argv[1], {method: 'POST', body, headers});
console.log(await answer.text());
"""


@pytest.mark.e2e
@pytest.mark.parametrize("language", ["python", "node"])
def test_agent_trusts_what_the_proxy_shows_over_tls(language: str, tmp_path: Path) -> None:
    certificate = make_ca(tmp_path)
    if language == "python":
        agent: list[str | Path] = [sys.executable, "-c", ASKING_OVER_TLS]
    else:
        agent = [program_of("ts1", "clients")[0], "--input-type=module", "-e", ASKING_OVER_TLS_IN_NODE]
    with start_recording_upstream(certificate=certificate) as upstream:
        url = upstream.url.replace("127.0.0.1", "localhost")
        options = ["--set", f"ssl_verify_upstream_trusted_ca={certificate.authority}"]
        allowed = run(tmp_path, *agent, url, "read_file", options=options)
        denied = run(tmp_path, *agent, url, "delete_file", options=options)

    assert "result" in json.loads(allowed.stdout), allowed.stderr
    assert json.loads(denied.stdout)["error"]["code"] == -32001
    assert [json.loads(request.body)["params"]["name"] for request in upstream.requests] == ["read_file"]


@pytest.mark.e2e
def test_stdout_is_the_agents_alone(tmp_path: Path) -> None:
    done = run(tmp_path, "sh", "-c", "echo one; echo two >&2; cat", options=["--log-level", "verbose"])

    assert done.stdout == "one\n"
    assert "two\n" in done.stderr
    assert "agentfence: HTTP: policy" in done.stderr


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("agent", "status"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -TERM $$"], 143),
        (["/nowhere/agent"], 127),
        (["/etc/passwd"], 126),
        (["sh", "-c", 'test "$1 $2" = "-- x"', "sh", "--", "x"], 0),
    ],
)
def test_status_is_the_agents(agent: list[str], status: int, tmp_path: Path) -> None:
    assert run(tmp_path, *agent).returncode == status


@pytest.mark.e2e
def test_mistake_starts_no_agent(tmp_path: Path) -> None:
    done = run(tmp_path, "touch", tmp_path / "ran", options=["--mode", "off"])

    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "ran").exists()


@pytest.mark.e2e
def test_only_the_agent_may_use_the_proxy(tmp_path: Path) -> None:
    code = "import os, urllib.request\nprint(os.environ['HTTPS_PROXY'], flush=True)\ninput()"
    with Process(command(tmp_path, sys.executable, "-c", code), env={"HOME": str(tmp_path)}) as process:
        proxy = process.read_line(60)
        user, _, address = proxy.removeprefix("http://").rpartition("@")
        stranger = send_raw(
            int(address.split(":")[1]), b"GET http://127.0.0.1:9/ HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        process.write_line("")
        assert process.wait(30) == 0

    assert user.startswith("agent-python")
    assert len(user) > 30
    assert status_of(stranger) == 407


@pytest.mark.e2e
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_goes_to_the_agent(number: signal.Signals, tmp_path: Path) -> None:
    agent = [
        "sh",
        "-c",
        f"trap 'echo got it; exit 5' {number.name[3:]}; echo ready; while :; do sleep 0.1; done",
    ]
    with Process(command(tmp_path, *agent), env={"HOME": str(tmp_path)}) as process:
        assert process.read_line(60) == "ready"
        os.kill(process.pid, number)

        assert process.read_line() == "got it"
        assert process.wait() == 5


@pytest.mark.e2e
def test_interrupt_is_the_agents_affair(tmp_path: Path) -> None:
    # No shell: `read` of dash ends with the signal.
    agent = [
        "python3",
        "-uc",
        "import signal; signal.signal(signal.SIGINT, lambda *_: print('interrupted')); print('ready'); input()",
    ]
    with Process(command(tmp_path, *agent), env={"HOME": str(tmp_path)}) as process:
        assert process.read_line(60) == "ready"
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does for ^C

        assert process.read_line() == "interrupted"
        time.sleep(0.5)
        assert process.exit_status is None
        process.write_line("on")
        assert process.wait() == 0


@pytest.mark.e2e
def test_live_view_is_up_beside_the_agent(tmp_path: Path) -> None:
    with Process(command(tmp_path, "cat", options=["--web"]), env={"HOME": str(tmp_path)}) as process:
        written = process.wait_for_stderr("live view: ", 60)
        url = urlsplit(written.partition("live view: ")[2].split()[0])
        view = HTTPConnection(url.netloc, timeout=10)
        view.request("GET", f"/?{url.query}")
        shown = view.getresponse().read()
        view.close()
        process.write_line("hello")
        assert process.read_line() == "hello"
        process.close_stdin()
        assert process.wait() == 0

    assert b"<title>mitmproxy" in shown
    assert "approver intercept" in written


@pytest.mark.e2e
def test_inherited_proxy_is_not_used_and_that_is_said(tmp_path: Path) -> None:
    done = run(tmp_path, "true", env={"https_proxy": "http://user:secret@proxy.example.com:3128"})

    assert "HTTPS_PROXY was set" in done.stderr
    assert "secret" not in done.stderr
