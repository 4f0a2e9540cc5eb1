from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.event_stream import Overlong, ServerEvent
from agentfence.mitm.streams import EncodedTap, EndpointTap, EventRelay

OTHER = b": hello\n\ndata: word\n\nevent: other\ndata: endpoint\n\ndata: un"
ENDPOINT = b"event: endpoint\ndata: /messages?s=1\n\n"
MESSAGE = b'event: message\ndata: {"jsonrpc"'


class Reader:
    """What takes over: it marks what it reads."""

    def __init__(self, *, takes: bool = True) -> None:
        self.announced: list[bytes] = []
        self._takes = takes

    def __call__(self, announced: bytes):
        self.announced.append(announced)
        return (lambda piece: [piece.upper()]) if self._takes else None


def never(problem: str):
    raise AssertionError(problem)


class End:
    """What ends a stream."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def __call__(self, problem: str):
        self.problems.append(problem)
        return lambda _: ()


def feed(tap: EndpointTap | EncodedTap, text: bytes, size: int) -> bytes:
    return b"".join(b"".join(tap(text[i : i + size])) for i in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_stream_is_read_from_the_end_of_the_announcement_on(size: int, line_end: bytes) -> None:
    before = ENDPOINT.replace(b"\n", line_end)
    reader = Reader()

    passed = feed(EndpointTap(reader, never), b": hi" + line_end * 2 + before + MESSAGE, size)
    assert passed.upper() == (b": hi" + line_end * 2 + before + MESSAGE).upper()
    assert passed.startswith(b": hi" + line_end * 2 + before)
    assert passed.endswith(MESSAGE.upper())
    assert reader.announced == [b"/messages?s=1"]


@given(st.binary(max_size=200) | st.just(OTHER), st.integers(1, 50))
def test_stream_that_announces_nothing_passes_unchanged(text: bytes, size: int) -> None:
    assert feed(EndpointTap(Reader(takes=False), never), text, size) == text


@pytest.mark.parametrize("size", [1, 1000])
def test_each_piece_passes_at_once(size: int) -> None:
    tap = EndpointTap(Reader(), never)
    pieces = [OTHER[i : i + size] for i in range(0, len(OTHER), size)]

    assert [b"".join(tap(piece)) for piece in pieces] == pieces
    assert list(tap(b"")) == [], "an empty piece would end the body twice"


def test_announcement_that_is_not_taken_leaves_the_stream_alone() -> None:
    reader = Reader(takes=False)

    assert feed(EndpointTap(reader, never), ENDPOINT + ENDPOINT + MESSAGE, 5) == ENDPOINT + ENDPOINT + MESSAGE
    assert len(reader.announced) == 2


@pytest.mark.parametrize(
    "large",
    [
        b"event: endpoint\ndata: /" + b"x" * 20_000 + b"\n\n",
        b": " + b"x" * 20_000 + b"\nevent: endpoint\ndata: /x\n\n",
        b"data: /x\nevent: endpoint\n: " + b"x" * 20_000 + b"\n\n",
    ],
)
@pytest.mark.parametrize("size", [7, 999, 100_000])
def test_stream_ends_with_an_announcement_that_is_too_large_to_be_read(large: bytes, size: int) -> None:
    reader, end = Reader(), End()

    passed = feed(EndpointTap(reader, end), OTHER + b"\n\n" + large + ENDPOINT + MESSAGE, size)
    assert passed == OTHER + b"\n\n" + large.removesuffix(b"\n")
    assert (len(end.problems), reader.announced) == (1, [])


def test_large_event_of_another_name_passes() -> None:
    large = b"event: other\ndata: " + b"x" * 20_000 + b"\n\n"
    reader = Reader()

    assert feed(EndpointTap(reader, never), large + ENDPOINT + MESSAGE, 999).endswith(MESSAGE.upper())
    assert reader.announced == [b"/messages?s=1"]


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_encoded_stream_ends_where_it_announces_an_endpoint(size: int) -> None:
    end = End()
    tap = EncodedTap(["gzip"], end)
    before, after = gzip.compress(OTHER), gzip.compress(b"\n\n" + ENDPOINT + MESSAGE)

    assert feed(tap, before, size) == before
    assert not feed(tap, after, size).endswith(after)
    assert end.problems == ["it announces an endpoint in a content coding"]


def test_encoded_stream_that_cannot_be_read_ends() -> None:
    end = End()

    assert feed(EncodedTap(["gzip"], end), OTHER, 10) == b""
    assert end.problems == ["its content coding cannot be undone"]


@pytest.mark.parametrize("size", [1, 1000])
def test_other_encoded_streams_pass_as_they_come(size: int) -> None:
    packed = gzip.compress(OTHER * 100)
    tap = EncodedTap(["gzip"], never)
    pieces = [packed[i : i + size] for i in range(0, len(packed), size)]

    assert [b"".join(tap(piece)) for piece in pieces] == pieces
    assert list(tap(b"")) == []


def test_relay_passes_nothing_after_a_failure() -> None:
    def judge(event: ServerEvent | Overlong) -> bytes:
        assert isinstance(event, ServerEvent)
        if event.data == b"bad":
            raise RecursionError
        return event.raw

    relay = EventRelay(judge, lambda _: b"data: failed\n\n", bytes, 1000)

    assert relay(b"data: a\n\ndata: bad\n\ndata: b\n\n") == [b"data: a\n\ndata: failed\n\n"]
    assert relay(b"data: c\n\n") == []
    assert EventRelay(judge, lambda _: b"", bytes, 1000)(b"data: half") == []


@pytest.mark.parametrize(("last", "said"), [(b"data: half", [b"data: gone\n\n"]), (b"", [])])
def test_relay_that_ends_inside_an_event_says_that_the_server_is_gone(last: bytes, said: list[bytes]) -> None:
    relay = EventRelay(lambda _: b"", lambda _: b"", lambda: b"data: gone\n\n", 1000)
    relay(b"data: a\n\n" + last)

    assert relay(b"") == said
