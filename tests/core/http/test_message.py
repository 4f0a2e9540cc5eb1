"""Requests as values, and looking into headers."""

from __future__ import annotations

import pytest

from agentfence.core.http.message import HttpRequest, fold_name, list_members, mcp_headers, single, values

HEADERS = (("Mcp-Name", " a\t"), ("X", "1"), ("x", "2"), ("List", "A, b ,"), ("list", "C"), ("mcpx", "1"))


def test_values_are_found_in_any_case_and_in_order():
    assert values(HEADERS, "x") == ["1", "2"]
    assert values(HEADERS, "y") == []


def test_a_single_value_is_there_exactly_once_and_has_no_blanks_around_it():
    assert single(HEADERS, "mcp-name") == "a"
    assert single(HEADERS, "x") is None
    assert single(HEADERS, "y") is None


def test_members_of_a_list_come_from_all_its_lines():
    assert list_members(HEADERS, "list") == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["Mcp-Session-Id", "mcp_session_id", "MCP.Session.Id", "mcp~session!id"])
def test_names_that_a_cgi_server_mixes_up_fold_alike(name):
    assert fold_name(name) == "mcp-session-id"
    assert dict(mcp_headers(((name, "1"), *HEADERS))) == {"mcp-session-id": "1", "mcp-name": " a\t"}


@pytest.mark.parametrize(
    ("headers", "has_body", "expected"),
    [
        ((), None, False),
        ((("Content-Length", "0"),), None, False),
        ((("Content-Length", "00"),), None, True),
        ((("Content-Length", "7"),), None, True),
        ((("Transfer-Encoding", "chunked"),), None, True),
        ((("Transfer-Encoding", "chunked"),), False, False),
        ((), True, True),
    ],
)
def test_a_head_announces_a_body_until_it_is_known(headers, has_body, expected):
    assert HttpRequest("GET", "http", "h", 80, "/", headers, has_body).announces_body is expected
