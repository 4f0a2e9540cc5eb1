"""What an agent sees of a server's tools: not those that the policy can only deny.

An agent that does not see a tool does not try it. Asked and constrained tools stay, and so does
`nextCursor`, also when a page becomes empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.jsonrpc import result_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.constraints.interface import Json
    from agentfence.core.jsonrpc import Response

METHOD = "tools/list"


def is_list(method: str, response: Response) -> bool:
    """Whether an answer lists tools: to this method, or without one, as what was asked is not known."""
    result = response.result
    if method or not isinstance(result, dict):
        return method == METHOD and not response.is_error
    tools = result.get("tools")
    return isinstance(tools, list) and all(isinstance(tool, dict) and "name" in tool for tool in tools)


def without_denied(response: Response, is_denied: Callable[[dict[str, Json]], bool]) -> bytes | None:
    """Give the answer to a `tools/list` without denied tools; None when it can stay as it is.

    A list that depends on the agent is no longer one that others may share, so `cacheScope` becomes
    `private` (MCP 2026-07-28, server/utilities/caching).
    """
    result = response.result
    tools = result.get("tools") if isinstance(result, dict) else None
    if response.id is None or not isinstance(result, dict) or not isinstance(tools, list):
        return None
    shown = [tool for tool in tools if not _is_denied(tool, is_denied)]
    if len(shown) == len(tools):
        return None
    changed: dict[str, Json] = {**result, "tools": shown}
    if "cacheScope" in changed:
        changed["cacheScope"] = "private"
    return result_answer(response.id, changed)


def _is_denied(tool: Json, is_denied: Callable[[dict[str, Json]], bool]) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("name"), str) and is_denied(tool)
