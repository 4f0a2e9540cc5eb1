from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.envelope import Batch, Entry, Oversize, Single, Unparsed, messages_in, read_envelope
from agentfence.core.jsonrpc import Notification, Request, Response, parse_json, read_message

ENVELOPES = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "wire" / "reader_envelopes.yaml").read_text("utf-8")
)
PIECES = [
    *b'[ ] { } , : 1 null {} [] "id" "a" "method":"ping" "jsonrpc":"2.0" "id":1 "result":{}'.split(),
    b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}',
    b"\xff",
]


def summary(entry: Entry) -> list[Any]:
    match entry.message:
        case Request():
            kind = "request"
        case Notification():
            kind = "notification"
        case Response(is_error=is_error):
            kind = "error" if is_error else "result"
        case None:
            kind = "problem"
    assert (entry.problem is None) is (entry.message is not None)
    return [kind, entry.id]


@pytest.mark.parametrize("case", ENVELOPES, ids=lambda case: case["id"])
def test_body_is_sorted(case: dict[str, Any]) -> None:
    body = case["text"].encode()
    envelope = read_envelope(
        body,
        max_body=case.get("limit", 4_194_304),
        max_batch=case.get("members", 100),
        lenient_error_id=case.get("lenient", False),
    )

    match envelope:
        case Single(message):
            assert case["is"] == "single"
            assert message == read_message(json.loads(body), lenient_error_id=case.get("lenient", False))
        case Batch(entries, raw, size, duplicate_ids):
            assert case["is"] == "batch"
            assert case["entries"] == [summary(entry) for entry in entries]
            assert case.get("size", len(case["entries"])) == size
            assert case.get("duplicate", False) is duplicate_ids
            assert raw is body
        case Oversize(limit, size):
            assert case["is"] == "oversize"
            assert (case["limit"], len(body)) == (limit, size)
        case Unparsed(code, problem, found):
            assert case["is"] == "unparsed"
            assert (case["code"], case.get("answer_to")) == (code, found)
            assert problem


def test_a_quarter_of_the_envelopes_is_honest() -> None:
    first_refused = [case["is"] for case in ENVELOPES].index("oversize")

    assert first_refused * 4 >= len(ENVELOPES)


@given(st.binary(max_size=40) | st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), st.booleans())
@settings(max_examples=200)
def test_any_bytes_are_sorted(body: bytes, lenient: bool) -> None:
    envelope = read_envelope(body, max_body=100, max_batch=3, lenient_error_id=lenient)

    assert envelope == read_envelope(body, max_body=100, max_batch=3, lenient_error_id=lenient)
    assert isinstance(envelope, Oversize) is (len(body) > 100)
    if isinstance(envelope, Single | Batch):
        assert isinstance(parse_json(body), dict if isinstance(envelope, Single) else list)


@given(st.lists(st.sampled_from(PIECES[-4:-1]), min_size=1, max_size=5))
@settings(max_examples=50)
def test_member_of_a_batch_is_read_as_it_is_alone(members: list[bytes]) -> None:
    batch = read_envelope(b"[" + b",".join(members) + b"]", max_body=1000, max_batch=5)

    assert isinstance(batch, Batch)
    assert len(members) == batch.size
    for member, entry in zip(members, batch.entries, strict=True):
        match read_envelope(member, max_body=1000, max_batch=5):
            case Single(message):
                assert message == entry.message
            case Unparsed(code, problem, found):
                assert (-32600, entry.problem, entry.id) == (code, problem, found)


def test_messages_of_an_envelope_are_those_that_can_be_read() -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    found = {
        text: len(messages_in(read_envelope(text.encode(), max_body=200, max_batch=5)))
        for text in (json.dumps(ping), json.dumps([ping, 1]), "[]", "1", " " * 201)
    }

    assert list(found.values()) == [1, 1, 0, 0, 0]


def test_error_without_an_id_is_a_message_only_where_that_is_asked_for() -> None:
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}'

    assert isinstance(read_envelope(error, max_body=100, max_batch=1), Unparsed)
    assert isinstance(read_envelope(error, max_body=100, max_batch=1, lenient_error_id=True), Single)
