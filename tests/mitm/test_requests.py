from __future__ import annotations

from agentfence.core.effects import Answer, Drop
from agentfence.mitm.requests import response_to


def test_refusal_says_in_its_headers_what_would_pass() -> None:
    response = response_to(Answer(b"{}", 405, headers=(("Allow", "POST, GET, DELETE"),)))

    assert (response.status_code, response.headers["allow"]) == (405, "POST, GET, DELETE")
    assert (response.headers["content-type"], response.content) == ("application/json", b"{}")


def test_refusal_of_a_body_that_is_too_large_ends_the_connection() -> None:
    assert response_to(Answer(b"{}", 413, close=True)).headers["connection"] == "close"


def test_dropped_message_is_accepted_without_a_body() -> None:
    response = response_to(Drop())

    assert (response.status_code, response.content) == (202, b"")
