"""JSON-RPC messages as MCP has them: read strictly, answered compactly.

Servers disagree on what is both a request and an answer, on ids that are not whole numbers and on
keys that look alike (each of these was seen to execute on one and not on another), so a message is
exactly one thing here, or it is refused.

Not here: what a method means, and whether it may pass.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import Json
from agentfence.core.errors import ProtocolViolation
from agentfence.core.json_text import (
    MAX_DEPTH,
    MAX_NUMBER_LENGTH,
    MAX_VALUES,
    PARSE_ERROR,
    harmless_line,
    parse_json,
)
from agentfence.core.twins import fold_key, twin_in_message
from agentfence.core.values import message_value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "INVALID_REQUEST",
    "MAX_DEPTH",
    "MAX_NUMBER_LENGTH",
    "MAX_SAFE_INTEGER",
    "MAX_VALUES",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "Id",
    "Json",
    "Message",
    "Notification",
    "Request",
    "Response",
    "error_answer",
    "fold_key",
    "harmless_line",
    "legal_id",
    "parse_json",
    "read_message",
    "result_answer",
]

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
MAX_SAFE_INTEGER = 2**53 - 1
"""Above it, ids that differ are the same in a reader whose numbers are doubles."""

type Id = str | int


@message_value
class Request:
    """A call that must be answered."""

    id: Id
    method: str
    params: dict[str, Json] | None = None


@message_value
class Notification:
    """A call that must not be answered."""

    method: str
    params: dict[str, Json] | None = None


@message_value
class Response:
    """An answer: `result`, or `error` when `is_error`."""

    id: Id | None
    """None only for an error, and only where that is accepted."""
    result: Json = None
    error: dict[str, Json] | None = None
    is_error: bool = False


type Message = Request | Notification | Response


def read_message(value: Json, *, lenient_error_id: bool = False) -> Message:
    """Give the one message that `value` is. Unknown members of it mean nothing, and pass.

    `lenient_error_id`: accept an error whose id is null or missing, as servers send it for what
    they could not read.

    Raises:
        ProtocolViolation: -32600, with the rule that the value breaks.

    """
    if not isinstance(value, dict):
        raise _invalid("a message must be an object")
    twin = twin_in_message(value)
    if twin is not None:
        raise _invalid(twin)
    if value.get("jsonrpc") != "2.0":
        raise _invalid('`jsonrpc` must be "2.0"')
    if "method" in value:
        if "result" not in value and "error" not in value:
            return _read_call(value)
    elif "result" in value:
        if "error" not in value:
            _refuse_params(value)
            return Response(_read_id(value), value["result"])
    elif "error" in value:
        return _read_error(value, lenient_id=lenient_error_id)
    raise _invalid("a message must have one of `method`, `result` and `error`")


def legal_id(value: Json) -> Id | None:
    """Give the id of a message, valid or not; None when it has none that MCP allows."""
    member = value.get("id") if isinstance(value, dict) else None
    if type(member) is int:  # a bool is another type, and no id
        return member if -MAX_SAFE_INTEGER <= member <= MAX_SAFE_INTEGER else None
    return member if isinstance(member, str) else None


def error_answer(id: Id | None, code: int, message: str, details: Mapping[str, Json] | None = None) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Give a JSON-RPC error as ASCII without a line end; `details` becomes its `data`."""
    error: dict[str, Json] = {"code": code, "message": message}
    if details is not None:
        error["data"] = dict(details)
    return _encode({"jsonrpc": "2.0", "id": id, "error": error})


def result_answer(id: Id, result: Json) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Give a JSON-RPC result as ASCII without a line end."""
    return _encode({"jsonrpc": "2.0", "id": id, "result": result})


def _read_call(value: dict[str, Json]) -> Request | Notification:
    method, params = value["method"], value.get("params")
    if not isinstance(method, str):
        raise _invalid("`method` must be a string")
    if not isinstance(params, dict):
        if "params" in value:
            raise _invalid("`params` must be an object or absent")
        params = None
    return Request(_read_id(value), method, params) if "id" in value else Notification(method, params)


def _read_error(value: dict[str, Json], *, lenient_id: bool) -> Response:
    _refuse_params(value)
    error = value["error"]
    if not isinstance(error, dict):
        raise _invalid("`error` must be an object")
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(error.get("message"), str):
        raise _invalid("`error` must have an integer `code` and a string `message`")
    if lenient_id and value.get("id") is None:
        return Response(None, error=error, is_error=True)
    return Response(_read_id(value), error=error, is_error=True)


def _read_id(value: dict[str, Json]) -> Id:
    found = legal_id(value)
    if found is None:
        raise _invalid(f"`id` must be a string or an integer of at most {MAX_SAFE_INTEGER}")
    return found


def _refuse_params(answer: dict[str, Json]) -> None:
    if "params" in answer:
        raise _invalid("an answer must have no `params`")


def _invalid(problem: str) -> ProtocolViolation:
    return ProtocolViolation(INVALID_REQUEST, problem)


_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _encode(answer: Json) -> bytes:
    return _ENCODER.encode(answer).encode("ascii")
