"""Recorded calls: one JSON object a line, as `agentfence check` reads them.

    {"id": "1", "tool": "read_file", "arguments": {"path": "a"}, "server": "files", "time": "2027-01-31"}
    {"id": "2", "method": "sampling/createMessage"}
    {"id": "3", "uri": "file:///work/a"}
    {"id": "4", "prompt": "greet"}

Other keys mean nothing here. A line is held to the strict reading of JSON that the fence holds messages
to, as one with two readings would be refused there too.

A named tuple, as runs read millions of these, and a frozen dataclass costs four times as much to make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.engine import Call
from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import INVALID_REQUEST, Request, parse_json
from agentfence.core.policy.times import parse_time
from agentfence.core.written_requests import request_for_method, request_for_tool

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json

_USUAL_KEYS = frozenset({"id", "tool", "arguments"})
_LONGEST_SERVER = 256
_LATEST = 253_402_300_800.0
"""The end of the year 9999."""


class RecordedCall(NamedTuple):
    """One call that was made, or might be."""

    id: str
    subject: Call | Request
    """A tool's call, or a message that calls none."""
    server: str | None = None
    time: float | None = None
    """When it was made, in seconds since 1970; None when the record does not say."""

    @property
    def request(self) -> Request:
        """Give it as the message that it was."""
        subject = self.subject
        if isinstance(subject, Request):
            return subject
        return request_for_tool(self.id, subject.tool, dict(subject.arguments))


def read_recorded_call(line: bytes) -> RecordedCall:
    """Give the call in a line.

    Raises:
        ProtocolViolation: The line is no such record; the text says why.

    """
    record = parse_json(line)
    if not isinstance(record, dict):
        raise _invalid("expected a JSON object")
    if record.keys() == _USUAL_KEYS and (usual := _read_usual(record)) is not None:
        return usual
    id_ = _text(record, "id")
    if id_ is None:
        raise _invalid("expected an `id`")
    server, time = _text(record, "server"), record.get("time")
    if server is not None and len(server) > _LONGEST_SERVER:
        raise _invalid(f"`server` is longer than {_LONGEST_SERVER} characters, which no policy's is")
    subject = _read_subject(id_, server, record)
    return RecordedCall(id_, subject, server, None if time is None else _read_time(time))


def _read_usual(record: dict[str, Json]) -> RecordedCall | None:
    """Give by far the most records, quickly; None when there is more to look at."""
    id_, tool, arguments = record["id"], record["tool"], record["arguments"]
    if isinstance(id_, str) and isinstance(tool, str) and isinstance(arguments, dict) and id_ and tool:
        return RecordedCall(id_, Call(tool, arguments))
    return None


def _read_subject(id_: str, server: str | None, record: dict[str, Json]) -> Call | Request:
    tool, method = _text(record, "tool"), _text(record, "method")
    uri, prompt = _text(record, "uri"), _text(record, "prompt")
    if tool is not None:
        if method not in (None, "tools/call") or uri is not None or prompt is not None:
            raise _invalid("expected one of `tool`, `method`, `uri` and `prompt`, got several")
        return Call(tool, _read_arguments(record), server)
    if method is None and uri is None and prompt is None:
        raise _invalid("expected one of `tool`, `method`, `uri` and `prompt`")
    if method == "tools/call":
        raise _invalid("`tools/call` goes with a `tool`")
    if uri is not None and prompt is not None:
        raise _invalid("expected one of `uri` and `prompt`, got both")
    return request_for_method(id_, method, uri=uri, prompt=prompt)


def _read_arguments(record: dict[str, Json]) -> dict[str, Json]:
    arguments = record.get("arguments")
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise _invalid("`arguments` must be an object")
    return arguments


def _text(record: dict[str, Json], key: str) -> str | None:
    value = record.get(key)
    if value is not None and not (isinstance(value, str) and value):
        raise _invalid(f"`{key}` must be a text that is not empty")
    return value


def _read_time(time: Json) -> float:
    match time:
        case bool():
            pass
        case int() | float() if 0 <= time < _LATEST:  # not-a-number is neither
            return float(time)
        case str():
            try:
                return parse_time(time)
            except ValueError:
                pass
        case _:
            pass
    raise _invalid("`time` must be a date, an RFC 3339 time or seconds since 1970")


def _invalid(problem: str) -> ProtocolViolation:
    return ProtocolViolation(INVALID_REQUEST, problem)
