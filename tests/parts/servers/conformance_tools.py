"""The tools that the MCP conformance suite calls, apart from those that ask the client first.

Names, texts and schemas are what the suite's scenarios look for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
ToolResult = types.CallToolResult | types.InputRequiredResult
Tool = Callable[[Context, types.CallToolRequestParams], Awaitable[ToolResult]]

RED_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

EMBEDDED = {"uri": "test://embedded-resource", "mimeType": "text/plain"}
MIXED = {"uri": "test://mixed-content-resource", "mimeType": "application/json"}

FIXED: dict[str, list[dict[str, Any]]] = {
    "test_simple_text": [{"type": "text", "text": "This is a simple text response for testing."}],
    "test_image_content": [{"type": "image", "data": RED_PIXEL, "mimeType": "image/png"}],
    "test_audio_content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        {"type": "resource", "resource": {**EMBEDDED, "text": "This is an embedded resource content."}}
    ],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        {"type": "image", "data": RED_PIXEL, "mimeType": "image/png"},
        {"type": "resource", "resource": {**MIXED, "text": '{"test":"data","value":123}'}},
    ],
    "json_schema_2020_12_tool": [{"type": "text", "text": "ok"}],
    "test_custom_header": [{"type": "text", "text": "ok"}],
}
"""Tools whose answer never changes."""

NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}
USER: dict[str, Any] = {
    "type": "object",
    "properties": {"username": {"type": "string"}, "email": {"type": "string"}},
    "required": ["username", "email"],
}
SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
ONE_STRING = {
    name: {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    for name in ("prompt", "message")
}

INPUT_SCHEMAS: dict[str, dict[str, Any]] = {
    "test_sampling": ONE_STRING["prompt"],
    "test_elicitation": ONE_STRING["message"],
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_custom_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
        "required": ["region"],
    },
}
"""The schemas of tools that take arguments; all other tools take none."""


def text_result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=is_error)


def listed(name: str) -> types.Tool:
    """What tools/list says of a tool."""
    schema = INPUT_SCHEMAS.get(name, NO_ARGUMENTS)
    return types.Tool.model_validate({"name": name, "description": f"For {name}.", "inputSchema": schema})


async def log_steps(context: Context, _params: types.CallToolRequestParams) -> ToolResult:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", message, related_request_id=context.request_id)
        await anyio.sleep(0.05)
    return text_result("logged three messages")


async def report_progress(context: Context, _params: types.CallToolRequestParams) -> ToolResult:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await anyio.sleep(0.05)
    return text_result("reported progress")


async def fail(_context: Context, _params: types.CallToolRequestParams) -> ToolResult:
    return text_result("This tool intentionally returns an error for testing", is_error=True)


async def sample(context: Context, params: types.CallToolRequestParams) -> ToolResult:
    content = types.TextContent(text=str((params.arguments or {})["prompt"]))
    result = await context.session.create_message(
        [types.SamplingMessage(role="user", content=content)],
        max_tokens=100,
        related_request_id=context.request_id,
    )
    return text_result(f"LLM response: {getattr(result.content, 'text', '')}")


def elicit(schema: dict[str, Any], prefix: str) -> Tool:
    """A tool that sends the client a form and tells what came back."""

    async def tool(context: Context, params: types.CallToolRequestParams) -> ToolResult:
        message = str((params.arguments or {}).get("message", "Please fill in the form"))
        result = await context.session.elicit_form(message, schema, context.request_id)
        return text_result(f"{prefix}: action={result.action}, content={result.content}")

    return tool


async def reconnect(context: Context, _params: types.CallToolRequestParams) -> ToolResult:
    """Close the call's stream before the answer: the client has to fetch it by Last-Event-ID."""
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    await anyio.sleep(0.1)
    return text_result("answered after the stream was closed")


async def need_sampling(context: Context, _params: types.CallToolRequestParams) -> ToolResult:
    if not context.session.check_client_capability(
        types.ClientCapabilities(sampling=types.SamplingCapability())
    ):
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this tool needs the sampling capability",
            {"requiredCapabilities": {"sampling": {}}},
        )
    return text_result("the client can sample")


TOOLS: dict[str, Tool] = {
    "test_tool_with_logging": log_steps,
    "test_logging_tool": log_steps,
    "test_tool_with_progress": report_progress,
    "test_error_handling": fail,
    "test_sampling": sample,
    "test_elicitation": elicit(USER, "User response"),
    "test_elicitation_sep1034_defaults": elicit(DEFAULTS, "Elicitation completed"),
    "test_elicitation_sep1330_enums": elicit(ENUMS, "Elicitation completed"),
    "test_reconnection": reconnect,
    "test_missing_capability": need_sampling,
}
