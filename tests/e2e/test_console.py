"""mitmproxy's console with the fence in it, on a real terminal."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from e2e.fence import BIN, body_of, call_body, post, read_events, receive, send_raw, write_policy
from e2e.network import RecordingUpstream, free_port, start_recording_upstream
from e2e.parts import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

POLICY = """\
version: "1"
defaults: {decision: deny}
tools:
  read_file: allow
  write_file: {decision: ask, message: "writing needs a person"}
"""


class Screen:
    """A terminal of 120 by 40 in tmux."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self._socket = str(folder / "tmux")
        environment = ["env", f"HOME={folder}", "TERM=screen-256color", *command]
        self._tmux("new-session", "-d", "-x", "120", "-y", "40", "-s", "s", shlex.join(environment))

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-S", self._socket, "-f", "/dev/null", "-u", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout

    def text(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "s")

    def wait_for(self, text: str, seconds: float = 60) -> str:
        end = time.monotonic() + seconds
        while text not in (shown := self.text()):
            assert time.monotonic() < end, f"`{text}` never came:\n{shown}"
            time.sleep(0.1)
        return shown

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "s", *keys)

    def close(self) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):  # it has ended by itself
            self._tmux("kill-server")


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Screen, int, RecordingUpstream, Path]]:
    assert shutil.which("tmux"), "tmux is needed: scripts/setup --parts installs it"
    folder, port = tmp_path_factory.mktemp("console"), free_port()
    sets = [f"agentfence_policy={write_policy(folder, POLICY)}", f"confdir={folder}"]
    sets += [f"agentfence_audit_log={folder / 'audit.jsonl'}"]
    with start_recording_upstream() as upstream:
        command = [str(BIN / "mitmproxy"), "-s", str(ROOT / "addon" / "agentfence.py"), "-p", str(port)]
        command += ["--mode", f"reverse:{upstream.url.removesuffix('/mcp')}"]
        screen = Screen(folder, [*command, *(word for one in sets for word in ("--set", one))])
        try:
            screen.wait_for(f"[127.0.0.1:{port}]")
            yield screen, port, upstream, folder
        finally:
            screen.close()


class Asking:
    """A call that waits for a person."""

    def __init__(self, screen: Screen, port: int, id_: int) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), 60)
        self._connection.sendall(post("/mcp", call_body("write_file", id_, path="a\x1b[2J")))
        screen.wait_for("✋ ask write_file for address:127.0.0.1: ctrl g goes there, ctrl y approves")

    def answer(self) -> Any:
        with self._connection:
            return body_of(receive(self._connection, 60))


@pytest.mark.parametrize(
    ("key", "code"), [("C-n", "approval_denied"), ("X", "approval_denied"), ("C-y", None), ("a", None)]
)
def test_call_is_answered_with_one_key(
    key: str, code: str | None, running: tuple[Screen, int, RecordingUpstream, Path]
) -> None:
    screen, port, upstream, folder = running
    upstream.requests.clear()
    asking = Asking(screen, port, 1)
    assert send_raw(port, post("/mcp", call_body("read_file", 2))).startswith(b"HTTP/1.1 200")  # meanwhile
    screen.press("C-g", key)
    answer = asking.answer()

    ran = [json.loads(request.body)["params"]["name"] for request in upstream.requests]
    if code is None:
        assert "result" in answer
        assert ran == ["read_file", "write_file"]
    else:
        assert answer["error"]["data"]["agentfence"]["reason_code"] == code
        assert ran == ["read_file"]
    approval = read_events(folder / "audit.jsonl")[-1]["approval"]
    assert approval["by"] == ("a command of mitmproxy" if key.startswith("C-") else None)


def test_call_is_looked_at_before_it_is_answered(
    running: tuple[Screen, int, RecordingUpstream, Path],
) -> None:
    screen, port, _, _ = running
    asking = Asking(screen, port, 1)
    screen.press("C-g", "Enter")
    shown = screen.wait_for("# decision: ask")
    assert "# reason: tool `write_file` has its own rule: ask" in shown
    assert '"path": "a\\u001b[2J"' in shown
    screen.press("C-p")
    screen.wait_for("write_file for address:127.0.0.1: waits")
    screen.press("q")
    screen.press("?")
    screen.wait_for("AgentFence: approve this call")
    screen.press("q", "q")
    screen.press("C-g", "C-n")

    assert "error" in asking.answer()


def test_key_that_finds_nothing_says_so(running: tuple[Screen, int, RecordingUpstream, Path]) -> None:
    screen, port, _, _ = running
    send_raw(port, post("/mcp", call_body("read_file", 3)))
    screen.press("C-y")
    screen.wait_for("none of these flows waits for a person")
    screen.press("C-g")
    screen.wait_for("no call waits among the flows that are shown")
