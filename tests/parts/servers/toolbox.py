"""What the tools of the Python test servers do, whatever the SDK.

Every call that reaches a tool is appended to the record before anything else happens.
No tool touches the disk: files live in memory, commands and fetches are only claimed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import anyio

TOOLS: list[dict[str, Any]] = json.loads(Path(__file__).with_name("tools.json").read_text())
ANSWER_SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


class Caller(Protocol):
    """The client behind a call, as far as tools need it."""

    async def progress(self, done: int, total: int) -> None: ...

    async def ask_user(self, question: str) -> str: ...

    async def ask_model(self, prompt: str) -> str: ...


class ToolFailedError(Exception):
    """A failure that the caller shall see as a tool error."""


class Toolbox:
    """The tools, and what they remember."""

    def __init__(self, record: Path | None) -> None:
        self._record = record
        self._files: dict[str, str] = {}

    async def call(self, name: str, arguments: dict[str, Any], caller: Caller) -> str:
        """Run a tool and return its text; raises ToolFailedError."""
        self._note(name, arguments)
        match name:
            case "read_file":
                return self._files.get(arguments["path"], f"contents of {arguments['path']}")
            case "write_file":
                self._files[arguments["path"]] = arguments["content"]
                return f"wrote {arguments['path']}"
            case "delete_file":
                self._files.pop(arguments["path"], None)
                return f"deleted {arguments['path']}"
            case "fetch":
                return f"fetched {arguments['url']}"
            case "run":
                return f"ran {arguments['command']}"
            case "count_slowly":
                return await _count(arguments["steps"], arguments["seconds"], caller)
            case "big_result":
                return "x" * arguments["characters"]
            case "ask_user":
                return f"the user said {await caller.ask_user(arguments['question'])}"
            case "ask_model":
                return f"the model said {await caller.ask_model(arguments['prompt'])}"
            case "fail":
                raise ToolFailedError(arguments["message"])
        raise ToolFailedError(f"unknown tool {name}")

    def _note(self, name: str, arguments: dict[str, Any]) -> None:
        if self._record is not None:
            with self._record.open("a") as record:
                record.write(json.dumps({"tool": name, "arguments": arguments}) + "\n")


async def _count(steps: int, seconds: float, caller: Caller) -> str:
    for step in range(1, steps + 1):
        await caller.progress(step, steps)
        await anyio.sleep(seconds)
    return f"counted to {steps}"
