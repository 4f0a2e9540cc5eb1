"""What came over a connection is read as the host reads it, with bounds, and chunks together."""

from __future__ import annotations

import h11
import pytest
from h11._readers import ChunkedReader, ContentLengthReader
from h11._receivebuffer import ReceiveBuffer
from hypothesis import given
from hypothesis import strategies as st

from agentfence.mitm.received import (
    MAX_HEAD,
    MOST_FIELDS,
    ChunkedBody,
    HeadTooLargeError,
    Received,
    merging,
)

PIECES = st.lists(st.sampled_from([b"a", b"b: c", b"\r\n", b"\n", b"\r", b" "]), max_size=12)
CHUNKS = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
SIZES = st.sampled_from([b"%x\r\n", b"%X\r\n", b"0%x\r\n", b"%x;a=b\r\n", b"%x \r\n", b"%x;\r\n"])
ENDS = st.sampled_from([b"\r\n", b"X: y\r\n\r\n", b"X: y\r\nZ: y\r\n\r\n", b"", b"X: y\r\n"])


@given(PIECES)
def test_lines_are_those_of_the_host(pieces):
    ours, hosts = Received(), ReceiveBuffer()
    for piece in pieces:
        ours += piece
        hosts += piece
        lines = hosts.maybe_extract_lines()

        assert ours.maybe_extract_lines() == (None if lines is None else [bytes(line) for line in lines])
        assert bytes(ours) == bytes(hosts)


def read_all(reader, received, pieces):
    """What a reader gives of a body that comes in pieces: its content, and how it ends."""
    content, end = b"", None
    try:
        for piece in pieces:
            received += piece
            while (event := reader(received)) is not None:
                if isinstance(event, h11.EndOfMessage):
                    return content, bool(event.headers), bytes(received)
                content += event.data
    except h11.RemoteProtocolError:
        end = "malformed"
    except h11.LocalProtocolError:
        end = "malformed"
    return content, end, None


def cut(octets, sizes):
    for size in sizes:
        yield octets[:size]
        octets = octets[size:]
    yield octets


@given(CHUNKS, SIZES, ENDS, st.lists(st.integers(1, 30), max_size=8))
def test_a_body_in_chunks_is_that_of_the_host(chunks, size, end, cuts):
    body = b"".join(size % len(chunk) + chunk + b"\r\n" for chunk in chunks) + size % 0 + end + b"POST"
    ours = read_all(ChunkedBody(), Received(), cut(body, cuts))

    assert ours == read_all(ChunkedReader(), ReceiveBuffer(), cut(body, cuts))
    assert ours[0] == b"".join(chunks)


@given(
    st.lists(
        st.sampled_from([b"1", b"2", b"a", b"\r\n", b"\r", b"\n", b";", b" ", b"0", b"g", b"-"]), max_size=14
    )
)
def test_what_is_no_body_in_chunks_is_none(pieces):
    content, end, _ = read_all(ChunkedBody(), Received(), [b"".join(pieces), b"\r\n" * 60])
    hosts_content, hosts_end, _ = read_all(ChunkedReader(), ReceiveBuffer(), [b"".join(pieces), b"\r\n" * 60])

    if end != "malformed":  # refused is more than by the host: a lone CR beside the size
        assert content == hosts_content
        assert hosts_end == end or (end is True and hosts_end == "malformed")  # trailers are not looked into


def test_chunks_are_given_together():
    received = Received(b"2\r\nab\r\n" * 1_000 + b"2\r\na")
    (content, _, _) = read_all(ChunkedBody(), received, [b""])
    reader = ChunkedBody()

    assert content == b"ab" * 1_000 + b"a"
    assert reader(Received(b"1\r\na\r\n1\r\nb\r\nzz\r\n")).data == b"ab"


def test_a_body_that_breaks_off_is_not_whole():
    with pytest.raises(h11.RemoteProtocolError):
        ChunkedBody().read_eof()


def test_other_bodies_are_read_by_the_host():
    other = ContentLengthReader(1)

    assert merging(other) is other
    assert isinstance(merging(ChunkedReader()), ChunkedBody)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_a_head_may_have_so_many_fields(end):
    most = b"GET / HTTP/1.1" + end + (b"a: b" + end) * MOST_FIELDS
    received = Received(most + end + b"body")

    assert len(received.maybe_extract_lines()) == MOST_FIELDS + 1
    assert bytes(received) == b"body"
    with pytest.raises(HeadTooLargeError) as raised:
        Received(most + b"c: d" + end + end).maybe_extract_lines()
    assert raised.value.beginning == [b"GET / HTTP/1.1", *[b"a: b"] * MOST_FIELDS]


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""])
def test_a_head_may_have_so_many_bytes(end):
    beginning = b"GET / HTTP/1.1\r\nX: "
    as_many = beginning + b"y" * (MAX_HEAD - len(beginning) - 4)

    assert Received(as_many + b"\r\n\r\n").maybe_extract_lines() == as_many.split(b"\r\n")
    with pytest.raises(HeadTooLargeError) as raised:
        Received(as_many + b"yyyyy" + end).maybe_extract_lines()
    assert raised.value.beginning == [b"GET / HTTP/1.1"]


def test_empty_lines_before_a_head_are_dropped():
    received = Received(b"\r\n\n\r\nGET")
    received.drop_empty_lines()

    assert bytes(received) == b"GET"
