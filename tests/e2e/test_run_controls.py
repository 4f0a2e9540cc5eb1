"""A running fence is told to load its policy again, or to say what it counted; its terminal may go."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import signal
import subprocess
import termios
from typing import TYPE_CHECKING

import pytest
from audit_logs import kinds_in, status_of
from e2e.fence import LAUNCHES, POLICY, body_of, call_body, post, relay, send_raw, start_proxy, write_policy
from e2e.network import Request, Response, start_recording_upstream
from e2e.process import Process
from e2e.test_relay import ANSWERING, server

from agentfence.core.audit.reports import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from e2e.fence import Launch

pytestmark = pytest.mark.e2e

CHANGED = POLICY.replace("read_file: allow", "read_file: deny")
BAD = POLICY.replace("read_file: allow", "read_file: alow")


def change_while_it_runs(
    process: Process,
    folder: Path,
    wait_for: Callable[[str], object],
    is_denied: Callable[[], bool],
    signals: bool,
) -> None:
    assert not is_denied()
    for policy, said in ((CHANGED, "the policy was loaded again"), (BAD, "policy.yaml:4:14: ")):
        write_policy(folder, policy)
        if signals:
            os.kill(process.pid, signal.SIGHUP)
        wait_for(said)
        assert is_denied()
    os.kill(process.pid, signal.SIGUSR1)
    wait_for("summary of ")

    assert kinds_in(folder / "audit.jsonl").count("policy_reloaded") == 1
    assert status_of(folder / "audit.jsonl") is Status.OK


@pytest.mark.parametrize("signals", [True, False])
def test_relay_takes_a_changed_policy_and_keeps_it_over_a_bad_one(tmp_path: Path, signals: bool) -> None:
    options = () if signals else ("--watch-policy",)
    with Process(relay(tmp_path, *server(tmp_path, ANSWERING), options=options), cwd=tmp_path) as process:
        ids = itertools.count()

        def is_denied() -> bool:
            process.write(call_body("read_file", next(ids), path="a") + b"\n")
            return "error" in json.loads(process.read_line())

        change_while_it_runs(process, tmp_path, process.wait_for_stderr, is_denied, signals)


@pytest.mark.parametrize(
    ("launch", "signals"), [*((launch, True) for launch in LAUNCHES), ("launcher", False)]
)
def test_proxy_takes_a_changed_policy_and_keeps_it_over_a_bad_one(
    tmp_path: Path, launch: Launch, signals: bool
) -> None:
    settings = () if signals else ("agentfence_watch_policy=true",)
    with start_proxy(tmp_path, launch=launch, upstream="http://127.0.0.1:1", settings=settings) as proxy:

        def wait_for(text: str) -> None:
            while text not in proxy.process.read_line():
                continue

        def is_denied() -> bool:
            answer = body_of(send_raw(proxy.port, post("/mcp", call_body("read_file", path="a"))))
            return bool(answer["error"]["code"] == -32001)  # else nobody is there to be reached

        change_while_it_runs(proxy.process, tmp_path, wait_for, is_denied, signals)


LISTING = ANSWERING.replace(
    '"result": {', '"result": {"tools": [{"name": "read_file", "inputSchema": {"required": ["path"]}}], '
)


def test_relay_knows_its_servers_tools_by_the_name_that_a_changed_policy_gives_it(tmp_path: Path) -> None:
    policy = 'version: "1"\ndefaults: {decision: allow}\nvalidate_arguments: true\n'
    command = relay(tmp_path, *server(tmp_path, LISTING), policy=policy)
    with Process(command, cwd=tmp_path) as process:
        process.write(b'{"jsonrpc":"2.0","id":0,"method":"tools/list"}\n')
        process.read_line()
        for name in ("", 'servers: {files: {command: ["**"]}}\n'):
            write_policy(tmp_path, policy + name)
            os.kill(process.pid, signal.SIGHUP)
            process.wait_for_stderr("was loaded again: " if name else "was loaded again, and")
            process.write(call_body("read_file", 1) + b"\n")

            assert json.loads(process.read_line())["error"]["data"]["agentfence"]["reason_code"] == (
                "schema_mismatch"
            )


def test_proxy_knows_its_servers_tools_by_the_name_that_a_changed_policy_gives_it(tmp_path: Path) -> None:
    def answer(request: Request) -> Response:
        result = {"content": [], "tools": [{"name": "read_file", "inputSchema": {"required": ["path"]}}]}
        message = {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": result}
        return Response(json.dumps(message).encode())

    with start_recording_upstream() as upstream:
        upstream.answer = answer
        origin = upstream.url.removesuffix("/mcp")
        policy = f"""version: "1"
defaults: {{decision: allow}}
validate_arguments: true
servers: {{first: {{url: "{origin}/mcp"}}, second: {{url: "{origin}/other"}}}}
"""
        swapped = policy.replace("/mcp", "/x").replace("/other", "/mcp").replace("/x", "/other")
        with start_proxy(tmp_path, launch="launcher", policy=policy) as proxy:
            listing = b'{"jsonrpc":"2.0","id":0,"method":"tools/list"}'
            send_raw(proxy.port, post(upstream.url, listing, host=origin.removeprefix("http://")))
            for changed in (swapped, policy.replace("/mcp", "/elsewhere"), policy.replace("first", "third")):
                write_policy(tmp_path, changed)
                os.kill(proxy.process.pid, signal.SIGHUP)
                while "was loaded again" not in proxy.process.read_line():
                    continue
                call = post(upstream.url, call_body("read_file", 1), host=origin.removeprefix("http://"))

                code = body_of(send_raw(proxy.port, call))["error"]["data"]["agentfence"]["reason_code"]
                assert code == "schema_mismatch"


def test_relay_ends_a_server_that_the_policy_now_blocks(tmp_path: Path) -> None:
    with Process(relay(tmp_path, *server(tmp_path, ANSWERING)), cwd=tmp_path) as process:
        process.write(call_body("delete_file") + b"\n")
        process.read_line()
        write_policy(tmp_path, POLICY + "unlisted: block\nservers: {other: {command: [other]}}\n")
        os.kill(process.pid, signal.SIGHUP)

        assert process.wait(15) == 0
        assert "blocks this server" in process.stderr


def test_relay_ends_when_its_terminal_is_closed(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    with subprocess.Popen(
        relay(tmp_path, *server(tmp_path, ANSWERING)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(call_body("delete_file") + b"\n")
            process.stdin.flush()
            process.stdout.readline()
            os.close(terminal)
            os.close(controller)

            assert process.wait(15) == 0
        finally:
            process.kill()
