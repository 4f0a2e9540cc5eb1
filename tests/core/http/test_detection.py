"""Detection: the table, codings, beginnings, and bounds on hostile bodies."""

from __future__ import annotations

import gzip
import json
import time
import tracemalloc
import zlib
from pathlib import Path

import brotli
import pytest
import yaml
from backports import zstd
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core.http.answer_rules import passes_unread
from agentfence.core.http.detection import prefix_shows_message, shows_jsonrpc
from agentfence.core.revisions import METHODS

TABLE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "http" / "detection.yaml").read_text("utf-8"))
JSON = (("Content-Type", "application/json"),)
MESSAGE = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}'
OTHER = b'{"model":"m","input":"method"}'
MIB = 1024 * 1024


def deflate_bare(plain):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(plain) + packer.flush()


def coded(*codings):
    return (*JSON, *(("Content-Encoding", coding) for coding in codings))


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["id"])
def test_a_body_shows_a_message_where_the_table_says(case):
    body = case["body"].encode(case.get("encode", "utf-8"))
    headers = (("Content-Type", case["type"]),) if "type" in case else ()
    headers += tuple(case.get("headers", {}).items())

    assert shows_jsonrpc(body, headers, mcp_only=False) is case["listed"]
    assert shows_jsonrpc(body, headers, mcp_only=True) is case["unlisted"]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_of_any_revision_is_mcp(method):
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"taskId": "t"}}

    assert shows_jsonrpc(json.dumps(body).encode(), JSON, mcp_only=True)


PACKERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate bare": deflate_bare,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("name", PACKERS)
@pytest.mark.parametrize("mcp_only", [True, False])
def test_a_message_is_found_in_a_declared_coding_and_nothing_where_there_is_none(name, mcp_only):
    headers = coded(name.split()[0])

    assert shows_jsonrpc(PACKERS[name](MESSAGE), headers, mcp_only=mcp_only)
    assert not shows_jsonrpc(PACKERS[name](OTHER), headers, mcp_only=mcp_only)


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
def test_a_message_is_found_in_a_coding_that_its_first_bytes_show(name):
    assert shows_jsonrpc(PACKERS[name](MESSAGE), JSON, mcp_only=True)
    assert shows_jsonrpc(PACKERS[name](MESSAGE), coded("br"), mcp_only=True)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (MESSAGE, coded("gzip")),  # a server that ignores the header
        (MESSAGE, coded("quopri")),
        (gzip.compress(b"") + gzip.compress(MESSAGE), coded("gzip")),
        (gzip.compress(MESSAGE[:20]) + gzip.compress(MESSAGE[20:]), coded("GZIP")),
        (gzip.compress(MESSAGE)[:-4], coded("gzip")),
        (gzip.compress(MESSAGE) + b"junk", coded("gzip")),
        (gzip.compress(brotli.compress(MESSAGE)), coded("br", "gzip")),
        (gzip.compress(gzip.compress(gzip.compress(MESSAGE))), JSON),
        (gzip.compress(MESSAGE.decode().encode("utf-16")), coded("x-gzip")),
        (zstd.compress(b"") + zstd.compress(MESSAGE), coded("zstd")),
        (b"\x50\x2a\x4d\x18\x01\0\0\0x" + zstd.compress(MESSAGE), JSON),
        (gzip.compress(b" " * 16 * MIB + MESSAGE), coded("gzip")),
        (gzip.compress(b'{"id":1,"a":"' + b"x" * 16 * MIB + b'"}'), coded("gzip")),
    ],
)
def test_a_message_is_found_in_any_wrapping(body, headers):
    assert shows_jsonrpc(body, headers, mcp_only=True)
    assert shows_jsonrpc(body, headers, mcp_only=False)


