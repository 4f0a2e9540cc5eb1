"""A test server on the MCP Python SDK 2.x: stdio or HTTP, for clients of every revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from serving import read_arguments, route, serve_http
from toolbox import ANSWER_SCHEMA, TOOLS, Toolbox, ToolFailedError

if TYPE_CHECKING:
    import argparse

    from mcp.server.context import ServerRequestContext


class InputNeededError(Exception):
    """The call cannot go on before the client answers; since 2026-07-28 that is a result, not a request."""

    def __init__(self, request: types.InputRequest) -> None:
        super().__init__("the client's input is needed")
        self.result = types.InputRequiredResult(input_requests={"answer": request})


class Client:
    """The client of one call, asked in the way that its revision knows."""

    def __init__(self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> None:
        self._context = context
        self._answers = params.input_responses or {}
        self._is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def progress(self, done: int, total: int) -> None:
        await self._context.session.report_progress(done, total)

    async def ask_user(self, question: str) -> str:
        result = await self._elicit(question)
        return str((result.content or {}).get("answer", result.action))

    async def ask_model(self, prompt: str) -> str:
        result = await self._sample(prompt)
        return result.content.text if isinstance(result.content, types.TextContent) else result.content.type

    async def _elicit(self, question: str) -> types.ElicitResult:
        if not self._is_modern:
            return await self._context.session.elicit_form(question, ANSWER_SCHEMA, self._context.request_id)
        params = types.ElicitRequestFormParams(message=question, requested_schema=ANSWER_SCHEMA)
        return types.ElicitResult.model_validate(self._answer_to(types.ElicitRequest(params=params)))

    async def _sample(self, prompt: str) -> types.CreateMessageResult:
        message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
        if not self._is_modern:
            return await self._context.session.create_message(
                [message], max_tokens=100, related_request_id=self._context.request_id
            )
        params = types.CreateMessageRequestParams(messages=[message], max_tokens=100)
        return types.CreateMessageResult.model_validate(
            self._answer_to(types.CreateMessageRequest(params=params))
        )

    def _answer_to(self, request: types.InputRequest) -> Any:
        if "answer" not in self._answers:
            raise InputNeededError(request)
        return self._answers["answer"]


def make_server(toolbox: Toolbox) -> Server[Any]:
    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in TOOLS])

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            text = await toolbox.call(params.name, params.arguments or {}, Client(context, params))
        except InputNeededError as needed:
            return needed.result
        except ToolFailedError as failure:
            return types.CallToolResult(content=[types.TextContent(text=str(failure))], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=text)])

    return Server("agentfence-test-py2", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def serve_over_http(server: Server[Any], arguments: argparse.Namespace) -> None:
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
