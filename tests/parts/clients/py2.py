"""A test client on the MCP Python SDK 2.x; see stepping.py for how it is used."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from stepping import MODEL_SAYS, USER_SAYS, Progress, follow_steps, read_arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

MODES = {None: "auto", "auto": "auto", "legacy": "legacy", "modern": "2026-07-28"}


@dataclass(frozen=True)
class Session:
    """The SDK's client, under the names that steps use."""

    sdk: Client

    async def list(self) -> types.ListToolsResult:
        return await self.sdk.list_tools(cache_mode="bypass")

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> types.CallToolResult:
        return await self.sdk.call_tool(name, arguments, progress_callback=progress)

    async def ping(self) -> types.EmptyResult:
        return await self.sdk.session.send_ping()

    async def read(self, uri: str) -> types.ReadResourceResult:
        return await self.sdk.read_resource(uri, cache_mode="bypass")

    async def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult:
        return await self.sdk.get_prompt(name, arguments)


async def answer_as_user(_context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": USER_SAYS})


async def answer_as_model(
    _context: Any, _params: types.CreateMessageRequestParams
) -> types.CreateMessageResult:
    content = types.TextContent(text=MODEL_SAYS)
    return types.CreateMessageResult(role="assistant", content=content, model="test")


def server_of(arguments: argparse.Namespace) -> Any:
    if arguments.http:
        return arguments.http
    if arguments.sse:
        return sse_client(arguments.sse)
    command, *rest = arguments.stdio
    return StdioServerParameters(command=command, args=rest, env=dict(os.environ))


@contextlib.asynccontextmanager
async def connect(arguments: argparse.Namespace) -> AsyncIterator[tuple[Session, dict[str, Any]]]:
    client = Client(
        server_of(arguments),
        mode=MODES[arguments.era],
        read_timeout_seconds=arguments.timeout,
        sampling_callback=answer_as_model,
        elicitation_callback=answer_as_user,
    )
    async with client:
        server = client.server_info.name if client.server_info else None
        yield Session(client), {"protocolVersion": client.protocol_version, "server": server}


anyio.run(follow_steps, connect(read_arguments()))