@pytest.mark.parametrize("codings", [["gzip"], ["zstd"], ["gzip", "br"], ["utf-8", "br"]])
def test_a_coding_that_cannot_be_undone_counts_as_a_message_unless_the_body_is_plain(codings):
    assert shows_jsonrpc(b"\xff\xfe\xfd not packed", coded(*codings), mcp_only=True)
    assert not shows_jsonrpc(OTHER, coded(*codings), mcp_only=True)
    assert not shows_jsonrpc(OTHER, coded(*codings), mcp_only=False)


@pytest.mark.parametrize("coding", ["utf-8", "snappy", "none", ""])
def test_a_coding_that_no_server_undoes_is_nothing(coding):
    headers = (("Content-Type", "text/plain"), ("Content-Encoding", coding))

    assert not shows_jsonrpc(b"plain words", headers, mcp_only=True)
    assert shows_jsonrpc(MESSAGE, headers, mcp_only=True)


def test_telemetry_that_unpacks_to_much_is_nothing():
    telemetry = b'{"resourceSpans":[' + b'{"method":"GET"},' * 600_000 + b"{}]}"

    assert not shows_jsonrpc(gzip.compress(telemetry), coded("gzip"), mcp_only=True)


MANY = b",".join(b'"k%d":1' % number for number in range(110_000))
"""More members than any message may have."""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"{" + MANY + b"}", False),
        (b"{" + MANY + b',"jsonrpc":"2.0","id":1,"method":"tools/call"}', True),
        (b"{" + MANY + b',"\\u006asonrpc":"2.0","id":1,"method":"tools/call"}', True),
        (b'{"jsonrpc":"2.0","method":"tools/call",' + MANY + b"}", True),
        (b'{"a":"' + b":" * 110_000 + b'","jsonrpc":"2.0","id":1,"method":"tools/call"}', True),
        (b'{"a":"' + b":" * 110_000 + b'"}', False),
    ],
)
def test_a_message_is_found_among_more_than_is_read(body, expected):
    assert shows_jsonrpc(body, JSON, mcp_only=True) is expected
    assert prefix_shows_message(body) is expected
    assert passes_unread(400, body) is False


def test_an_answer_is_found_among_more_than_is_read_where_it_counts():
    body = b'{"id":1,"result":{' + MANY + b"}}"

    assert shows_jsonrpc(body, JSON, mcp_only=False)
    assert not shows_jsonrpc(body, JSON, mcp_only=True)


def test_telemetry_with_more_than_is_read_is_nothing():
    assert not prefix_shows_message(b'{"spans":[' + b'{"method":"GET"},' * 110_000)


@pytest.mark.parametrize(
    ("prefix", "headers", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"par', (), True),
        (b'{"id":1,"a":"xxxx', (), True),
        (b'{"ID" : "xxxx', (), True),
        (b'{"a":"x","params":{"a":[1,2', (), True),
        (b'{"method":', (), True),
        (b'[{"a":1},{"method":"x', (), True),
        (b'[[1,"x",true,{"p\\u0061rams":{', (), True),
        (b"  \r\n\t " * 100, (), True),
        (b"", (), True),
        (b'\xef\xbb\xbf{"id":1', (), True),
        ('{"id":1'.encode("utf-16"), (), True),
        (b'{"+AGkAZA-":1', (("Content-Type", "application/json; charset=utf-7"),), True),
        (b'{"a', (("Content-Type", "a; charset=a; charset=b; charset=c"),), True),
        (gzip.compress(MESSAGE + bytes(500))[:-40], (), True),
        (brotli.compress(MESSAGE), coded("br"), True),
        (b'{"model":"m","messages":[{"id":1,"method":"x","content":"xxx', (), False),
        (b'{"model":"m","metho', (), False),
        (b'{"model":"m","id"', (), True),
        (b'{"file":"xxxx', (), False),
        (b'{"a" "id":1', (), False),
        (b'{"a":nothing,"id":1', (), False),
        (b"[1,2,3,4", (), False),
        (b"[" * 300_000, (), False),
        (b"--boundary\r\n\r\n{", (), False),
        (b"\x89PNG\r\n\x1a\n\0\0", (), False),
        (b"plain words, and more of them", (), False),
    ],
)
def test_a_beginning_shows_a_message_by_its_top_keys(prefix, headers, expected):
    assert prefix_shows_message(prefix, headers) is expected


