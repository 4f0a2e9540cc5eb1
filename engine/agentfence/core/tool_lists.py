"""What an agent sees of a server's tools: not those that the policy can only deny.

An agent that does not see a tool does not try it. Asked and constrained tools stay, and so does
`nextCursor`, also when a page becomes empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.jsonrpc import result_answer
from agentfence.core.known_tools import MOST_TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.jsonrpc import Response

METHOD = "tools/list"
_MOST_BYTES = 4_194_304
_MEMBERS = frozenset({"tools", "nextCursor", "_meta", "resultType", "ttlMs", "cacheScope"})


def is_list(method: str, response: Response) -> bool:
    """Whether an answer lists tools: to this method, or without one, as what was asked is not known."""
    result = response.result
    if method or not isinstance(result, dict):
        return method == METHOD and not response.is_error
    tools = result.get("tools")
    return isinstance(tools, list) and any(isinstance(tool, dict) and "name" in tool for tool in tools)


def is_nothing_else(result: Json) -> bool:
    """Whether a result that lists tools, by its form, has no other members than such a list."""
    return isinstance(result, dict) and result.keys() <= _MEMBERS


def problem_with_lists(lists: Sequence[Response], size: int) -> str | None:
    """Give why lists of tools, in an answer of `size` bytes, are not passed on; None when they are.

    More than is kept of a server could not be held to what was seen, and looking at all of it would hold up
    everything else.
    """
    if lists and (size > _MOST_BYTES or sum(map(_length, lists)) > MOST_TOOLS):
        return f"a page of tools has at most {MOST_TOOLS} of them and {_MOST_BYTES} bytes"
    return None


def _length(response: Response) -> int:
    tools = response.result.get("tools") if isinstance(response.result, dict) else None
    return len(tools) if isinstance(tools, list) else 0


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
