"""What the heads of requests and answers settle, remembered: peers send nearly the same ones each time.

Only what the head alone settles is remembered, and two heads are one only where all of them is the same but
the length of what follows (whether that is 0 counts) and, of an answer, its date.

Invariant: few heads are kept, and none that is large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentfence.core.http.answer_rules import (
    PAST_THE_FENCE,
    check_answer_head,
    classify_answer,
    type_as_judged,
)
from agentfence.core.http.message import single
from agentfence.core.http.redirects import redirects_to
from agentfence.core.http.request_rules import check_head
from agentfence.core.http.traffic import Held, Refused, Watched
from agentfence.core.values import frozen
from agentfence.mitm.requests import headers_of, request_of

if TYPE_CHECKING:
    from mitmproxy import http

    from agentfence.core.http.answer_rules import AnswerKind
    from agentfence.core.http.message import Headers, HttpRefusal, HttpRequest
    from agentfence.core.http.traffic import Sorted, Sorter
    from agentfence.mitm.requests import Fields

    type _Key = tuple[object, ...]

_MOST: Final = 256
_LARGEST: Final = 4_096
"""Bytes of the names and values of a head that is remembered."""
_DATE: Final = frozenset({b"date"})
_NOTHING: Final[frozenset[bytes]] = frozenset()


@frozen
class RequestHead:
    """A request's head, and how it is treated by that."""

    request: HttpRequest
    """Its `Content-Length` may be that of another request."""
    sorted: Sorted
    refusal: HttpRefusal | None
    """Of what may be a message, whatever its body is."""


@frozen
class AnswerHead:
    """An answer's head, and what it means."""

    headers: Headers
    """`Content-Length` and `Date` may be those of another answer."""
    kind: AnswerKind
    problem: str | None
    """Why it cannot be judged, and must not pass."""
    location: str | None
    """Where it sends its client."""
    leads_past: bool
    """Whether it holds some of `PAST_THE_FENCE`."""
    judged_type: str | None
    """The `Content-Type` to be put in place of its own."""
    session_id: str | None


class RequestHeads:
    """Reads the heads of requests."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[_Key, RequestHead] = {}
        self._sorted_by: tuple[Sorter | None, int] = None, 0

    def read(self, flow: http.HTTPFlow, sorter: Sorter) -> RequestHead:
        """Give what the head of a request settles, as it is now, and as `sorter` would sort it now."""
        if self._sorted_by != (sorter, sorter.lessons):
            self._known.clear()
            self._sorted_by = sorter, sorter.lessons
        key = _key_of_request(flow)
        head = None if key is None else self._known.get(key)
        if head is None:
            head = _request_head(flow, sorter)
            if key is not None:
                _remember(self._known, key, head, flow.request.headers.fields)
        return head


class AnswerHeads:
    """Reads the heads of answers."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._known: dict[_Key, AnswerHead] = {}

    def read(self, response: http.Response) -> AnswerHead:
        """Give what the head of an answer means, as it is now."""
        fields = response.headers.fields
        usual = _without_length(fields, _DATE)
        key = None if usual is None else (response.status_code, *usual)
        head = None if key is None else self._known.get(key)
        if head is None:
            head = _answer_head(response)
            if key is not None:
                _remember(self._known, key, head, fields)
        return head


def _request_head(flow: http.HTTPFlow, sorter: Sorter) -> RequestHead:
    request = request_of(flow)
    match where := sorter.sort(request, flow.client_conn.sni):
        case Refused(refusal=found):
            refusal: HttpRefusal | None = found
        case Held() | Watched():
            refusal = check_head(request)
        case _:
            refusal = None
    return RequestHead(request, where, refusal)


def _answer_head(response: http.Response) -> AnswerHead:
    status, headers = response.status_code, headers_of(response.headers)
    return AnswerHead(
        headers,
        classify_answer(status, headers),
        check_answer_head(status, headers),
        redirects_to(status, headers),
        any(name.lower() in PAST_THE_FENCE for name, _ in headers),
        type_as_judged(headers),
        single(headers, "mcp-session-id"),
    )


def _remember[Head](known: dict[_Key, Head], key: _Key, head: Head, fields: Fields) -> None:
    if sum(len(name) + len(value) for name, value in fields) > _LARGEST:
        return
    if len(known) >= _MOST:
        known.clear()
    known[key] = head


def _key_of_request(flow: http.HTTPFlow) -> _Key | None:
    """Give all that settles how a request is treated; None where it is to be read each time."""
    data = flow.request.data
    usual = _without_length(data.headers.fields, _NOTHING)
    if usual is None or data.trailers is not None or len(data.path) > _LARGEST:
        return None
    has_body = None if data.content is None else bool(data.content)  # once it came, it tells by itself
    line = (data.method, data.scheme, data.host, data.port, data.authority, data.path, data.http_version)
    return (*line, flow.client_conn.sni, *usual, has_body)


def _without_length(fields: Fields, besides: frozenset[bytes]) -> tuple[Fields, bool | None] | None:
    """Give the fields but `Content-Length` and those `besides`, and whether that says more than 0.

    None: there is more than one, or it is no number.
    """
    others: list[tuple[bytes, bytes]] = []
    has_content: bool | None = None
    for field in fields:
        name = field[0].lower()
        if name == b"content-length":
            if has_content is not None or not field[1].isdigit():
                return None
            has_content = field[1] != b"0"
        elif name not in besides:
            others.append(field)
    return tuple(others), has_content
