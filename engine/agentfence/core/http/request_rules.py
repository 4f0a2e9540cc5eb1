"""What the head of a request to an MCP server must be, so that every server reads its body alike.

Each rule closes a way by which a server was seen to execute what a gate had read differently.

- `check_values` is for whatever goes to a server's host, whether its body is judged or not.
- `check_head` looks at the head alone, before a body is read.
- `check_body` looks at the body's presence; `check_envelope` is both, what a judged request must pass.
- `check_host_and_origin` is for reverse mode, where the fence is what a web page may reach.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.http.hosts import parse_authority
from agentfence.core.http.media_types import problem_with_json_type
from agentfence.core.http.message import METHOD_OVERRIDES, HttpRefusal, fold_name, list_members, values
from agentfence.core.jsonrpc import INVALID_REQUEST

if TYPE_CHECKING:
    from collections.abc import Collection

    from agentfence.core.http.message import HttpRequest

HEADER_MISMATCH = -32020

_METHODS = frozenset({"POST", "GET", "DELETE", "HEAD", "OPTIONS"})
_SINGLE = frozenset({"content-type", "content-length", "host", "origin", "transfer-encoding"})
_SINGLE_OF_MCP = frozenset({"mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name"})
_PARAMETER = "mcp-param-"
_FOLDED = _SINGLE | _SINGLE_OF_MCP | METHOD_OVERRIDES | {"content-encoding", "trailer"}

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SESSION_ID = re.compile(r"[\x21-\x7e]+")
_REVISION = re.compile(r"[A-Za-z0-9._-]+")
# Fewer spellings than `hosts` knows: a browser sends these, and a page may be served under others.
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE)


def check_envelope(request: HttpRequest, body: bytes) -> HttpRefusal | None:
    """Give the refusal of a request that servers could read differently; None when none could.

    Messages come by POST; GET, DELETE, HEAD and OPTIONS pass without a body.
    """
    return check_head(request) or check_body(request, body)


def check_body(request: HttpRequest, body: bytes) -> HttpRefusal | None:
    """Give the refusal of a body for being there; None when there may be one."""
    if body and request.method != "POST":
        return _refuse(400, f"a {request.method} request must have no body")
    return None


def check_values(request: HttpRequest) -> HttpRefusal | None:
    """Give the refusal of a header value in which some servers find further headers.

    RFC 9112, sections 2.2 and 5.2: a CR ends a line for some, and others join a line that goes on.
    """
    if _CONTROL.search("".join([value for _, value in request.headers])):
        return _refuse(400, "a header value holds a control character")
    return None


def check_head(request: HttpRequest) -> HttpRefusal | None:
    """Give the refusal for what the head alone shows; None when it is fine."""
    if request.method not in _METHODS:
        # MCP, basic/transports: messages are posted. The name is the sender's, so it is not repeated.
        return _refuse(405, "messages must be sent by POST", headers=(("Allow", "POST, GET, DELETE"),))
    return (
        check_values(request)
        or _check_names(request)
        or _check_framing(request)
        or _check_content(request)
        or _check_mcp(request)
    )


def check_host_and_origin(
    request: HttpRequest, allowed_hosts: Collection[str], allowed_origins: Collection[str]
) -> HttpRefusal | None:
    """Give a 403 unless `Host`, and `Origin` where there is one, are this machine's or allowed.

    A page on any site can reach a local server, by DNS rebinding under the page's own name; its
    `Host` or `Origin` gives it away. Names of this machine pass with any port, `host` in the lists
    likewise, `host:port` with that port; origins are written whole, as `https://app.example.com`.
    """
    hosts, origins = values(request.headers, "host"), values(request.headers, "origin")
    if len(hosts) != 1 or not _is_allowed_host(hosts[0].strip(" \t"), allowed_hosts):
        return _refuse_host("the Host header must name this machine or an allowed host")
    if len(origins) > 1 or (origins and not _is_allowed_origin(origins[0].strip(" \t"), allowed_origins)):
        return _refuse_host("the Origin header must name this machine or an allowed origin")
    return None


def _check_names(request: HttpRequest) -> HttpRefusal | None:
    seen: set[str] = set()
    for name, _ in request.headers:
        if not _TOKEN.fullmatch(name):
            return _refuse(400, "a header name is malformed")
        folded = fold_name(name)
        is_parameter = folded.startswith(_PARAMETER)
        if not is_parameter and folded not in _FOLDED:
            continue
        # CGI and WSGI servers read `Mcp_Name` as `Mcp-Name`, others as a header of no meaning.
        if name.lower() != folded and not name.lower().startswith(_PARAMETER):
            return _refuse_mcp(f"a header is spelled so that some servers read it as `{folded}`")
        if folded in METHOD_OVERRIDES:
            return _refuse(400, f"`{folded}` must not be sent")
        if folded in seen and (is_parameter or folded in _SINGLE_OF_MCP):
            return _refuse_mcp(f"`{folded}` must be sent once")
        if folded in seen and folded in _SINGLE:
            return _refuse(400, f"`{folded}` must be sent once")
        seen.add(folded)
    return None


def _check_framing(request: HttpRequest) -> HttpRefusal | None:
    encodings = list_members(request.headers, "transfer-encoding")
    if encodings and (encodings != ["chunked"] or values(request.headers, "content-length")):
        return _refuse(400, "Transfer-Encoding must be chunked and come without Content-Length")
    if request.trailers or values(request.headers, "trailer"):
        return _refuse(400, "trailers must not be sent")
    # RFC 9110, section 7.6.1: a proxy in front of the server takes away what `Connection` names.
    if any(_is_read(fold_name(option)) for option in list_members(request.headers, "connection")):
        return _refuse(400, "Connection must not name a header that is read here")
    return None


def _is_read(folded: str) -> bool:
    return folded in _FOLDED or folded.startswith("mcp-")


def _check_content(request: HttpRequest) -> HttpRefusal | None:
    codings = list_members(request.headers, "content-encoding")
    if any(coding != "identity" for coding in codings):
        return _refuse(415, "the body must not be encoded", headers=(("Accept-Encoding", "identity"),))
    if request.method != "POST":
        return None
    types = values(request.headers, "content-type")
    problem = problem_with_json_type(types[0]) if types else "Content-Type must be application/json"
    return _refuse(415, problem) if problem else None


def _check_mcp(request: HttpRequest) -> HttpRefusal | None:
    for session in values(request.headers, "mcp-session-id"):
        # MCP 2025-03-26, basic/transports#session-management
        if not _SESSION_ID.fullmatch(session.strip(" \t")):
            return _refuse_mcp("Mcp-Session-Id must be visible ASCII")
    for revision in values(request.headers, "mcp-protocol-version"):
        # A comma would make two of one for servers that split.
        if not _REVISION.fullmatch(revision.strip(" \t")):
            return _refuse_mcp("MCP-Protocol-Version must be one revision")
    return None


def _is_allowed_host(text: str, allowed: Collection[str]) -> bool:
    if _LOOPBACK.fullmatch(text):
        return True
    authority = parse_authority(text)
    return authority is not None and any(
        parse_authority(entry) in (authority, (authority[0], None)) for entry in allowed
    )


def _is_allowed_origin(text: str, allowed: Collection[str]) -> bool:
    scheme, _, authority = text.lower().partition("://")
    if scheme in {"http", "https"} and _LOOPBACK.fullmatch(authority):
        return True
    return text.lower() in {entry.lower().rstrip("/") for entry in allowed}


def _refuse(status: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> HttpRefusal:
    return HttpRefusal(status, INVALID_REQUEST, message, "unparsed", headers)


def _refuse_mcp(message: str) -> HttpRefusal:
    return HttpRefusal(400, HEADER_MISMATCH, message, "header_mismatch")


def _refuse_host(message: str) -> HttpRefusal:
    return HttpRefusal(403, INVALID_REQUEST, message, "host_refused")
