"""What heads settle is remembered, and is what it would be if each was read for the first time."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from mitmproxy import http
from mitmproxy.test import tflow

from agentfence.core.http.traffic import Held, Refused, Sorter
from agentfence.core.policy.model import Server
from agentfence.mitm.heads import _LARGEST, _MOST, AnswerHeads, RequestHeads

SERVER = Server("files", "https://mcp.example.com/mcp")
LENGTHS = st.sampled_from([b"0", b"00", b"7", b"123", b" 9", b"9, 9", b"+1", b"", "٣".encode()])
FIELDS = st.lists(
    st.tuples(st.sampled_from([b"content-length", b"Content-Length", b"Content_Length"]), LENGTHS)
    | st.sampled_from(
        [
            (b"host", b"mcp.example.com"),
            (b"Host", b"elsewhere.example"),
            (b"content-type", b"application/json"),
            (b"content-type", b"text/event-stream"),
            (b"content-type", b"application/json; charset=utf-7"),
            (b"content-encoding", b"gzip"),
            (b"transfer-encoding", b"chunked"),
            (b"mcp-session-id", b"a"),
            (b"Mcp_Session_Id", b"a"),
            (b"mcp-protocol-version", b"2025-06-18"),
            (b"connection", b"content-length"),
            (b"x-http-method-override", b"PUT"),
            (b"upgrade", b"websocket"),
            (b"location", b"https://elsewhere.example/"),
            (b"alt-svc", b"h3=:443"),
            (b"date", b"today"),
            (b"x", b"a\rb"),
        ]
    ),
    max_size=6,
).map(tuple)
BODIES = st.sampled_from([None, b"", b"{}"])


def a_request(fields=(), body: bytes | None = None, method: str = "POST", path: str = "/mcp", **others: Any):
    flow = tflow.tflow()
    flow.request = http.Request.make(method, f"https://mcp.example.com{path}")
    flow.request.headers.fields = fields
    flow.request.data.content = body
    flow.client_conn.sni = None
    for name, value in others.items():
        setattr(flow.request.data, name, value)
    return flow


def an_answer(fields=(), status: int = 200) -> http.Response:
    response = http.Response.make(status)
    response.headers.fields = fields
    return response


def with_length(fields, length: bytes):
    """The same fields with another value where there is a length, or a date."""
    others = {b"content-length": length, b"date": b"tomorrow"}
    return tuple((name, others.get(name.lower(), value)) for name, value in fields)


def without_length(headers):
    return [field for field in headers if field[0].lower() != "content-length"]


def sorters() -> list[Sorter]:
    return [Sorter([SERVER]), Sorter([SERVER], reverse=True, allowed_hosts=["mcp.example.com"])]


@given(FIELDS, LENGTHS, BODIES, BODIES, st.sampled_from(["POST", "GET", "PUT"]))
@example(((b"content-length", b"7"),), b"0", None, None, "POST")
@example(((b"content-length", b"0"),), b"9", None, b"{}", "GET")
@example(((b"content-length", b"0"), (b"transfer-encoding", b"chunked")), b"0", None, b"", "POST")
def test_a_request_is_treated_as_if_it_were_the_first(fields, length, body, before, method):
    for sorter in sorters():
        heads = RequestHeads()
        heads.read(a_request(with_length(fields, length), before, method), sorter)
        flow = a_request(fields, body, method)

        found, expected = heads.read(flow, sorter), RequestHeads().read(flow, sorter)

        assert (found.sorted, found.refusal) == (expected.sorted, expected.refusal)
        assert found.request.announces_body == expected.request.announces_body
        assert without_length(found.request.headers) == without_length(expected.request.headers)


@given(FIELDS, LENGTHS, st.sampled_from([100, 101, 200, 202, 204, 301, 404]))
@example(((b"content-length", b"0"),), b"9", 200)
def test_an_answer_means_what_it_would_as_the_first(fields, length, status):
    heads = AnswerHeads()
    heads.read(an_answer(with_length(fields, length), status))

    found, expected = heads.read(an_answer(fields, status)), AnswerHeads().read(an_answer(fields, status))

    for name in ("kind", "problem", "location", "leads_past", "judged_type", "session_id"):
        assert getattr(found, name) == getattr(expected, name)


def test_requests_that_differ_in_their_length_alone_are_read_once() -> None:
    heads, (sorter, _) = RequestHeads(), sorters()
    fields = ((b"host", b"mcp.example.com"), (b"content-length", b"7"))

    first = heads.read(a_request(fields), sorter)

    assert heads.read(a_request(with_length(fields, b"70")), sorter) is first
    assert heads.read(a_request(fields, b"{}"), sorter) is heads.read(a_request(fields, b"{} "), sorter)
    assert heads.read(a_request(with_length(fields, b"0")), sorter) is not first
    assert heads.read(a_request(fields, path="/mcp?a"), sorter) is not first
    assert heads.read(a_request(fields, method="PUT"), sorter) is not first
    others = {"scheme": b"http", "host": "x", "port": 80, "authority": b"x", "http_version": b"HTTP/1.0"}
    for part, value in others.items():
        assert heads.read(a_request(fields, **{part: value}), sorter) is not first


def test_what_was_learned_since_counts() -> None:
    heads, (sorter, _) = RequestHeads(), sorters()
    flow = a_request(((b"host", b"mcp.example.com"), (b"content-type", b"image/png")), path="/messages")
    before = heads.read(flow, sorter).sorted

    sorter.learn_endpoint("mcp.example.com", 443, "/messages")

    assert not isinstance(before, Held)
    assert heads.read(flow, sorter).sorted == Held("files")
    assert heads.read(flow, Sorter([SERVER])).sorted == before


def test_the_name_that_tls_was_asked_for_counts() -> None:
    heads, (sorter, _) = RequestHeads(), sorters()
    fields = ((b"host", b"mcp.example.com"), (b"content-type", b"application/json"))
    heads.read(a_request(fields), sorter)
    flow = a_request(fields)
    flow.client_conn.sni = "elsewhere.example"

    assert isinstance(heads.read(flow, sorter).sorted, Refused)


def test_few_heads_are_kept_and_none_that_is_large() -> None:
    heads, answers, (sorter, _) = RequestHeads(), AnswerHeads(), sorters()
    for number in range(3 * _MOST):
        fields = ((b"x", b"%d" % number),)
        heads.read(a_request(fields), sorter)
        answers.read(an_answer(fields))
    large = ((b"x", b"a" * _LARGEST),)

    assert len(heads._known) <= _MOST
    assert len(answers._known) <= _MOST
    assert heads.read(a_request(large), sorter) is not heads.read(a_request(large), sorter)
    assert answers.read(an_answer(large)) is not answers.read(an_answer(large))
    path = "/" + "a" * _LARGEST
    assert heads.read(a_request(path=path), sorter) is not heads.read(a_request(path=path), sorter)
