"""Answers: the tables, and codings that are undone or refused."""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from pathlib import Path

import brotli
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.errors import ProtocolViolation
from agentfence.core.http.answer_rules import (
    PAST_THE_FENCE,
    AnswerKind,
    check_answer_head,
    classify_answer,
    decode_answer,
    may_be_message,
    passes_unawaited,
    passes_unread,
    type_as_judged,
    without_line_ends,
)

TABLE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "http" / "answers.yaml").read_text("utf-8"))
BODY = b'{"jsonrpc":"2.0","id":1,"result":{}}'


def headers_of(case):
    return tuple((name, value) for name, value in case["headers"])


def named(section):
    return pytest.mark.parametrize("case", TABLE[section], ids=[case["id"] for case in TABLE[section]])


@named("kinds")
def test_an_answer_is_what_its_clients_take_it_for(case):
    assert classify_answer(case.get("status", 200), headers_of(case)) is AnswerKind(case["expect"])


@named("heads")
def test_an_answer_that_cannot_be_judged_does_not_pass(case):
    problem = check_answer_head(
        case.get("status", 200), headers_of(case), is_websocket=case.get("websocket", False)
    )

    assert (problem is None) is case["passes"]


@named("values")
def test_no_client_finds_a_header_in_another_ones_value(case):
    assert without_line_ends(case["value"]) == case["becomes"]


@named("types")
def test_a_client_reads_an_answer_as_the_utf_8_that_it_was_judged_as(case):
    declared = tuple(("Content-Type", text) for text in case["declared"])

    assert type_as_judged(declared) == case["becomes"]


@named("errors")
def test_an_error_answer_passes_unread_unless_it_holds_a_result(case):
    assert passes_unread(case["status"], case["body"].encode()) is case["passes"]


def packed(content: bytes) -> bytes:
    """The same octets whenever it is asked, as tests are named by them."""
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_result_is_found_in_a_coded_error_answer(pack):
    assert passes_unread(400, pack(BODY)) is False
    assert passes_unread(400, pack(b'{"error":{}}'), (("Content-Encoding", "gzip"),)) is True


def test_an_error_answer_that_unpacks_to_too_much_is_judged():
    assert passes_unread(400, packed(bytes(9 * 1024 * 1024))) is False


def test_a_very_large_error_answer_is_judged():
    assert passes_unread(400, b" " * 8_388_608) is True
    assert passes_unread(400, b" " * 8_388_609) is False


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        (b"{}", True),
        (b"null", True),
        (b'{"status":"ok"}', True),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', False),
        (b'{"id":1,"result":{}}', False),
        (b"{", False),
        (b" " * 8_388_609, False),
    ],
)
def test_an_answer_that_nobody_waits_for_passes_when_it_is_no_message(body, passes):
    assert passes_unawaited(body, (("Content-Type", "application/json"),)) is passes


def test_a_very_large_event_is_judged_whatever_its_name():
    assert may_be_message(b"log", b"a" * 8_388_608) is False
    assert may_be_message(b"log", b"a" * 8_388_609) is True


@pytest.mark.parametrize(
    ("declared", "body"),
    [
        ("gzip", packed(BODY)),
        ("X-GZIP", packed(BODY)),
        ("gzip", packed(BODY[:9]) + packed(BODY[9:])),
        ("deflate", zlib.compress(BODY)),
        ("br", brotli.compress(BODY)),
        ("br, gzip", packed(brotli.compress(BODY))),
        ("identity", BODY),
        ("", BODY),
    ],
)
def test_a_coded_answer_is_undone(declared, body):
    assert decode_answer(body, (("Content-Encoding", declared),), len(BODY) + 30) == BODY


@pytest.mark.parametrize(
    ("declared", "body", "message"),
    [
        ("gzip", BODY, "cannot be undone"),
        ("gzip", packed(BODY)[:-3], "cannot be undone"),
        ("gzip", packed(BODY) + b"junk", "cannot be undone"),
        ("quopri", BODY, "cannot be undone"),
        ("gzip, gzip, gzip, gzip", BODY, "cannot be undone"),
        ("gzip", packed(bytes(70)), "over the limit of 66 bytes"),
    ],
)
def test_a_coded_answer_that_cannot_be_undone_is_refused(declared, body, message):
    with pytest.raises(ProtocolViolation, match=message) as caught:
        decode_answer(body, (("Content-Encoding", declared),), len(BODY) + 30)

    assert caught.value.code == -32003


def test_an_answer_keeps_what_does_not_lead_past_the_fence():
    assert PAST_THE_FENCE == ("alt-svc",)


@settings(max_examples=100)
@given(st.binary(max_size=60), st.sampled_from(["gzip", "deflate", "br", "zstd", "", "x"]))
def test_any_answer_is_decoded_or_refused(body, declared):
    with suppress(ProtocolViolation):
        assert len(decode_answer(body, (("Content-Encoding", declared),), 100)) <= 100
    passes_unread(400, body)


@pytest.mark.parametrize(
    ("name", "data", "may"),
    [
        (b"message", b"1", True),
        (b"message", b" \n", False),
        (b" message ", BODY, True),
        (b"endpoint", BODY, True),
        (b"endpoint", b"/messages?s=1", False),
        (b"price", b'{"price": 1}', False),
    ],
)
def test_an_event_that_some_client_takes_for_a_message_may_be_one(name, data, may):
    assert may_be_message(name, data) is may
