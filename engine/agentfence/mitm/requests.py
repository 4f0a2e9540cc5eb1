"""mitmproxy's requests and responses as the core's values, and back."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING

from mitmproxy import ctx, http
from mitmproxy.net.http.status_codes import RESPONSES
from mitmproxy.net.http.url import hostport

from agentfence.core.agents import Agent, agent_of
from agentfence.core.effects import Answer, Drop
from agentfence.core.http.message import HttpRequest, announce_body

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from agentfence.core.http.message import Headers

    type Fields = tuple[tuple[bytes, bytes], ...]
    """Header fields as the host keeps them."""

NOT_JUDGED = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32003,'
    b'"message":"AgentFence did not get to judge this message, so it was not sent on"}}'
)
"""The refusal that every armed request carries until it is judged."""

_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")


def headers_of(headers: http.Headers) -> Headers:
    """Give header fields as they came, one character a byte."""
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields)


def request_of(flow: http.HTTPFlow) -> HttpRequest:
    """Give the head of a flow's request; whether it has a body its headers tell, until that is there."""
    request, data, body = flow.request, flow.request.data, flow.request.raw_content
    headers = headers_of(data.headers)
    return HttpRequest(
        method=data.method.decode("latin-1"),  # the host shows it in upper case
        scheme=request.scheme,
        host=data.host,
        port=data.port,
        target=request.path,
        headers=headers,
        has_body=announce_body(headers) if body is None else bool(body),
        trailers=() if data.trailers is None else headers_of(data.trailers),
        authority=request.authority if data.authority else "",  # decoding it is dear
    )


def with_fields(fields: Fields, values: Mapping[bytes, bytes], *, without: Collection[bytes] = ()) -> Fields:
    """Give header fields with some set, each where it stood first or at the end; all names in lower case.

    The host's `headers[name] = value` does the same at several times the cost.
    """
    new: list[tuple[bytes, bytes]] = []
    left = dict(values)
    for field in fields:
        name = field[0].lower()
        if name not in values:
            if name not in without:
                new.append(field)
        elif name in left:
            new.append((field[0], left.pop(name)))
    return (*new, *left.items())


def first_value(fields: Fields, name: bytes) -> bytes | None:
    """Give the value of the first header of that name, which is in lower case; None when there is none."""
    return next((value for field, value in fields if field.lower() == name), None)


def is_reverse(flow: http.HTTPFlow) -> bool:
    """Whether the agent takes the proxy for the server."""
    return getattr(flow.client_conn.proxy_mode, "type_name", "") == "reverse"


def name_server(request: http.Request) -> None:
    """Write the server's own name into `Host`, where the agent had named the proxy."""
    name = _name_of(request.scheme, request.host, request.port)
    request.headers.fields = with_fields(request.headers.fields, {b"host": name})


@lru_cache(maxsize=64)
def _name_of(scheme: str, host: str, port: int) -> bytes:
    return hostport(scheme, host, port).encode("utf-8", "surrogateescape")


def reads_events(request: http.Request) -> bool:
    """Whether a client says that it reads an event stream as the answer."""
    return "event-stream" in request.headers.get("accept", "").lower()


def end_connection(request: http.Request) -> None:
    """Have the server take nothing behind this request for another one.

    A server that answers without reading a body reads it as the next request, unless it is told that there
    is none (RFC 9112, section 9.6).
    """
    request.headers.fields = with_fields(request.headers.fields, {b"connection": b"close"})


def sender_of(flow: http.HTTPFlow) -> Agent:
    """Give who sent a flow's request."""
    user = (flow.metadata.get("proxyauth") or (None,))[0]
    address = (flow.client_conn.peername or ("unknown",))[0]
    chooses_user = user is not None and ctx.options.proxyauth == "any"  # which the host copies each time
    return agent_of(user, address, chooses_user=chooses_user)


def head_of(request: http.Request) -> tuple[object, ...]:
    """Give all of a request but its body, to see later whether it has changed."""
    data = request.data
    trailers = None if data.trailers is None else data.trailers.fields
    line = (data.method, data.scheme, data.host, data.port, data.authority, data.path, data.http_version)
    return (*line, data.headers.fields, trailers)


def snapshot_of(request: http.Request) -> tuple[object, ...]:
    """Give all of a request that goes to the server, to see later whether it has changed."""
    return (*head_of(request), request.raw_content)


def json_response(status: int, body: bytes, *, close: bool = False, headers: Headers = ()) -> http.Response:
    """Give a response of the fence's own."""
    fields = [
        _JSON,
        _NO_STORE,
        *((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers),
    ]
    if close:
        fields.append((b"connection", b"close"))
    fields.append((b"content-length", b"%d" % len(body)))
    reason, now = RESPONSES.get(status, "").encode(), time.time()
    # Not by `make`, which costs several times as much: each request is armed with one.
    return http.Response(b"HTTP/1.1", status, reason, http.Headers(fields), body, None, now, now)


def accepted() -> http.Response:
    """Give the response that says nothing: 202 without a body."""
    return http.Response.make(202, b"")


def response_to(effect: Answer | Drop) -> http.Response:
    """Give the response that carries a refusal; for a dropped message 202 without a body."""
    if isinstance(effect, Drop):
        return accepted()
    return json_response(effect.status, effect.body, close=effect.close, headers=effect.headers)


def origin_of(request: http.Request) -> str:
    """Give scheme, host and port of the server that a request goes to."""
    return f"{request.scheme}://{request.host}:{request.port}"
