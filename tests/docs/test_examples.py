"""What the pages show is run: policies load, commands do what is said, outputs are the real ones.

Commands are run as they are written, but for the port of a proxy, and with a stand-in for `npx`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import argon2
import pytest
from docs.pages import PAGES, ROOT, Example, examples, name_of
from e2e.fence import body_of, call_body, post, send_raw
from e2e.network import free_port
from e2e.process import Process
from talking import Talk, call

from agentfence import relay_start
from agentfence.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN = [page for page in PAGES if name_of(page) not in {"docs/policy-language.md"}]
"""The pages whose examples are run here; that one's are run with the language's own tests."""
RELAY, PROXIES = "python -m agentfence.stdio ", ("mitmdump ", "mitmweb ", "agentfence proxy-http ")
VERBS = (
    "agentfence check ",
    "agentfence explain ",
    "agentfence validate ",
    "agentfence test ",
    "agentfence init ",
)
VERBS += ("agentfence schema", "source <(agentfence completion ")
RUN, APPROVALS, PIN = "agentfence run ", "agentfence approvals", "agentfence pin "
PASSWORD = "python -c 'import argon2"
_HASH = "$argon2id$v=19$m=8,t=1,p=1$n3FoSXC+ifFGSYWkgGCObA$UY/Kz9KP+f3Q9Zm4SMFW3/v0laSzL2QypsGZM8hL1OI"
DENIED = call_body("delete_everything")


def lines_of(info: str) -> list[tuple[str, str]]:
    """The commands in all blocks of a kind, each with where it stands."""
    found = []
    for example in examples(info, *OWN):
        for number, line in enumerate(example.text.splitlines()):
            command = line.partition("  #")[0].strip()
            if command and not command.startswith("#"):
                found.append((f"{name_of(example.page)}:{example.line + 1 + number}", command))
    return found


def commands(*beginnings: str) -> pytest.MarkDecorator:
    chosen = [(place, line) for place, line in lines_of("sh") if line.startswith(beginnings)]
    return pytest.mark.parametrize(
        "command", [line for _, line in chosen], ids=[place for place, _ in chosen]
    )


def consoles(beginning: str) -> pytest.MarkDecorator:
    chosen = [example for example in examples("console", *OWN) if example.text.startswith(f"$ {beginning}")]
    return pytest.mark.parametrize("example", chosen, ids=[example.name for example in chosen])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with the front page's policy, as the commands expect it."""
    (policy,) = examples("yaml policy", ROOT / "README.md")
    (tmp_path / "policy.yaml").write_text(policy.text)
    (tmp_path / "notes.md").write_text("buy milk\n")
    (tmp_path / "web-password").write_text(_HASH)
    (tmp_path / ".env").write_text("PIN=2468\n")
    (tmp_path / "addon").symlink_to(ROOT / "addon")
    (tmp_path / "bin").mkdir()
    for program, does in {"npx": "exec cat >/dev/null", "my-agent": 'echo "$1 by $HTTPS_PROXY"'}.items():
        stand_in = tmp_path / "bin" / program
        stand_in.write_text(f"#!/bin/sh\n{does}\n")
        stand_in.chmod(0o700)
    return tmp_path


def environment_in(folder: Path) -> dict[str, str]:
    own = {name: text for name, text in os.environ.items() if not name.startswith("AGENTFENCE_")}
    path = os.pathsep.join((str(folder / "bin"), str(ROOT / ".venv" / "bin"), own["PATH"]))
    return {**own, "PATH": path, "HOME": str(folder)}


def run(command: str, folder: Path, says: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euc", command],
        input=says,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment_in(folder),
        timeout=60,
        check=False,
    )


# --- policies and settings ---


@pytest.mark.parametrize("example", examples("yaml policy"), ids=lambda example: example.name)
def test_policy_loads_and_nothing_in_it_is_doubtful(
    example: Example, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "policy.yaml").write_text(example.text)

    status = main(["validate", "--strict", str(tmp_path / "policy.yaml")])

    assert status == 0, capsys.readouterr().out


