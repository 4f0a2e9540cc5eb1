"""How the Python test clients are told what to do: a step a line on stdin, an outcome a line on stdout.

A step is `{"do": "list"}`, `{"do": "call", "name": …, "arguments": …}`, `{"do": "ping"}`,
`{"do": "read", "uri": …}` or `{"do": "prompt", "name": …, "arguments": …}`; with `"background": true`
the next step does not wait for it. An outcome is `{"step": N, "ok": true, "result": …}` or
`{"step": N, "ok": false, "error": {"code", "message", "type", "data"}}`, preceded by
`{"step": N, "progress": [done, total]}` for each progress notification of a call.
The connection itself is the step named "connect"; "session" is one that died on its own.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.abc
import anyio.to_thread

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from pydantic import BaseModel

USER_SAYS = "blue"
MODEL_SAYS = "hello"

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


class Session(Protocol):
    """A connected client, as far as steps need it."""

    async def list(self) -> BaseModel: ...

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> BaseModel: ...

    async def ping(self) -> BaseModel: ...

    async def read(self, uri: str) -> BaseModel: ...

    async def prompt(self, name: str, arguments: dict[str, str]) -> BaseModel: ...


def read_arguments() -> argparse.Namespace:
    """The command line that all test clients share."""
    parser = argparse.ArgumentParser()
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--http", metavar="URL", help="Streamable HTTP")
    way.add_argument("--sse", metavar="URL", help="HTTP+SSE of revision 2024-11-05")
    way.add_argument("--stdio", nargs=argparse.REMAINDER, metavar="COMMAND", help="start this server")
    parser.add_argument("--era", choices=["legacy", "modern", "auto"], help="default: the SDK's own")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that a call may take")
    return parser.parse_args()


def say(step: int | str, **outcome: Any) -> None:
    """Print one line; the test reads it at once."""
    print(json.dumps({"step": step, **outcome}), flush=True)


def say_error(step: int | str, error: BaseException) -> None:
    """Print a failed step with the error as the SDK raised it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    described = getattr(error, "error", None)
    say(
        step,
        ok=False,
        error={
            "code": getattr(described, "code", None),
            "message": getattr(described, "message", None) or str(error),
            "type": type(error).__name__,
            "data": getattr(described, "data", None),
        },
    )


async def follow_steps(connection: AbstractAsyncContextManager[tuple[Session, dict[str, Any]]]) -> None:
    """Connect, carry out the steps until stdin ends, and disconnect."""
    stage = "connect"
    try:
        async with connection as (session, greeting):
            say("connect", ok=True, result=greeting)
            stage = "session"
            async with anyio.create_task_group() as background:
                await _read_steps(session, background)
    except (Exception, BaseExceptionGroup) as error:
        say_error(stage, error)


async def _read_steps(session: Session, background: anyio.abc.TaskGroup) -> None:
    number = 0
    while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
        step = json.loads(line)
        if step.get("background"):
            background.start_soon(_carry_out, session, number, step)
        else:
            await _carry_out(session, number, step)
        number += 1


async def _carry_out(session: Session, number: int, step: dict[str, Any]) -> None:
    async def progress(done: float, total: float | None, _message: str | None) -> None:
        say(number, progress=[done, total])

    try:
        result = await _perform(session, step, progress)
    except Exception as error:
        say_error(number, error)
    else:
        say(number, ok=True, result=result.model_dump(mode="json", by_alias=True, exclude_none=True))


async def _perform(session: Session, step: dict[str, Any], progress: Progress) -> BaseModel:
    match step["do"]:
        case "list":
            return await session.list()
        case "call":
            return await session.call(step["name"], step.get("arguments", {}), progress)
        case "ping":
            return await session.ping()
        case "read":
            return await session.read(step["uri"])
        case "prompt":
            return await session.prompt(step["name"], step.get("arguments", {}))
    raise ValueError(f"unknown step {step['do']}")