HOSTILE = {
    "arrays": b"[" * 500_000,
    "empty arrays": b"[" + b"[]," * 150_000 + b"1]",
    "numbers": b"[" + b"1," * 250_000 + b"1]",
    "members": b"{" + b'"a":1,' * 70_000 + b'"b":1}',
    "escaped members": b"{" + b'"\\u0041":1,' * 40_000 + b"]",
    "objects": b'{"a":[' + b'{"a":1},' * 130_000 + b"1]}",
    "one string": b'{"a":"' + b"x" * MIB + b'"}',
    "escapes, broken": b'{"a":"' + b"\\u0041" * 70_000,
    "methods, broken": b"x" + b'"method":"tools/' * 60_000,
    "combining marks": b'{"' + "\u0300".encode() * 500_000 + b'":1}',
    "digits": b'{"a":' + b"1" * MIB + b"}",
    "gzip members": gzip.compress(b"") * 50_000,
    "gzip bomb": gzip.compress(bytes(32 * MIB), 1),
    "zstd bomb": zstd.compress(bytes(300 * MIB)),
    "brotli bomb": brotli.compress(bytes(16 * MIB), quality=1),
    "deflate look-alike": b"\x78\x9c" + b"x" * MIB,
}
EVERYTHING_DECLARED = (
    ("Content-Type", "application/json; charset=utf-7; charset=utf-16"),
    ("Content-Encoding", "gzip, deflate, br, zstd"),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_read_in_bounds(name):
    start = time.perf_counter()
    for headers in (JSON, EVERYTHING_DECLARED):
        shows_jsonrpc(HOSTILE[name], headers, mcp_only=True)
        shows_jsonrpc(HOSTILE[name], headers, mcp_only=False)
    prefix_shows_message(HOSTILE[name], EVERYTHING_DECLARED)

    assert time.perf_counter() - start < 60  # a second or two; more only where something is quadratic


@pytest.mark.parametrize("name", ["empty arrays", "zstd bomb", "objects"])
def test_a_hostile_body_takes_bounded_memory(name):
    tracemalloc.start()
    shows_jsonrpc(HOSTILE[name], EVERYTHING_DECLARED, mcp_only=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 128 * MIB


keys = st.sampled_from(["method", "jsonrpc", "METHOD", "model", "id", "params", "\u017f", "meth\u00f6d"])
values = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=5), st.just("tools/call")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200)
@given(st.dictionaries(keys, values, max_size=4), st.booleans())
@example({"method": "tools/call", "METHOD": None}, True)
def test_json_shows_what_its_top_keys_say(members, ascii_only):
    body = json.dumps(members, ensure_ascii=ascii_only).encode()
    names = {key.lower(): value for key, value in members.items()}
    methods = [value for key, value in members.items() if key.lower() == "method"]

    assert shows_jsonrpc(body, JSON, mcp_only=False) is ("jsonrpc" in names or "method" in names)
    assert shows_jsonrpc(body, JSON, mcp_only=True) is ("tools/call" in methods)


@settings(max_examples=200)
@given(
    st.binary(max_size=60),
    st.sampled_from(["", "gzip", "br", "zstd", "deflate", "x"]),
    st.sampled_from(["utf-7", "utf-7-imap", "utf-16", "idna", ""]),
)
def test_any_body_is_read(body, coding, charset):
    headers = (("Content-Type", f"application/json; charset={charset}"), ("Content-Encoding", coding))
    for mcp_only in (True, False):
        shows_jsonrpc(body, headers, mcp_only=mcp_only)
    prefix_shows_message(body, headers)


@settings(max_examples=100)
@given(st.integers(0, len(MESSAGE)))
def test_a_message_that_is_cut_anywhere_behind_its_first_key_still_shows(length):
    assert prefix_shows_message(MESSAGE[:length]) is (length == 0 or length >= len('{"jsonrpc"'))
