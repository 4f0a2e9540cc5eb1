"""`agentfence proxy-http` as a person starts it: its own options, the host's, and mistakes."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from e2e.fence import BIN, body_of, call_body, post, send_raw, start_proxy, status_of
from e2e.network import free_port, start_recording_upstream

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

MISTAKES = {
    "an unknown flag": (["--nonsense"], 2, "nonsense"),
    "an address without a port": (["--listen", "127.0.0.1"], 2, "--listen"),
    "an upstream that is no URL": (["--upstream", "nowhere"], 2, "--upstream"),
    "an upstream with a path": (["--upstream", "http://127.0.0.1:1/mcp"], 2, "path"),
    "an option that no addon has": (["--set", "scripts=x.py"], 2, "scripts"),
    "an option of another program": (["--set", "web_port=1"], 2, "web_port"),
    "an option that the fence forces": (["--set", "rawtcp=true"], 2, "rawtcp"),
    "an option that must stay unset": (["--set", "ignore_hosts=x"], 2, "ignore_hosts"),
    "a mistyped option of ours": (["--set", "agentfence_polcy=x"], 2, "did you mean `agentfence_policy`"),
    "an option of ours without its value": (
        ["--set", "agentfence_policy"],
        2,
        "as `agentfence_policy=VALUE`, got none",
    ),
    "a bad number": (["--max-body", "0"], 2, "max_body"),
    "a policy that is not there": (["--policy", "nowhere.yaml"], 3, "nowhere.yaml"),
    "a policy that is wrong": (["--policy", "wrong.yaml"], 3, "wrong.yaml:2:"),
    "a host that is none": (["--listen", "nowhere.invalid:1"], 1, "cannot listen at nowhere.invalid:1"),
    "a folder that cannot be made": (["--set", "confdir=/dev/null/x"], 2, "--set confdir=DIR"),
    "an origin that is none": (["--allowed-origins", "a.example"], 2, "allowed_origins"),
    "a log that cannot be opened": (["--audit-log", "/nowhere/log"], 4, "/nowhere/log"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_said_and_ends_the_start(mistake: str, tmp_path: Path) -> None:
    arguments, status, said = MISTAKES[mistake]
    (tmp_path / "wrong.yaml").write_text('version: "1"\ntols: {}\n')

    ran = subprocess.run(
        [BIN / "agentfence", "proxy-http", "--listen", f"127.0.0.1:{free_port()}", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path)},
        timeout=60,
        check=False,
    )

    assert (ran.returncode, said in ran.stderr, "Traceback" in ran.stderr) == (status, True, False), (
        ran.stderr
    )


@pytest.mark.parametrize(
    ("options", "option"),
    [
        (["--listen", "127.0.0.1:{}"], "--listen HOST:PORT"),
        (["--listen", "127.0.0.1:0", "--web", "--set", "web_port={}"], "--set web_port=PORT"),
    ],
    ids=["the proxy's", "the live view's"],
)
def test_a_taken_port_is_said(options: list[str], option: str, tmp_path: Path) -> None:
    with start_recording_upstream() as upstream:
        port = upstream.url.split(":")[2].split("/")[0]
        ran = subprocess.run(
            [BIN / "agentfence", "proxy-http", *(word.format(port) for word in options)],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(tmp_path)},
            timeout=60,
            check=False,
        )

    said = f"cannot listen at 127.0.0.1:{port}: address already in use; `{option}` names another"
    assert (ran.returncode, ran.stderr) == (1, f"agentfence: {said}\n")
    assert not (tmp_path / ".local").exists()


def test_the_hosts_own_options_work(tmp_path: Path) -> None:
    settings = ["proxyauth=agent:secret", "upstream_auth=u:p"]
    with (
        start_recording_upstream() as upstream,
        start_proxy(tmp_path, launch="launcher", settings=settings) as proxy,
    ):
        headers = {"Content-Type": "application/json"}
        with httpx.Client(proxy=proxy.origin) as stranger:
            refused = stranger.post(upstream.url, content=call_body("read_file"), headers=headers)
        with httpx.Client(proxy=proxy.origin.replace("://", "://agent:secret@")) as known:
            allowed = known.post(upstream.url, content=call_body("read_file"), headers=headers)
            denied = known.post(upstream.url, content=call_body("delete_file"), headers=headers)

    assert (refused.status_code, allowed.status_code) == (407, 200)
    assert denied.json()["error"]["code"] == -32001
    assert len(upstream.requests) == 1
    assert {event["client"] for event in proxy.events if event["kind"] == "judged"} == {"user:agent"}
    assert "secret" not in (tmp_path / "audit.jsonl").read_text()
    assert base64.b64encode(b"agent:secret").decode() not in (tmp_path / "audit.jsonl").read_text()


def test_the_live_view_shows_what_was_decided(tmp_path: Path) -> None:
    web = free_port()
    with (
        start_recording_upstream() as upstream,
        start_proxy(
            tmp_path,
            launch="launcher",
            upstream=upstream.url.removesuffix("/mcp"),
            settings=["web_password=pw", f"web_port={web}", "web_open_browser=false"],
            arguments=["--web"],
        ) as proxy,
    ):
        refused = send_raw(proxy.port, post("/mcp", call_body("delete_file")))
        time.sleep(0.5)
        flows = httpx.get(f"http://127.0.0.1:{web}/flows", headers={"Authorization": "Bearer pw"}).json()
        closed = httpx.get(f"http://127.0.0.1:{web}/flows")

    assert body_of(refused)["error"]["code"] == -32001
    assert len(flows) == 1
    assert closed.status_code == 403


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(number: signal.Signals, tmp_path: Path) -> None:
    with start_proxy(tmp_path, launch="launcher", upstream="http://127.0.0.1:1") as proxy:
        assert status_of(send_raw(proxy.port, post("/mcp", call_body("delete_file")))) == 200
        os.kill(proxy.process.pid, number)

        assert proxy.process.wait(15) == 0
