from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from agentfence.core.event_stream import (
    MOST_LINES,
    EventSplitter,
    Overlong,
    ServerEvent,
    harmless_event,
    message_event,
)


def split(stream: bytes, limit: int = 10_000, *, size: int | None = None) -> list[ServerEvent | Overlong]:
    splitter = EventSplitter(limit)
    size = size or len(stream) or 1
    return [event for at in range(0, len(stream), size) for event in splitter.feed(stream[at : at + size])]


def read(stream: bytes, *, size: int | None = None) -> list[tuple[bytes, bytes | None]]:
    return [(event.name, event.data) for event in split(stream, size=size) if isinstance(event, ServerEvent)]


@pytest.mark.parametrize(
    ("stream", "read_as"),
    [
        (b"data: {}\n\n", [(b"message", b"{}")]),
        (b"data:{}\r\n\r\n", [(b"message", b"{}")]),
        (b"data: {}\r\rdata: 1\r\r", [(b"message", b"{}"), (b"message", b"1")]),
        (b"data: a\r\n\ndata: b\n\r", [(b"message", b"a"), (b"message", b"b")]),
        (b"data: a\ndata: b\n\n", [(b"message", b"a\nb")]),
        (b"data\ndata:\n\n", [(b"message", b"\n")]),
        (b"data:  x\n\n", [(b"message", b" x")]),
        (b": alive\n\n", [(b"message", None)]),
        (b"event: ping\nid: 1\n\n", [(b"ping", None)]),
        (b"event: endpoint\ndata: /m\n\n", [(b"endpoint", b"/m")]),
        (b"event: x\nevent:\ndata: {}\n\n", [(b"message", b"{}")]),
        (b"event: x\nevent: y\ndata: {}\n\n", [(b"y", b"{}")]),
        (b"event\ndata: {}\n\n", [(b"message", b"{}")]),
        (b"Data: {}\n\n", [(b"message", None)]),
        (b" data: {}\n\n", [(b"message", None)]),
        (b"\n\n", [(b"message", None), (b"message", None)]),
        (b"\xef\xbb\xbfdata: {}\n\n", [(b"message", b"{}")]),
        (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [(b"message", b"a"), (b"message", None)]),
        (b"data: cut off\n", []),
        (b"", []),
    ],
)
@pytest.mark.parametrize("size", [None, 1, 2, 3])
def test_stream_is_read_as_browsers_read_it(
    stream: bytes, read_as: list[tuple[bytes, bytes | None]], size: int | None
) -> None:
    assert read(stream, size=size) == read_as


@pytest.mark.parametrize(
    ("stream", "is_inside"), [(b"", False), (b"data: a", True), (b"data: a\n", True), (b"data: a\n\n", False)]
)
def test_an_event_that_is_not_whole_yet_is_known(stream: bytes, is_inside: bool) -> None:
    splitter = EventSplitter(100)
    splitter.feed(stream)

    assert splitter.is_inside_event is is_inside


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"])
def test_only_line_ends_that_every_reader_knows_are_left(end: str) -> None:
    harmless = harmless_event(f": {end}data: 1{end}{end}\r\nid: 7\r\n\r\n".encode()).decode()

    assert harmless.splitlines() == harmless.split("\r\n")[:-1]
    assert harmless.endswith("\r\nid: 7\r\n\r\n")


@given(st.text(alphabet=st.sampled_from("a\u2028\u2029\x85é表\U0001f600")))
def test_harmless_event_has_the_same_data(text: str) -> None:
    (event,) = split(message_event(json.dumps({"text": text}, ensure_ascii=False).encode()))
    assert isinstance(event, ServerEvent)
    (harmless,) = split(harmless_event(event.raw))

    assert json.loads(harmless.data) == {"text": text}  # type: ignore[union-attr,arg-type]
    assert harmless == event or not {"\u2028", "\u2029", "\x85"}.isdisjoint(text)


@pytest.mark.parametrize(
    "twin", ["DATA: {}", " data: {}", "data : {}", "\ufeffdata: {}", "\tData\xa0: {}", "data\0"]
)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_that_only_some_readers_take_for_data_are_left_out(twin: str, end: str) -> None:
    (event, other) = split(f": a{end}{twin}{end}data: x{end}id: 1{end}{end}{twin}{end}{end}".encode())

    assert isinstance(event, ServerEvent)
    assert isinstance(other, ServerEvent)
    assert (event.raw, event.data) == (f": a{end}data: x{end}id: 1{end}{end}".encode(), b"x")
    assert (other.raw, other.data) == (end.encode(), None)


