"""Spares mitmproxy the long way to how a plain message is framed.

The host asks four times for each request how long a body is, and four times whether the connection ends
with it; each time it looks for a header through five functions and an exception. Here a message with one
plain length, and without `Transfer-Encoding` and `Connection`, is seen at one look; all others go to the
host's own functions. Its reading of a `Transfer-Encoding` takes the square of the blanks in it, minutes for
as many as a head may have, so it is given no long one.

This leans on where the host looks those up, so with another minor version than the one it was written for,
nothing changes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from mitmproxy import version
from mitmproxy.net.http import http1, validate

from agentfence.mitm.dispatch import KNOWN_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http

_PLAIN: Final = re.compile(rb"0|[1-9][0-9]{0,17}")
_LONGEST_CODING: Final = 256
"""Of a `Transfer-Encoding`, in characters; the longest that is known has 16, beside blanks."""
_host_size: Callable[..., int | None] = http1.expected_http_body_size
_host_closes: Callable[..., bool] = http1.connection_close
_host_coding: Callable[..., Any] = validate.parse_transfer_encoding


def spare_framing() -> None:
    """Have the host look once, where this version of it is known."""
    if version.VERSION.startswith(KNOWN_VERSION):
        http1.expected_http_body_size = body_size
        http1.connection_close = closes_connection
        validate.parse_transfer_encoding = transfer_coding


def body_size(request: http.Request, response: http.Response | None = None) -> int | None:
    """Give what the host gives: bytes; None for a chunked body, -1 for one until the connection ends.

    Raises:
        ValueError: The headers that tell are malformed.

    """
    if response is None:
        size = _plain_length(request.headers)
    else:
        is_usual = response.status_code == 200 and request.data.method in (b"POST", b"GET")
        size = _plain_length(response.headers) if is_usual else None
    return _host_size(request, response) if size is None else size


def closes_connection(http_version: str, headers: http.Headers) -> bool:
    """Give what the host gives: whether a connection ends after a message."""
    if http_version == "HTTP/1.1" and not any(name.lower() == b"connection" for name, _ in headers.fields):
        return False
    return _host_closes(http_version, headers)


def transfer_coding(value: str | bytes) -> Any:
    """Give what the host gives: the transfer coding that a header names.

    Raises:
        ValueError: It is none that is known.

    """
    if len(value) > _LONGEST_CODING:
        raise ValueError("unknown transfer-encoding header")
    return _host_coding(value)


def _plain_length(headers: http.Headers) -> int | None:
    length = None
    for name, value in headers.fields:
        match name.lower():
            case b"content-length":
                if length is not None:
                    return None
                length = value
            case b"transfer-encoding":
                return None
    return int(length) if length is not None and _PLAIN.fullmatch(length) else None
