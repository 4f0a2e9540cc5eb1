"""The quick look at how a message is framed, against mitmproxy's own."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mitmproxy import http, options, version
from mitmproxy.connection import Client
from mitmproxy.net.http import http1, validate
from mitmproxy.proxy.context import Context

from agentfence.mitm import framing
from agentfence.mitm.layers import _fork

LENGTHS = st.sampled_from(
    [b"0", b"9", b"010", b"+1", b"-1", b"1_0", b" 9", b"", b"9, 9", b"9" * 5_000, "٣".encode()]
)
FIELDS = st.lists(
    st.tuples(st.sampled_from([b"content-length", b"Content-Length"]), LENGTHS)
    | st.tuples(
        st.sampled_from([b"transfer-encoding", b"Transfer-Encoding", b"x"]),
        st.sampled_from([b"chunked", b"gzip", b"identity", b""]),
    )
    | st.tuples(
        st.sampled_from([b"connection", b"Connection"]),
        st.sampled_from([b"close", b"keep-alive", b"x, close", b""]),
    ),
    max_size=3,
).map(tuple)


def outcome(size, *messages):
    try:
        return size(*messages)
    except ValueError as error:
        return str(error)


@given(
    FIELDS,
    st.sampled_from(["POST", "GET", "HEAD", "CONNECT", "DELETE", "post"]),
    st.sampled_from([None, 100, 200, 204, 206, 304, 500]),
)
@example(((b"content-length", b"9"),), "POST", None)
@example(((b"content-length", b"9"),), "POST", 200)
def test_a_body_is_as_long_as_the_host_says(fields, method, status):
    request = http.Request.make(method, "http://h/")
    messages = (request,) if status is None else (request, http.Response.make(status))
    messages[-1].headers.fields = fields

    assert outcome(framing.body_size, *messages) == outcome(framing._host_size, *messages)


@given(FIELDS, st.sampled_from(["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", b"HTTP/1.1"]))
def test_a_connection_ends_when_the_host_says(fields, http_version):
    headers = http.Headers(fields)

    assert framing.closes_connection(http_version, headers) == framing._host_closes(http_version, headers)


@pytest.mark.parametrize("value", ["chunked", "gzip , chunked", "gzip" + " " * 200, b"x", "", "é"])
def test_a_transfer_coding_is_what_the_host_says(value):
    assert outcome(framing.transfer_coding, value) == outcome(framing._host_coding, value)


def test_a_long_transfer_coding_is_none(monkeypatch):
    monkeypatch.setattr(framing, "_host_coding", None)

    with pytest.raises(ValueError, match="unknown"):
        framing.transfer_coding("a" + " " * 250_000 + "b")


@pytest.fixture
def host(monkeypatch):
    """What mitmproxy itself asks."""
    monkeypatch.setattr(http1, "expected_http_body_size", framing._host_size)
    monkeypatch.setattr(http1, "connection_close", framing._host_closes)
    monkeypatch.setattr(validate, "parse_transfer_encoding", framing._host_coding)
    return http1


def test_the_host_looks_quickly_where_it_is_known(host):
    framing.spare_framing()

    assert host.expected_http_body_size is framing.body_size
    assert host.connection_close is framing.closes_connection
    assert validate.parse_transfer_encoding is framing.transfer_coding


def test_another_host_is_left_as_it_is(host, monkeypatch):
    monkeypatch.setattr(version, "VERSION", "13.0.0")
    framing.spare_framing()

    assert host.expected_http_body_size is framing._host_size
    assert host.connection_close is framing._host_closes
    assert validate.parse_transfer_encoding is framing._host_coding


def test_a_plain_message_does_not_take_the_long_way(monkeypatch):
    monkeypatch.setattr(framing, "_host_size", None)
    monkeypatch.setattr(framing, "_host_closes", None)
    request, response = http.Request.make("POST", "http://h/", b"abc"), http.Response.make(200, b"abcd")

    assert (framing.body_size(request), framing.body_size(request, response)) == (3, 4)
    assert not framing.closes_connection("HTTP/1.1", request.headers)


def test_a_forked_context_is_the_hosts():
    context = Context(Client(peername=("a", 1), sockname=("b", 2), timestamp_start=1), options.Options())
    context.layers.append(object())
    ours, hosts = _fork(context), context.fork()

    assert type(ours) is type(hosts)
    assert vars(ours) == vars(hosts)
    assert ours.layers is not context.layers
