"""What exchanges of one MCP session over HTTP know of each other."""

from __future__ import annotations

from typing import Any

import pytest
from talking import (
    ALLOW,
    DENY,
    answer_events,
    begin_session,
    call,
    cancelled,
    codes,
    error,
    events,
    exchange,
    forwarded,
    kinds,
    notification,
    request,
    result,
)

from agentfence.core import http_sessions
from agentfence.core.http_sessions import HttpSessions, SessionKey
from agentfence.core.revisions import REVISIONS

NEWEST = REVISIONS[-1]
NOW = 1_700_000_000.0
MAY_SAMPLE = 'version: "1"\ndefaults: {decision: allow}\nmethods: {sampling/createMessage: allow}\n'


@pytest.mark.parametrize("id_", [1, "1"])
def test_request_with_an_id_that_is_in_flight_elsewhere_is_refused(id_: Any) -> None:
    first = begin_session()
    first.agent(call("read", 1))

    assert codes(exchange(first).agent(call("read", id_))) == [(id_, -32600)]


def test_id_may_be_used_again_once_its_exchange_is_over() -> None:
    first = begin_session()
    first.agent(call("read", 1))
    first.conversation.leave()
    again = exchange(first)

    assert kinds(again.agent(call("read", 1))) == ["Record", "Forward"]
    assert forwarded(again.server(result(1))) == [result(1)]
    assert not forwarded(exchange(first, get=True).server(result(1)))


def test_exchange_gets_no_answers_of_another() -> None:
    first = begin_session()
    first.agent(call("read", 1))
    other = exchange(first)
    other.agent(call("read", 2))

    assert not forwarded(other.server(result(1)))
    assert forwarded(other.server(result(2)))
    assert forwarded(first.server(result(1)))


@pytest.mark.parametrize("resumes", [False, True])
def test_stream_brings_the_answer_that_an_exchange_left_open(resumes: bool) -> None:
    first = begin_session()
    first.agent(call("read", 1))
    first.conversation.leave()
    stream = exchange(first, get=True, resumes=resumes)
    answered = stream.server(result(1))

    assert forwarded(answered) == [result(1)]
    (event,) = answer_events(answered)
    assert event["method"] == "tools/call"
    assert "uncorrelated" not in event


def test_answer_passes_once_and_again_only_where_a_stream_resumes() -> None:
    first = begin_session()
    first.agent(call("read", 1))

    assert forwarded(first.server(result(1)))
    assert not forwarded(first.server(result(1)))
    assert not forwarded(exchange(first, get=True).server(result(1)))
    replayed = exchange(first, resumes=True).server(result(1))
    assert forwarded(replayed) == [result(1)]
    assert answer_events(replayed)[0]["method"] == "tools/call"


