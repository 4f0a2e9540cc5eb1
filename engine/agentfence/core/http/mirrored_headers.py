"""Headers that repeat what the body says: where both speak, both must say the same.

A load balancer or a server may act on the header, another on the body (MCP 2026-07-28,
basic/transports/streamable-http#server-validation); the fence decides on the body, so a header that
says something else never passes, under whatever revision.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import TYPE_CHECKING

from agentfence.core.http.message import HttpRefusal, fold_name, mcp_headers
from agentfence.core.http.request_rules import HEADER_MISMATCH
from agentfence.core.jsonrpc import Request, Response
from agentfence.core.revisions import META_VERSION, MIRRORED_NAME, MIRRORED_TASK, meta_version, revision_named
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.http.message import Headers
    from agentfence.core.jsonrpc import Message, Notification
    from agentfence.core.revisions import Revision

_INVALID_PARAMS = -32602
_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
_PARAMETER = "mcp-param-"
_DESCRIBING = ("mcp-method", "mcp-name", _PARAMETER)
_PRINTABLE = re.compile(r"[\t\x20-\x7e]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_INTEGER = re.compile(r"(-?[0-9]{1,16})(?:\.0+)?")
_PREFIX, _SUFFIX = "=?base64?", "?="
_MAX_DEPTH = 32
_MOST_REMEMBERED = 64
"""Heads, of which each may have some 64 KB."""


@frozen
class _Mirror:
    """The mirrored headers of one request, by folded name, as sent."""

    sent: Mapping[str, str]

    @property
    def version(self) -> str | None:
        """The revision that the header names."""
        return self.sent.get("mcp-protocol-version")

    def differs(self, name: str, expected: Json) -> bool:
        """Whether the header is there and does not say `expected`."""
        return name in self.sent and not _says(self.sent[name], expected)


def check_mirrored(
    headers: Headers, message: Message | None, revision: Revision, tool_schema: Json = None
) -> HttpRefusal | None:
    """Give the refusal of a message that its headers contradict; None when they agree.

    `message` is None for a batch, which no mirrored header can describe. `revision` is the one it
    is judged under, `tool_schema` the called tool's `inputSchema` where it was seen. An unknown
    revision must fulfil the newest rules and passes, as the server's own answer makes a client fall
    back. Repeated headers were refused before.
    """
    mirror = _mirror_of(headers)
    if message is None or isinstance(message, Response):
        is_mirrored = any(name.startswith(_DESCRIBING) for name in mirror.sent)
        return _mismatch("Mcp-Method, Mcp-Name and Mcp-Param describe no such body") if is_mirrored else None
    return _check_revision(mirror, message, revision) or _check_call(mirror, message, revision, tool_schema)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _mirror_of(headers: Headers) -> _Mirror:
    return _Mirror({name: value.strip(" \t") for name, value in mcp_headers(headers)})


def _check_revision(
    mirror: _Mirror, message: Request | Notification, revision: Revision
) -> HttpRefusal | None:
    """Hold both signs of the era to each other: servers go by one of them, and not by the same one."""
    declared, claimed = mirror.version, meta_version(message.params)
    if claimed is not None and claimed != declared:
        return _mismatch(f"the MCP-Protocol-Version header must repeat `{META_VERSION}`")
    if not isinstance(message, Request) or not _is_modern(declared, revision):
        return None
    if declared is None:
        return _mismatch("the MCP-Protocol-Version header is missing")
    meta = (message.params or {}).get("_meta")
    for key in (META_VERSION, _CAPABILITIES):
        # MCP 2026-07-28, basic/index#_meta
        if not isinstance(meta, dict) or key not in meta:
            return HttpRefusal(400, _INVALID_PARAMS, f"`{key}` is missing in `_meta`", "header_mismatch")
    return None


def _check_call(
    mirror: _Mirror, message: Request | Notification, revision: Revision, tool_schema: Json
) -> HttpRefusal | None:
    params = message.params or {}
    if mirror.sent.get("mcp-method", message.method) != message.method:
        return _mismatch("the Mcp-Method header must repeat `method`")
    member = MIRRORED_NAME.get(message.method)
    if not _agrees_on_name(mirror, params, member or MIRRORED_TASK.get(message.method)):
        return _mismatch("the Mcp-Name header must repeat what `params` names")
    must_mirror = isinstance(message, Request) and _is_modern(mirror.version, revision)
    if must_mirror and "mcp-method" not in mirror.sent:
        return _mismatch("the Mcp-Method header is missing")
    if must_mirror and member and "mcp-name" not in mirror.sent:
        return _mismatch("the Mcp-Name header is missing")
    if message.method != "tools/call":
        return None
    return _check_parameters(mirror, params.get("arguments"), tool_schema, must_mirror=must_mirror)


def _agrees_on_name(mirror: _Mirror, params: Mapping[str, Json], member: str | None) -> bool:
    if member is not None:
        return not mirror.differs("mcp-name", params.get(member))
    # An extension may name something else, but only something that is there.
    sent = mirror.sent.get("mcp-name")
    return sent is None or any(_says(sent, value) for value in params.values())


def _check_parameters(
    mirror: _Mirror, arguments: Json, tool_schema: Json, *, must_mirror: bool
) -> HttpRefusal | None:
    """Compare `Mcp-Param-*`; one that the schema does not have must be forwarded, says the spec."""
    for name, path in mirrored_parameters(tool_schema).items():
        expected = _value_at(arguments, path)
        if mirror.differs(name, expected):
            return _mismatch(f"the header `{name}` must repeat its argument")
        if must_mirror and expected is not None and name not in mirror.sent:
            return _mismatch(f"the header `{name}` is missing")
    return None


def mirrored_parameters(tool_schema: Json) -> dict[str, tuple[str, ...]]:
    """Give which argument each `Mcp-Param-*` header repeats, by folded header name.

    A name that two properties claim repeats neither, as clients must drop such a tool.
    """
    found: dict[str, tuple[str, ...]] = {}
    claimed_twice: set[str] = set()
    for name, path in _annotations(tool_schema, ()):
        if name in found:
            claimed_twice.add(name)
        found[name] = path
    return {name: path for name, path in found.items() if name not in claimed_twice}


def _annotations(schema: Json, path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    # MCP 2026-07-28, streamable-http#schema-extension: only a chain of `properties` leads to one.
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(path) >= _MAX_DEPTH:
        return
    for key, member in properties.items():
        name = member.get("x-mcp-header") if isinstance(member, dict) else None
        if isinstance(name, str) and _TOKEN.fullmatch(name):
            yield fold_name(_PARAMETER + name), (*path, key)
        yield from _annotations(member, (*path, key))


def _value_at(arguments: Json, path: tuple[str, ...]) -> Json:
    value = arguments
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _says(sent: str, expected: Json) -> bool:
    """Whether a header's value stands for a value of the body."""
    text = _decoded(sent)
    match expected:
        case str():
            return text == expected
        case bool():
            return text == str(expected).lower()
        case int() | float():
            number = _INTEGER.fullmatch(text or "")
            return number is not None and int(number[1]) == expected
        case _:
            return False


def _decoded(sent: str) -> str | None:
    """Give the text that a header's value stands for; None for a malformed one.

    The markers are case-sensitive, the padding must be canonical, and what is not printable must
    be encoded (MCP 2026-07-28, streamable-http#value-encoding).
    """
    if not _PRINTABLE.fullmatch(sent):
        return None
    if not (sent.startswith(_PREFIX) and sent.endswith(_SUFFIX)):
        return sent
    encoded = sent[len(_PREFIX) : -len(_SUFFIX)].encode("ascii")
    try:
        content = b64decode(encoded, validate=True)
        text = content.decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
    # Also None where the markers share their `?`, as not everyone takes that for an encoded text.
    return text if _PREFIX + b64encode(content).decode() + _SUFFIX == sent else None


def _is_modern(declared: str | None, revision: Revision) -> bool:
    return revision.is_modern or (declared is not None and revision_named(declared).is_modern)


def _mismatch(message: str) -> HttpRefusal:
    return HttpRefusal(400, HEADER_MISMATCH, message, "header_mismatch")
