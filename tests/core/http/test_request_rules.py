"""Heads of requests: the tables, and that no head makes the rules raise."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.http.media_types import problem_with_json_type
from agentfence.core.http.message import HttpRequest, single
from agentfence.core.http.request_rules import check_envelope, check_head, check_host_and_origin

TABLE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "http" / "envelope.yaml").read_text("utf-8"))
JSON = [["Content-Type", "application/json"]]


def pairs(fields):
    return tuple((name, str(value)) for name, value in fields)


def request_of(case):
    method = case.get("method", "POST")
    headers = case.get("headers", JSON if method == "POST" else [])
    request = HttpRequest(
        method, "https", "h", 443, "/mcp", pairs(headers), trailers=pairs(case.get("trailers", []))
    )
    return request, b"{}" if case.get("body", method == "POST") else b""


def named(cases):
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


@named(TABLE["passes"])
def test_an_honest_request_passes(case):
    assert check_envelope(*request_of(case)) is None


@named(TABLE["refused"])
def test_a_request_with_two_readings_is_refused(case):
    refusal = check_envelope(*request_of(case))

    assert refusal is not None
    assert case["expect"] == f"{refusal.status} {refusal.reason_code}"
    assert refusal.code == (-32020 if refusal.reason_code == "header_mismatch" else -32600)


def test_a_405_says_what_is_allowed():
    refusal = check_head(HttpRequest("PUT", "https", "h", 443, "/mcp"))

    assert refusal is not None
    assert single(refusal.headers, "allow") == "POST, GET, DELETE"


def test_a_refusal_repeats_nothing_of_the_sender():
    for case in TABLE["refused"]:
        request, body = request_of(case)
        refusal = check_envelope(request, body)
        assert refusal is not None
        for _, value in request.headers:
            assert len(value) < 12 or value == "application/json" or value not in refusal.message


@named(TABLE["hosts"])
def test_host_and_origin_must_be_this_machines_or_allowed(case):
    headers = [(name.title(), case[name]) for name in ("host", "origin") if name in case]
    request = HttpRequest("POST", "http", "h", 80, "/mcp", tuple(headers))
    refusal = check_host_and_origin(request, TABLE["allowed_hosts"], TABLE["allowed_origins"])

    assert (refusal is None) is case["passes"]
    if refusal is not None:
        assert (refusal.status, refusal.reason_code) == (403, "host_refused")


@pytest.mark.parametrize("name", ["Host", "Origin"])
def test_a_second_host_or_origin_is_refused(name):
    request = HttpRequest(
        "POST",
        "http",
        "h",
        80,
        "/",
        (("Host", "localhost"), ("Origin", "http://localhost"), (name, "localhost")),
    )

    assert check_host_and_origin(request, (), ()) is not None


def test_nothing_but_this_machine_is_allowed_by_default():
    for host, origin, passes in [("localhost", "http://localhost", True), ("h", "http://h", False)]:
        request = HttpRequest("POST", "http", "h", 80, "/", (("Host", host), ("Origin", origin)))
        assert (check_host_and_origin(request, (), ()) is None) is passes


words = st.sampled_from(
    ["application/json", ";", "charset", "=", "utf-8", "utf-7", '"', "\\", ",", " ", "x", "*"]
)


@settings(max_examples=200)
@given(st.lists(words, max_size=9).map("".join))
def test_no_accepted_type_shows_another_charset_to_a_reader_that_only_splits(text):
    if problem_with_json_type(text) is not None:
        return
    charsets = [
        part.split("=", 1)[-1] for part in text.lower().replace(",", ";").split(";") if "charset" in part
    ]

    assert len(charsets) <= 1
    assert all(charset.strip(' "') in ("utf-8", "utf8") for charset in charsets)


fields = st.tuples(
    st.sampled_from(["Content-Type", "Mcp_Name", "Mcp-Name", "Transfer-Encoding", "Host", "Origin", "é", ""]),
    st.sampled_from(["application/json", "chunked", "\xff", "", "localhost", "http://localhost:1"]),
)


@settings(max_examples=200)
@given(
    st.sampled_from(["POST", "GET", "", "é"]), st.lists(fields, max_size=5).map(tuple), st.binary(max_size=2)
)
def test_any_head_is_judged(method, headers, body):
    request = HttpRequest(method, "http", "h", 80, "/", headers)
    refusal = check_envelope(request, body)
    check_host_and_origin(request, ["fence.example"], [])

    if refusal is None:
        names = [name.lower() for name, _ in headers]
        assert len(set(names) - {"é", ""}) == len(names)
