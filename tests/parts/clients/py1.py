"""A test client on the MCP Python SDK 1.x; see stepping.py for how it is used."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl
from stepping import MODEL_SAYS, USER_SAYS, Progress, follow_steps, read_arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator


@dataclass(frozen=True)
class Session:
    """The SDK's session, under the names that steps use."""

    sdk: ClientSession

    async def list(self) -> types.ListToolsResult:
        return await self.sdk.list_tools()

    async def call(self, name: str, arguments: dict[str, Any], progress: Progress) -> types.CallToolResult:
        return await self.sdk.call_tool(name, arguments, progress_callback=progress)

    async def ping(self) -> types.EmptyResult:
        return await self.sdk.send_ping()

    async def read(self, uri: str) -> types.ReadResourceResult:
        return await self.sdk.read_resource(AnyUrl(uri))

    async def prompt(self, name: str, arguments: dict[str, str]) -> types.GetPromptResult:
        return await self.sdk.get_prompt(name, arguments)


async def answer_as_user(_context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"answer": USER_SAYS})


async def answer_as_model(
    _context: Any, _params: types.CreateMessageRequestParams
) -> types.CreateMessageResult:
    content = types.TextContent(type="text", text=MODEL_SAYS)
    return types.CreateMessageResult(role="assistant", content=content, model="test")


def open_streams(arguments: argparse.Namespace) -> Any:
    if arguments.http:
        return streamable_http_client(arguments.http)
    if arguments.sse:
        return sse_client(arguments.sse)
    command, *rest = arguments.stdio
    return stdio_client(StdioServerParameters(command=command, args=rest, env=dict(os.environ)))


@contextlib.asynccontextmanager
async def connect(arguments: argparse.Namespace) -> AsyncIterator[tuple[Session, dict[str, Any]]]:
    async with (
        open_streams(arguments) as streams,
        ClientSession(
            *streams[:2],
            timedelta(seconds=arguments.timeout),
            sampling_callback=answer_as_model,
            elicitation_callback=answer_as_user,
        ) as sdk,
    ):
        greeting = await sdk.initialize()
        yield (
            Session(sdk),
            {"protocolVersion": greeting.protocolVersion, "server": greeting.serverInfo.name},
        )


anyio.run(follow_steps, connect(read_arguments()))
