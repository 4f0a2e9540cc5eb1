"""What the head of an answer means, and what of an answer is read.

- JSON and event streams are read; clients go by parts of `Content-Type`, so its spelling is taken
  loosely, and an answer that clients would take differently is refused.
- An error answer (status 400 and above) passes unchanged with its headers, unless it holds a
  `result`: challenges, session ends and version fallbacks live there.
- A judged answer goes on without the headers of `PAST_THE_FENCE`, and without line ends in the values of
  others. Redirects stay, as the next request is sorted like any other; for reverse mode see `redirects.py`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from agentfence.core.errors import ProtocolViolation
from agentfence.core.http.codings import KNOWN_CODINGS, End, unpack
from agentfence.core.http.detection import shows_jsonrpc
from agentfence.core.http.media_types import UTF_8, declared_charsets, declared_type
from agentfence.core.http.message import list_members, values
from agentfence.core.http.readings import plain_bodies, texts
from agentfence.core.http.top_level import members_of, read_top_level

if TYPE_CHECKING:
    from agentfence.core.http.message import Headers

_INTERNAL_ERROR = -32003
_SWITCHING_PROTOCOLS = 101
_FIRST_FINAL = 200
_WITHOUT_BODY = frozenset({204, 304})
_ACCEPTED = 202
_FIRST_ERROR = 400
_MAX_CODINGS = 3
_PLAIN_TRANSFERS = frozenset({"chunked", "identity"})
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+ *")
_MAX_UNREAD = 8_388_608
"""Bytes of what need not be a message: to look through more of it would hold up everything else."""

PAST_THE_FENCE = ("alt-svc",)
"""Headers of answers that lead a client to another host or to QUIC, out of reach; drop them."""


class AnswerKind(StrEnum):
    """What a client reads out of an answer."""

    JSON = "json"
    EVENT_STREAM = "event stream"
    EMPTY = "empty"
    OTHER = "other"
    """Nothing in which a client looks for a message: a page, a file."""


def classify_answer(status: int, headers: Headers) -> AnswerKind:
    """Give what kind of answer a client will take this for.

    An answer that declares no type is JSON: a client that does not look would read it as that. The
    body of a 202 is read by no client, unless it declares one of our types.
    """
    declared = declared_type(headers)
    if status < _FIRST_FINAL or status in _WITHOUT_BODY or values(headers, "content-length") == ["0"]:
        return AnswerKind.EMPTY
    if "event-stream" in declared:
        return AnswerKind.EVENT_STREAM
    if "json" in declared or (not declared and status != _ACCEPTED):
        return AnswerKind.JSON
    return AnswerKind.OTHER


def check_answer_head(status: int, headers: Headers, *, is_websocket: bool = False) -> str | None:
    """Give why an answer cannot be judged and must not pass; None when it can.

    `is_websocket`: the request was a WebSocket handshake that the fence let pass.
    """
    if status == _SWITCHING_PROTOCOLS and not is_websocket:
        return "the server switched protocols"
    if status < _FIRST_FINAL and not is_websocket:
        # mitmproxy takes it for the answer, and the client would wait for another for ever.
        return "it is an interim answer, and the final one cannot be read behind it"
    kind = classify_answer(status, headers)
    if kind in {AnswerKind.EMPTY, AnswerKind.OTHER}:
        return None
    if not _PLAIN_TRANSFERS.issuperset(list_members(headers, "transfer-encoding")):
        return "it is in a transfer coding"
    if kind is AnswerKind.EVENT_STREAM and _codings(headers):
        return "it is an event stream in a content coding"
    declared = declared_type(headers)
    has_two_types = len(values(headers, "content-type")) > 1 or (
        "event-stream" in declared and "json" in declared
    )
    if has_two_types and status < _FIRST_ERROR:
        return "it declares two content types, and clients go by different ones"
    return None


def without_line_ends(text: str) -> str:
    """Give a header's value, or a reason phrase, in which no client finds a further header.

    RFC 9110, section 5.5, and RFC 9112, section 5.2: CR ends a line for some clients, as for Python's
    `http.client`, and others join a line that goes on.
    """
    return _CONTROLS.sub(" ", text)


def type_as_judged(headers: Headers) -> str | None:
    """Give the `Content-Type` by which a client reads an answer as UTF-8; None where it does so already.

    It is judged as UTF-8, and clients decode by what is declared: `utf-7` would show them a message that
    nobody has judged.
    """
    if set(declared_charsets(headers)) <= UTF_8:
        return None
    return f"{values(headers, 'content-type')[0].partition(';')[0].strip()}; charset=utf-8"


def may_be_message(name: bytes, data: bytes) -> bool:
    """Whether some client takes an event for a message; there are some that trim its name, or ignore it."""
    if name == b"message" or len(data) > _MAX_UNREAD:
        return bool(data.strip())
    return shows_jsonrpc(data, (), mcp_only=False)


def passes_unawaited(body: bytes, headers: Headers) -> bool:
    """Whether an answer that nobody waits for holds no message in any reading, as a receipt does."""
    return len(body) <= _MAX_UNREAD and not shows_jsonrpc(body, headers, mcp_only=False)


def decode_answer(body: bytes, headers: Headers, limit: int) -> bytes:
    """Give the plain body of an encoded JSON answer, which must be sent on plain.

    Raises:
        ProtocolViolation: it cannot be undone, or is over `limit` bytes.

    """
    codings = _codings(headers)
    for coding in reversed(codings):
        unpacked = unpack(coding, body, limit) if len(codings) <= _MAX_CODINGS else None
        if unpacked is None or unpacked.end is End.BROKEN:
            raise ProtocolViolation(_INTERNAL_ERROR, "it is in a content coding that cannot be undone")
        if unpacked.end is End.AT_LIMIT:
            raise ProtocolViolation(_INTERNAL_ERROR, f"it is over the limit of {limit} bytes (max_answer)")
        body = unpacked.content
    return body


def passes_unread(status: int, body: bytes, headers: Headers = ()) -> bool:
    """Whether an answer is an error's that holds no `result`, nor asks for anything, in any reading.

    It then passes unchanged.
    """
    if status < _FIRST_ERROR or len(body) > _MAX_UNREAD:
        return False
    bodies, _ = plain_bodies(body, headers)
    return not any(
        plain.end is End.AT_LIMIT or _must_be_read(text)
        for plain in bodies
        for text in texts(plain.content, declared_charsets(headers))
    )


def _must_be_read(text: str) -> bool:
    top = read_top_level(text)
    is_broken_json = not top.is_complete and text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
    return is_broken_json or "result" in top.keys or _asks_for_something(top.members)


def _asks_for_something(members: list[tuple[str, object]]) -> bool:
    """Whether an error holds elicitations, as -32042 does (MCP 2025-11-25, client/elicitation)."""
    for name in ("error", "data"):
        members = [inner for key, value in members if key == name for inner in members_of(value)]
    return any(key == "elicitations" for key, _ in members)


def known_codings(headers: Headers) -> list[str]:
    """Give the content codings of an answer that clients undo, in their order; they ignore others."""
    return [coding for coding in _codings(headers) if coding in KNOWN_CODINGS]


def _codings(headers: Headers) -> list[str]:
    return [coding for coding in list_members(headers, "content-encoding") if coding != "identity"]