@pytest.mark.parametrize("line", [b": data: x", b"database: x", b"metadata: x", b"data", b"data:", b"other"])
def test_lines_that_nobody_takes_for_data_stay(line: bytes) -> None:
    (event,) = split(line + b"\n\n")

    assert isinstance(event, ServerEvent)
    assert event.raw == line + b"\n\n"


@pytest.mark.parametrize("line", [b":\n", b"x\n"])
def test_an_event_has_so_many_lines_at_most(line: bytes) -> None:
    message = b'data: {"id": 1}\n\n'
    most = line * (MOST_LINES - 2) + message
    first, second, third = split(most + line + most + message, limit=10_000_000, size=70_000)

    assert isinstance(first, ServerEvent)
    assert second == Overlong(b'{"id": 1}')
    assert third == ServerEvent(message, b"message", b'{"id": 1}')


def test_empty_piece_changes_nothing() -> None:
    splitter = EventSplitter(100)

    assert splitter.feed(b"data: a\r") == []
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\n") == []
    (event,) = splitter.feed(b"\r\n")
    assert event == ServerEvent(b"data: a\r\n\r\n", b"message", b"a")


@pytest.mark.parametrize(
    ("lines", "resuming"),
    [
        (b"id: 7\n", b"id: 7\n"),
        (b"retry:9\r\nid: 1\rid\n", b"retry:9\nid\n"),
        (b": id: 7\nidx: 7\n", b""),
    ],
)
def test_an_event_written_anew_resumes_where_it_did(lines: bytes, resuming: bytes) -> None:
    (event,) = split(lines + b"data: a\n\n")
    assert isinstance(event, ServerEvent)
    assert event.resuming == resuming

    assert message_event(b"b", event.resuming) == resuming + b"event: message\ndata: b\n\n"


def test_event_over_the_limit_is_given_by_the_ends_of_its_data() -> None:
    long = b"event: message\r\nid: 7\r\ndata: {" + b"x" * 20_000 + b"}\r\n\r\n"
    comment = b": " + b"x" * 50 + b"\n\n"

    first, second, third = split(b"\xef\xbb\xbf" + long + comment + b"data: a\n\n", 20, size=7)

    assert isinstance(first, Overlong)
    assert (first.ends[:2], first.ends[-2:], len(first.ends) < 10_000) == (b"{x", b"x}", True)
    assert second == Overlong(b"")
    assert third == ServerEvent(b"data: a\n\n", b"message", b"a")


def test_made_event_is_read_as_its_body() -> None:
    assert read(message_event(b'{"id":1}')) == [(b"message", b'{"id":1}')]


pieces = st.lists(
    st.sampled_from([b"\n", b"\r", b"\r\n", b"data: ", b"data:", b"event: ", b": c", b"x", b"\xef\xbb\xbf"])
    | st.binary(max_size=6)
)


@given(pieces, st.data())
@example([b"\r", b"\n", b"\r", b"\n"], None)
def test_how_the_stream_is_cut_changes_nothing(parts: list[bytes], data: st.DataObject | None) -> None:
    stream = b"".join(parts)
    size = 1 if data is None else data.draw(st.integers(1, max(1, len(stream))))

    assert read(stream, size=size) == read(stream)


def is_twin_of_data(line: bytes) -> bool:
    field = line.partition(b":")[0]
    return field != b"data" and re.fullmatch(rb"[^a-z]*data[^a-z]*", field, re.IGNORECASE) is not None


@given(pieces, st.integers(1, 9))
@example([b"\xef\xbb\xbf", b"data: ", b"\n", b"\n"], 1)
def test_events_are_the_stream_up_to_its_unfinished_end(parts: list[bytes], size: int) -> None:
    stream = b"".join(parts)
    assume(not any(map(is_twin_of_data, re.split(rb"\r\n|\r|\n", stream))))  # such lines are left out
    raw = b"".join(event.raw for event in split(stream, size=size) if isinstance(event, ServerEvent))

    assert stream.startswith(raw)
    rest = stream[len(raw) :]
    assert read(rest.removeprefix(b"\n") if raw.endswith(b"\r") else rest) == []
