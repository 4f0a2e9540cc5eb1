"""A server that has all that the MCP conformance suite asks of a server, for clients of every revision.

Streamable HTTP only; it keeps each stream's events, so that a client may close a stream and fetch the rest.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from conformance_inputs import INPUT_TOOLS, form
from conformance_tools import FIXED, RED_PIXEL, TOOLS, Context, Tool, ToolResult, listed, text_result
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from serving import read_arguments, serve_http

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

RESOURCES: list[dict[str, Any]] = [
    {"uri": "test://static-text", "mimeType": "text/plain"},
    {"uri": "test://static-binary", "mimeType": "image/png"},
    {"uri": "test://watched-resource", "mimeType": "text/plain"},
]
CONTENTS: dict[str, dict[str, str]] = {
    "test://static-text": {"text": "This is the content of the static text resource."},
    "test://static-binary": {"blob": RED_PIXEL},
    "test://watched-resource": {"text": "Watched."},
}
TEMPLATE = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
PROMPTS: list[dict[str, Any]] = [
    {"name": "test_simple_prompt"},
    {
        "name": "test_prompt_with_arguments",
        "arguments": [{"name": "arg1", "required": True}, {"name": "arg2"}],
    },
    {"name": "test_prompt_with_embedded_resource", "arguments": [{"name": "resourceUri", "required": True}]},
    {"name": "test_prompt_with_image"},
    {"name": "test_input_required_result_prompt"},
]


class Events(EventStore):
    """Every event of every stream, in order; the id of an event is its place."""

    def __init__(self) -> None:
        self._events: list[tuple[str, types.JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: types.JSONRPCMessage | None) -> str:
        self._events.append((stream_id, message))
        return str(len(self._events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        last = int(last_event_id)
        stream = self._events[last - 1][0]
        for place, (stream_id, message) in enumerate(self._events[last:], last + 1):
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, str(place)))
        return stream


async def list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
    resources = [{"name": entry["uri"], "description": "A test resource.", **entry} for entry in RESOURCES]
    return types.ListResourcesResult.model_validate({"resources": resources})


async def list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": [TEMPLATE]})


async def read_resource(
    _context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    uri = str(params.uri)
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **_content(uri)}]})


def _content(uri: str) -> Mapping[str, str]:
    before, after = "test://template/", "/data"
    if uri.startswith(before) and uri.endswith(after):
        key = uri.removeprefix(before).removesuffix(after)
        return {"mimeType": "application/json", "text": f'{{"id":"{key}","templateTest":true}}'}
    if uri not in CONTENTS:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    kind = next(entry["mimeType"] for entry in RESOURCES if entry["uri"] == uri)
    return {"mimeType": kind, **CONTENTS[uri]}


async def accept_subscription(_context: Context, _params: Any) -> types.EmptyResult:
    return types.EmptyResult()


async def list_prompts(_context: Context, _params: Any) -> types.ListPromptsResult:
    prompts = [{"description": "A test prompt.", **entry} for entry in PROMPTS]
    return types.ListPromptsResult.model_validate({"prompts": prompts})


async def get_prompt(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return _prompt(_text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            values = (arguments.get("arg1", ""), arguments.get("arg2", ""))
            return _prompt(_text("Prompt with arguments: arg1='{}', arg2='{}'".format(*values)))
        case "test_prompt_with_embedded_resource":
            embedded = {"uri": arguments.get("resourceUri", ""), "mimeType": "text/plain"}
            resource = {**embedded, "text": "Embedded resource content for testing."}
            return _prompt(
                {"type": "resource", "resource": resource},
                _text("Please process the embedded resource above."),
            )
        case "test_prompt_with_image":
            image = {"type": "image", "data": RED_PIXEL, "mimeType": "image/png"}
            return _prompt(image, _text("Please analyze the image above."))
        case "test_input_required_result_prompt":
            if isinstance((params.input_responses or {}).get("user_context"), types.ElicitResult):
                return _prompt(_text("The context was given."))
            question = form("What context should the prompt use?", "context")
            return types.InputRequiredResult(input_requests={"user_context": question})
    raise MCPError(types.INVALID_PARAMS, f"unknown prompt {params.name}")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _prompt(*contents: dict[str, Any]) -> types.GetPromptResult:
    messages = [{"role": "user", "content": content} for content in contents]
    return types.GetPromptResult.model_validate({"messages": messages})


async def complete(_context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [value for value in ("paris", "park", "party") if value.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


def make_server() -> Server[Any]:
    bus = InMemorySubscriptionBus()

    async def change_tools(_context: Context, _params: types.CallToolRequestParams) -> ToolResult:
        await bus.publish(ToolsListChanged())
        return text_result("the tools changed")

    async def change_prompts(_context: Context, _params: types.CallToolRequestParams) -> ToolResult:
        await bus.publish(PromptsListChanged())
        return text_result("the prompts changed")

    changes: dict[str, Tool] = {
        "test_trigger_tool_change": change_tools,
        "test_trigger_prompt_change": change_prompts,
    }
    tools = TOOLS | INPUT_TOOLS | changes

    async def list_tools(_context: Context, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[listed(name) for name in sorted([*FIXED, *tools])])

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> ToolResult:
        if params.name in FIXED:
            return types.CallToolResult.model_validate({"content": FIXED[params.name]})
        if params.name not in tools:
            raise MCPError(types.INVALID_PARAMS, f"unknown tool {params.name}")
        return await tools[params.name](context, params)

    return Server(
        "agentfence-test-conformance",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=accept_subscription,
        on_unsubscribe_resource=accept_subscription,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=accept_subscription,
    )


async def serve(server: Server[Any], arguments: argparse.Namespace) -> None:
    loopback = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    manager = StreamableHTTPSessionManager(
        server,
        event_store=Events(),
        retry_interval=100,
        security_settings=TransportSecuritySettings(
            allowed_hosts=loopback, allowed_origins=[f"http://{host}" for host in loopback]
        ),
    )
    await serve_http(manager.handle_request, manager.run(), arguments)


def main() -> None:
    # The suite's older scenarios need what the newest revision deprecates.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    anyio.run(serve, make_server(), read_arguments())


main()
