"""Requests as people write them down: by the tool, method, resource or prompt that they name.

Recorded calls, tests of policies and `agentfence explain` all say what they mean in these words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.engine import Call
from agentfence.core.jsonrpc import Request

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances, Json
    from agentfence.core.decision import Decision
    from agentfence.core.engine import Engine, Trace
    from agentfence.core.session import Session


def request_for_tool(id_: str, tool: str, arguments: dict[str, Json]) -> Request:
    """Give the call of a tool."""
    return Request(id_, "tools/call", {"name": tool, "arguments": arguments})


def request_for_method(
    id_: str, method: str | None, *, uri: str | None = None, prompt: str | None = None
) -> Request:
    """Give a message that is no tool call; without `method` the one that reads what is named."""
    method = method or ("prompts/get" if prompt is not None else "resources/read")
    named: dict[str, Json] = {}
    match method:
        case "completion/complete" if prompt is not None:
            named = {"ref": {"type": "ref/prompt", "name": prompt}}
        case "completion/complete" if uri is not None:
            named = {"ref": {"type": "ref/resource", "uri": uri}}
        case "subscriptions/listen" if uri is not None:
            named = {"notifications": {"resourceSubscriptions": [uri]}}
        case _ if prompt is not None:
            named = {"name": prompt}
        case _ if uri is not None:
            named = {"uri": uri}
        case _:
            pass
    return Request(id_, method, named)


def decide_request(
    engine: Engine,
    request: Request,
    server: str | None,
    session: Session,
    circumstances: Circumstances,
    tell: Trace | None = None,
) -> Decision:
    """Give what the policy says of a request from this module; `tell` hears what was looked at."""
    params = request.params or {}
    if request.method != "tools/call":
        return engine.decide_method(request.method, params, circumstances)
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise TypeError("a tool call has a name and arguments")
    call = Call(name, arguments, server)
    if tell is None:
        return engine.decide_call(call, session, circumstances)
    return engine.decide_call(call, session, circumstances, tell)
