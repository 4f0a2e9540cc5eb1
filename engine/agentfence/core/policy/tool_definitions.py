"""What servers say of their tools: an answer to `tools/list`, kept in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import parse_json
from agentfence.core.values import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json


@frozen
class ToolDefinition:
    """One tool, as far as a policy can be about it."""

    server: str | None
    name: str
    properties: Mapping[str, Json] = field(default_factory=dict)
    """The arguments that it says it takes, each with its schema."""


def read_tool_definitions(content: bytes, server: str | None) -> tuple[ToolDefinition, ...]:
    """Give the tools in a file: a `tools/list` result, the whole answer, or the bare list.

    Raises:
        ValueError: It is none of these; the text says what was expected.

    """
    try:
        value = parse_json(content)
    except ProtocolViolation as violation:
        raise ValueError(str(violation)) from violation
    if isinstance(value, dict) and isinstance(value.get("result"), dict):
        value = value["result"]
    listed = value.get("tools") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise ValueError("expected an answer to tools/list, with a list of `tools`")
    return tuple(_read_tool(tool, server) for tool in listed)


def _read_tool(tool: Json, server: str | None) -> ToolDefinition:
    name = tool.get("name") if isinstance(tool, dict) else None
    if not isinstance(tool, dict) or not isinstance(name, str):
        raise ValueError("expected each of `tools` to be an object with a `name`")
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return ToolDefinition(server, name, properties if isinstance(properties, dict) else {})