def test_policy_of_the_front_page_is_the_demos_and_has_six_lines() -> None:
    (policy,) = examples("yaml policy", ROOT / "README.md")

    assert policy.text == (ROOT / "scripts" / "demo.d" / "policy.yaml").read_text()
    assert policy.text.count("\n") == 6


@pytest.mark.parametrize("example", examples("json", *OWN), ids=lambda example: example.name)
def test_json_is_json_and_an_entry_of_a_client_starts_the_relay(example: Example) -> None:
    shown = json.loads(example.text)
    servers = shown.get("mcpServers") or shown.get("servers") or {}
    for entry in servers.values():
        if "command" in entry:
            flags, command = relay_start._split(entry["args"])
            assert flags[:3] == ["-I", "-m", "agentfence.stdio"]
            relay_start.command_line().parse_args(flags[3:])
            assert command
        else:
            assert entry["url"].startswith("http://127.0.0.1:8080/")


# --- commands ---


def test_every_command_of_the_pages_is_run_by_a_test() -> None:
    own = (RUN, APPROVALS, PIN, PASSWORD)
    known = (RELAY, *PROXIES, *VERBS, *own, "export ", ". .venv/bin/activate", "scripts/")

    assert [(place, line) for place, line in lines_of("sh") if not line.startswith(known)] == []
    shown = [example.text for example in examples("console", *OWN)]
    assert [
        text
        for text in shown
        if not text.startswith((f"$ {RELAY}", "$ curl ", *(f"$ {verb}" for verb in VERBS)))
    ] == []


@commands(RELAY)
def test_relay_denies(command: str, folder: Path) -> None:
    ended = run(command, folder, DENIED.decode() + "\n")

    assert json.loads(ended.stdout)["error"]["code"] == -32001
    assert ended.stderr.startswith("agentfence: relay: policy policy.yaml (as given)")


@consoles(RELAY)
def test_relay_says_what_the_page_shows(example: Example, folder: Path) -> None:
    command, says, *expected = example.text.removeprefix("$ ").splitlines()

    assert run(command, folder, says + "\n").stdout.splitlines() == expected


@contextlib.contextmanager
def started(command: str, folder: Path) -> Iterator[int]:
    """A proxy at a port of its own; the rest of the command is as written."""
    port = free_port()
    at_port = f"-p {port}" if command.startswith("mitm") else f"--listen 127.0.0.1:{port}"
    if command.startswith("mitmweb") or command.endswith("--web"):
        at_port += f" --set web_port={free_port()} --set web_open_browser=false"
    with Process(
        ["bash", "-euc", f"exec {command} {at_port}"], env=environment_in(folder), cwd=folder
    ) as process:
        while f"listening at 127.0.0.1:{port}" not in process.read_line():
            pass
        yield port


@commands(PASSWORD)
def test_password_is_written_as_a_hash_alone(command: str, folder: Path) -> None:
    word = run(command, folder).stdout.strip()

    assert argon2.PasswordHasher().verify((folder / "web-password").read_text(), word)


@pytest.mark.e2e
@commands(*PROXIES)
def test_proxy_denies(command: str, folder: Path) -> None:
    is_reverse = "reverse:" in command or "--upstream" in command
    asked = post("/mcp", DENIED) if is_reverse else post("http://127.0.0.1:9/mcp", DENIED, host="127.0.0.1:9")
    with started(command, folder) as port:
        answer = send_raw(port, asked)

    assert body_of(answer)["error"]["code"] == -32001


@pytest.mark.e2e
@consoles("curl ")
def test_proxy_says_what_the_page_shows(example: Example, folder: Path) -> None:
    command, *expected = example.text.removeprefix("$ ").splitlines()
    with started("agentfence proxy-http --policy policy.yaml", folder) as port:
        ended = run(command.replace("127.0.0.1:8080", f"127.0.0.1:{port}"), folder)

    assert ended.stdout.splitlines() == expected


@pytest.mark.e2e
@commands(RUN)
def test_agent_runs_behind_the_fence(command: str, folder: Path) -> None:
    ended = run(command, folder)

    assert (ended.returncode, ended.stdout.partition(" by ")[0]) == (0, command.split()[-1])
    assert ended.stdout.partition(" by ")[2].startswith("http://agent-my-agent:")


