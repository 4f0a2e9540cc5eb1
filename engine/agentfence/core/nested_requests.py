"""Requests that a server puts into its answers: the client is to run them, as if they came by themselves.

MCP 2026-07-28, basic/patterns/mrtr: `inputRequests` in a result, and in the tasks extension in a
notification. MCP 2025-11-25, client/elicitation: `data.elicitations` in the error -32042.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import INVALID_REQUEST, Notification, Response, fold_key
from agentfence.core.twins import twin_in_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json

_URL_ELICITATION_REQUIRED = -32042
_ELICITATIONS = "elicitations"
_MOST = 100
"""That one answer may hold: each is judged, and each may need a person."""


def nested_requests(message: Response | Notification) -> list[Notification]:
    """Give the requests inside an answer or a notification; they have no ids.

    Raises:
        ProtocolViolation: They cannot be read.

    """
    if isinstance(message, Notification):
        return _input_requests(message.params) if message.method == "notifications/tasks" else []
    if message.error is not None:
        return _elicitations(message.error)
    return _input_requests(message.result)


def _input_requests(result: Json) -> list[Notification]:
    requests = result.get("inputRequests") if isinstance(result, dict) else None
    if requests is None:
        return []
    if not isinstance(requests, dict) or len(requests) > _MOST:
        raise _unreadable(f"`inputRequests` must be an object with at most {_MOST} requests")
    return [_request(entry) for entry in requests.values()]


def _request(entry: Json) -> Notification:
    if not isinstance(entry, dict):
        raise _unreadable("each of `inputRequests` must be an object")
    twin = twin_in_message(entry)
    if twin is not None:
        raise _unreadable(twin)
    method, params = entry.get("method"), entry.get("params")
    if not isinstance(method, str) or not isinstance(params, dict | None):
        raise _unreadable("each of `inputRequests` must have a `method`, and `params` that are an object")
    return Notification(method, params)


def _elicitations(error: Mapping[str, Json]) -> list[Notification]:
    data = error.get("data")
    if error.get("code") != _URL_ELICITATION_REQUIRED or not isinstance(data, dict):
        return []
    if any(fold_key(key) == _ELICITATIONS != key for key in data):
        raise _unreadable(f"a key could be read as `{_ELICITATIONS}`")
    entries = data.get(_ELICITATIONS, [])
    if not isinstance(entries, list) or len(entries) > _MOST:
        raise _unreadable(f"`{_ELICITATIONS}` must be a list with at most {_MOST} requests")
    if not all(isinstance(entry, dict) for entry in entries):
        raise _unreadable(f"each of `{_ELICITATIONS}` must be an object")
    return [_request({"method": "elicitation/create", "params": entry}) for entry in entries]


def _unreadable(problem: str) -> ProtocolViolation:
    return ProtocolViolation(INVALID_REQUEST, problem)