def test_answer_to_a_call_from_before_the_fence_passes_inspected_where_a_stream_resumes() -> None:
    first = begin_session(DENY)
    answer = exchange(first, resumes=True).server(result(77))

    assert forwarded(answer) == [result(77)]
    assert answer_events(answer)[0]["uncorrelated"] is True
    asks = result(78, {"inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}})
    assert codes(exchange(first, resumes=True).server(asks)) == [(78, -32001)]


@pytest.mark.parametrize(
    "message", [result(5), error(5), error("5"), result("5"), result("5.0"), error(" 5")]
)
@pytest.mark.parametrize("resumes", [False, True])
def test_stream_cannot_answer_what_a_person_is_asked_about(message: Any, resumes: bool) -> None:
    first = begin_session()
    assert kinds(first.agent(call("send", 5))) == ["Ask"]

    assert not forwarded(exchange(first, get=True, resumes=resumes).server(message))


@pytest.mark.parametrize("message", [result(5), error(5)])
def test_stream_that_resumes_nothing_brings_no_answers_to_no_calls(message: Any) -> None:
    assert not forwarded(exchange(begin_session(), get=True).server(message))


def test_stream_may_tell_of_what_nobody_could_read() -> None:
    assert forwarded(exchange(begin_session(), get=True).server(error(None))) == [error(None)]


def test_result_and_error_together_end_the_call_with_an_error() -> None:
    first = begin_session()
    first.agent(call("read", 1))
    first.conversation.leave()

    both = {**result(1), "error": {"code": 1, "message": "no"}}
    assert codes(exchange(first, get=True).server(both)) == [(1, -32003)]


def test_revision_that_one_exchange_settles_holds_in_all() -> None:
    first = begin_session()
    first.settle("2025-06-18")
    other = exchange(first)

    assert other.conversation.negotiated is REVISIONS[3]
    refused = other.agent(call("read", 1), {"MCP-Protocol-Version": "2025-03-26"})
    assert codes(refused) == [(1, -32020)]


def test_cancellation_withdraws_the_question_about_a_call_of_another_exchange() -> None:
    first = begin_session()
    first.agent(call("send", 1))

    assert kinds(exchange(first).agent(cancelled(1))) == ["Record", "Withdraw", "Drop"]


def test_answer_to_a_cancelled_call_passes_where_it_was_posted_and_nowhere_else() -> None:
    first = begin_session()
    first.agent(call("read", 1))
    assert kinds(exchange(first).agent(cancelled(1))) == ["Record", "Forward"]
    assert forwarded(first.server(result(1)))

    second = exchange(first)
    second.agent(call("read", 2))
    second.conversation.leave()
    exchange(first).agent(cancelled(2))
    assert kinds(exchange(first, get=True).server(result(2))) == ["Drop"]


def test_agent_answers_what_the_server_asked_on_any_stream_and_only_once() -> None:
    first = begin_session(MAY_SAMPLE)
    asked = exchange(first, get=True).server(request("sampling/createMessage", 7))
    assert kinds(asked) == ["Record", "Forward"]

    assert forwarded(exchange(first).agent(result(7)))
    assert kinds(exchange(first).agent(result(7))) == ["Record", "Drop"]
    assert kinds(exchange(first).agent(result(8))) == ["Record", "Drop"]


def test_agents_answer_passes_where_the_fence_may_not_have_seen_the_question() -> None:
    assert forwarded(begin_session(is_known_whole=False).agent(result(7)))


def test_request_of_a_server_may_come_again_on_a_resumed_stream() -> None:
    first = begin_session(MAY_SAMPLE)
    exchange(first, get=True).server(request("sampling/createMessage", 7))

    again = exchange(first, resumes=True).server(request("sampling/createMessage", 7))
    assert kinds(again) == ["Record", "Forward"]


def test_agent_refuses_for_the_fence_what_a_server_may_not_ask() -> None:
    first = begin_session(DENY)
    (asked,) = forwarded(exchange(first, get=True).server(request("sampling/createMessage", 7)))
    assert asked["method"] == "agentfence/refused"

    assert forwarded(exchange(first).agent(error(7, -32601)))


def test_notifications_pass_on_all_streams() -> None:
    first = begin_session(DENY)
    for stream in (exchange(first, get=True), exchange(first, resumes=True), first):
        assert forwarded(stream.server(notification("notifications/message", level="info", data=1)))


def test_what_a_session_keeps_is_bounded() -> None:
    first = begin_session(ALLOW)
    for number in range(200):
        other = exchange(first)
        other.agent(call("read", number))
        if number % 2:
            other.server(result(number))
        other.conversation.leave()
    long = exchange(first)
    long.agent(call("read", "x" * 257))
    long.conversation.leave()
    session = first.over_http
    assert session is not None

    assert session.in_exchanges == {}
    assert session.find_sent(198) is not None
    assert session.find_sent(0) is None
    assert session.find_sent("x" * 257) is None
    assert session.find_answered(199) is not None
    assert session.find_answered(1) is None


def test_servers_oldest_questions_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_sessions, "_MOST_OF_SERVER", 2)
    first = begin_session(MAY_SAMPLE)
    for id_ in (1, 2, 3):
        assert forwarded(exchange(first, get=True).server(request("sampling/createMessage", id_)))

    assert events(exchange(first).agent(result(1)))[0]["reason_code"] == "response_unmatched"
    assert forwarded(exchange(first).agent(result(3)))


def key(session_id: str, origin: str = "https://a", credential: str = "c") -> SessionKey:
    return SessionKey(origin, credential, session_id)


def settled(sessions: HttpSessions, key: SessionKey, time: float = NOW) -> Any:
    session = sessions.find(key, "agent", time)
    return None if session is None else session.negotiated


def make(*ids: str) -> HttpSessions:
    sessions = HttpSessions()
    for id_ in ids:
        sessions.begin(key(id_), NEWEST, http_sessions.requests_of_server(), "agent", NOW)
    return sessions


def test_session_id_means_nothing_elsewhere() -> None:
    sessions = make("1")

    assert settled(sessions, key("1")) is NEWEST
    assert settled(sessions, key("2")) is None
    assert settled(sessions, key("1", origin="https://b")) is None
    assert settled(sessions, key("1", credential="d")) is None


def test_session_id_that_no_server_has_is_not_remembered() -> None:
    sessions = make("x" * 1_024, "x" * 1_025)

    assert settled(sessions, key("x" * 1_024)) is NEWEST
    assert sessions.find(key("x" * 1_025), "agent", NOW) is None


def test_session_expires_unused() -> None:
    assert settled(make("1"), key("1"), NOW + 24 * 3_600) is NEWEST
    assert settled(make("1"), key("1"), NOW + 24 * 3_600 + 1) is None


def test_session_is_forgotten_on_demand() -> None:
    sessions = make("1")
    sessions.forget(key("1"))
    sessions.forget(key("2"))

    assert settled(sessions, key("1")) is None


@pytest.mark.parametrize("flooder", ["flooder", "agent"])
def test_agent_that_makes_up_sessions_pushes_out_only_its_own(flooder: str) -> None:
    """Not even one that no address tells from the victim, as on one machine."""
    sessions = make("victim")
    for number in range(2 * http_sessions._MAX_SESSIONS_OF_ONE):
        sessions.find(key(str(number)), flooder, NOW)

    assert settled(sessions, key("victim")) is NEWEST
    assert len(sessions._sessions) == 1 + http_sessions._MAX_SESSIONS_OF_ONE


def test_session_keeps_what_the_server_asked_while_it_began() -> None:
    sessions, asked = HttpSessions(), http_sessions.requests_of_server()
    sessions.begin(key("1"), NEWEST, asked, "agent", NOW)
    sessions.begin(key("1"), REVISIONS[0], http_sessions.requests_of_server(), "agent", NOW)
    session = sessions.find(key("1"), "agent", NOW)

    assert session is not None
    assert session.from_server is asked
    assert session.negotiated is REVISIONS[0]
    assert session.is_known_whole
