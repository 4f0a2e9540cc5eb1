"""A test server on the MCP Python SDK 1.x: stdio, or Streamable HTTP and the older HTTP+SSE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from serving import read_arguments, route, serve_http
from toolbox import ANSWER_SCHEMA, TOOLS, Toolbox

if TYPE_CHECKING:
    import argparse


class Client:
    """The client of the call that the server is working on."""

    def __init__(self, server: Server[Any, Any]) -> None:
        self._context = server.request_context

    async def progress(self, done: int, total: int) -> None:
        token = self._context.meta.progressToken if self._context.meta else None
        if token is not None:
            related = str(self._context.request_id)
            await self._context.session.send_progress_notification(
                token, done, total, related_request_id=related
            )

    async def ask_user(self, question: str) -> str:
        result = await self._context.session.elicit(question, ANSWER_SCHEMA, self._context.request_id)
        return str((result.content or {}).get("answer", result.action))

    async def ask_model(self, prompt: str) -> str:
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
        result = await self._context.session.create_message(
            [message], max_tokens=100, related_request_id=self._context.request_id
        )
        return result.content.text if isinstance(result.content, types.TextContent) else result.content.type


def make_server(toolbox: Toolbox) -> Server[Any, Any]:
    server: Server[Any, Any] = Server("agentfence-test-py1", "1.0.0")

    @server.list_tools()
    async def list_tools() -> list[types.Tool]:
        return [types.Tool.model_validate(tool) for tool in TOOLS]

    @server.call_tool(validate_input=False)
    async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
        return [types.TextContent(type="text", text=await toolbox.call(name, arguments, Client(server)))]

    return server


async def serve_stdio(server: Server[Any, Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def serve_over_http(server: Server[Any, Any], arguments: argparse.Namespace) -> None:
    manager = StreamableHTTPSessionManager(server, json_response=arguments.json)
    sse = SseServerTransport("/messages/")

    async def open_sse(scope: Any, receive: Any, send: Any) -> None:
        async with sse.connect_sse(scope, receive, send) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    application = route(manager.handle_request, open_sse, sse.handle_post_message)
    await serve_http(application, manager.run(), arguments)


def main() -> None:
    arguments = read_arguments()
    server = make_server(Toolbox(arguments.record))
    if arguments.stdio:
        anyio.run(serve_stdio, server)
    else:
        anyio.run(serve_over_http, server, arguments)


main()
