from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.event_stream import Overlong, ServerEvent
from agentfence.mitm.streams import EndpointTap, EventRelay

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


def feed(tap: EndpointTap, text: bytes, size: int) -> bytes:
    return b"".join(b"".join(tap(text[i : i + size])) for i in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_stream_is_read_from_the_end_of_the_announcement_on(size: int, line_end: bytes) -> None:
    before = ENDPOINT.replace(b"\n", line_end)
    reader = Reader()

    passed = feed(EndpointTap(reader), b": hi" + line_end * 2 + before + MESSAGE, size)
    assert passed.upper() == (b": hi" + line_end * 2 + before + MESSAGE).upper()
    assert passed.startswith(b": hi" + line_end * 2 + before)
    assert passed.endswith(MESSAGE.upper())
    assert reader.announced == [b"/messages?s=1"]


@given(st.binary(max_size=200) | st.just(OTHER), st.integers(1, 50))
def test_stream_that_announces_nothing_passes_unchanged(text: bytes, size: int) -> None:
    assert feed(EndpointTap(Reader(takes=False)), text, size) == text


@pytest.mark.parametrize("size", [1, 1000])
def test_each_piece_passes_at_once(size: int) -> None:
    tap = EndpointTap(Reader())
    pieces = [OTHER[i : i + size] for i in range(0, len(OTHER), size)]

    assert [b"".join(tap(piece)) for piece in pieces] == pieces
    assert list(tap(b"")) == [], "an empty piece would end the body twice"


def test_announcement_that_is_not_taken_leaves_the_stream_alone() -> None:
    reader = Reader(takes=False)

    assert feed(EndpointTap(reader), ENDPOINT + ENDPOINT + MESSAGE, 5) == ENDPOINT + ENDPOINT + MESSAGE
    assert len(reader.announced) == 2


def test_announcement_longer_than_any_path_is_none() -> None:
    reader = Reader()
    long = b"event: endpoint\ndata: /" + b"x" * 20_000 + b"\n\n"

    assert feed(EndpointTap(reader), long + ENDPOINT + MESSAGE, 999).endswith(MESSAGE.upper())
    assert reader.announced == [b"/messages?s=1"]


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