@commands(APPROVALS)
def test_questions_are_put_in_a_terminal(command: str, folder: Path) -> None:
    ended = run(command, folder)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "expected a terminal to answer in" in ended.stderr


@commands(PIN)
def test_tools_are_pinned(command: str, folder: Path) -> None:
    """Of the commands that need more than the page, one gets it, and the others say what is missing."""
    (folder / "tools.json").write_text('[{"name": "echo"}]')
    server = ROOT / "tests" / "cli" / "pinned_server.py"
    (folder / "bin" / "npx").write_text(f"#!/bin/sh\nexec {sys.executable} {server} {folder}/tools.json\n")

    ended = run(command.replace("mcp.example.com", "127.0.0.1:1").replace("$TOKEN", "t"), folder)

    assert (ended.returncode == 0) == ("npx" in command)
    assert (folder / "agentfence.lock").exists() == ("npx" in command)
    assert "Traceback" not in ended.stderr


@consoles("agentfence ")
def test_verb_says_what_the_page_shows(example: Example, folder: Path) -> None:
    calls = examples("json", example.page)
    (folder / "calls.jsonl").write_text("".join(shown.text for shown in calls))
    command, *expected = example.text.removeprefix("$ ").splitlines()

    assert run(command, folder).stdout.splitlines() == expected


@commands(*VERBS)
def test_verb_ends_well(command: str, folder: Path) -> None:
    (folder / "calls.jsonl").write_text('{"id": "1", "tool": "echo"}\n')
    policy = folder / "policy.yaml"
    policy.write_text(policy.read_text() + "tests: [{id: t, tool: echo, expect: allow}]\n")

    ended = run(command, folder)

    assert (ended.returncode, ended.stderr.count("Traceback")) == (0, 0)


@commands("export ")
def test_variables_can_be_set(command: str, folder: Path) -> None:
    name = command.split()[1].partition("=")[0]

    assert run(f'{command}; printf %s "${name}"', folder).stdout.strip()


@commands("scripts/")
def test_script_knows_the_options_that_are_shown(command: str, folder: Path) -> None:
    script, *options = command.partition(" &&")[0].split()
    shown = subprocess.run([ROOT / script, "--help"], capture_output=True, text=True, timeout=60, check=True)

    assert f"usage: {script}" in shown.stdout
    assert all(option in shown.stdout for option in options)


# --- programs ---


def test_surface_of_the_architecture_page_fences() -> None:
    (example,) = examples("python", ROOT / "docs" / "architecture.md")
    names: dict[str, object] = {}
    exec(compile(example.text, example.name, "exec"), names)
    talk = Talk()
    log: list[object] = []
    sent: list[bytes] = []
    answers: list[bytes] = []
    lines = [json.dumps(message).encode() for message in (call("read"), call("delete", 2), call("send", 3))]
    names["fence"](talk.gate, talk.conversation, lines, log.append, sent.append, answers.append)  # type: ignore[operator]

    assert sent == lines[:1]
    assert [json.loads(answer)["id"] for answer in answers] == [2, 3]
    assert len(log) == 3


@pytest.mark.e2e
def test_demo_shows_what_it_says() -> None:
    shown = subprocess.run(
        [sys.executable, ROOT / "scripts" / "demo.d" / "demo.py"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.count("ALLOWED") == shown.stdout.count("DENIED") == 2


@pytest.mark.e2e
def test_demo_fails_when_a_call_is_not_denied(tmp_path: Path) -> None:
    for name in ("addon", "engine", ".parts"):
        (tmp_path / name).symlink_to(ROOT / name)
    demo = tmp_path / "scripts" / "demo.d"
    shutil.copytree(ROOT / "scripts" / "demo.d", demo)
    policy = demo / "policy.yaml"
    policy.write_text(policy.read_text().replace("**/.env", "**/.other"))

    shown = subprocess.run(
        [sys.executable, demo / "demo.py"], capture_output=True, text=True, timeout=120, check=False
    )

    assert shown.returncode == 1
    assert "this is not as it should be" in shown.stderr
