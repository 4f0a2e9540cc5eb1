from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import (
    ALLOW,
    ASK,
    DENY,
    MIXED,
    Talk,
    answer_events,
    as_bytes,
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

from agentfence.core.answers import post_failed, refuse_answer, server_gone, unread_answer
from agentfence.core.calls_in_flight import Stage
from agentfence.core.effects import Withdraw
from agentfence.core.session import Conversation, Transport

READ = call("read", 1)
DENIED = {"inputRequests": {"a": {"method": "sampling/createMessage"}}}


@pytest.fixture
def talk() -> Talk:
    talk = Talk(ALLOW)
    talk.agent(READ)
    return talk


@pytest.fixture
def over_http() -> Talk:
    talk = Talk(ALLOW, transport=Transport.HTTP)
    talk.agent(READ)
    return talk


def test_answer_passes_once_and_has_no_event(talk: Talk) -> None:
    assert kinds(talk.server(result(1))) == ["Forward"]

    late = talk.server(result(1))
    assert kinds(late) == ["Record", "Drop"]
    assert events(late)[0]["reason_code"] == "response_unmatched"


def test_answer_passes_as_it_came(over_http: Talk) -> None:
    body = b'{"jsonrpc":"2.0","result":{ "n": 1.50 },\r"id":1}'

    assert over_http.server(body)[-1].body is body  # type: ignore[union-attr]


def test_line_passes_without_what_some_readers_take_for_its_end(talk: Talk) -> None:
    _, forward = talk.server('{"jsonrpc":"2.0",\r"id":1,"result":"\u2028"}')

    assert forward.body == b'{"jsonrpc":"2.0", "id":1,"result":"\\u2028"}'  # type: ignore[union-attr]


def test_answer_with_the_id_in_another_type_is_the_answer(talk: Talk) -> None:
    assert forwarded(talk.server(result("1"))) == [result("1")]


@pytest.mark.parametrize("id_", [None, 9, "server-error"])
def test_error_that_belongs_to_no_call_passes_and_ends_none(talk: Talk, id_: Any) -> None:
    assert forwarded(talk.server(error(id_))) == [error(id_)]
    assert forwarded(talk.server(result(1))) == [result(1)]


def test_error_without_an_id_passes(talk: Talk) -> None:
    message = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "m"}}

    assert forwarded(talk.server(message)) == [message]


@pytest.mark.parametrize("id_", [1, "1", "01", " 1"])
def test_error_for_a_call_that_was_not_sent_does_not_pass(id_: Any) -> None:
    talk = Talk()
    talk.agent(call("send", 1))

    assert kinds(talk.server(error(id_))) == ["Record", "Drop"]


@pytest.mark.parametrize("id_", [None, "server-error"])
def test_error_that_belongs_to_no_call_may_ask_for_nothing(talk: Talk, id_: Any) -> None:
    asking = error(id_, -32042, data={"elicitations": [{"mode": "url", "url": "https://a"}]})

    assert kinds(talk.server(asking)) == ["Record", "Drop"]


def test_tools_that_can_only_be_denied_are_left_out_of_lists() -> None:
    listed = {"tools": [{"name": "read"}, {"name": "rm"}, {"name": "send"}]}
    for policy, shown in (
        (MIXED, ["read", "send"]),
        (MIXED + "hide_denied: false\n", ["read", "rm", "send"]),
        (MIXED + "mode: observe\n", ["read", "rm", "send"]),
    ):
        talk = Talk(policy)
        talk.agent(request("tools/list", 1))

        (answer,) = forwarded(talk.server(result(1, listed)))
        assert [tool["name"] for tool in answer["result"]["tools"]] == shown


def test_answer_to_a_cancelled_call_is_dropped_and_frees_its_id(talk: Talk) -> None:
    talk.agent(cancelled(1))
    assert kinds(talk.server(result(1))) == ["Drop"]

    assert forwarded(talk.agent(READ))


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}',
        b'{"jsonrpc":"2.0","result":NaN,"id":1}',
        b'{"id":1,"result":{}}',
        b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]',
        b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":7,"result":{}}]',
        b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":7,"method":"roots/list"}]',
        b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"vendor/x"}]',
        b'[{"jsonrpc":"2.0","id":1,"result":{"inputRequests":{"a":{"method":"roots/list"}}}}]',
        b'[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}]',
    ],
)
def test_answer_that_clients_may_read_in_two_ways_becomes_an_error(talk: Talk, body: bytes) -> None:
    effects = talk.server(body)

    assert kinds(effects) == ["Record", "Forward"]
    assert codes(effects) == [(1, -32003)]
    assert events(effects)[0]["reason_code"] == "answer_refused"
    assert events(effects)[0]["call_id"] == "call-1"
    assert not forwarded(talk.server(result(1)))


@pytest.mark.parametrize(
    "body",
    [
        b"log line",
        b'{"jsonrpc":"2.0","method":1}',
        b"[]",
        b'{"jsonrpc":"2.0","id":5,"result":{},"params":{}}',
    ],
)
def test_what_answers_no_call_ends_none(talk: Talk, body: bytes) -> None:
    assert kinds(talk.server(body)) == ["Record", "Drop"]
    assert forwarded(talk.server(result(1)))


def test_unreadable_answer_over_http_ends_what_was_posted(over_http: Talk) -> None:
    effects = over_http.server(b'{"result":NaN}')
    assert codes(effects) == [(1, -32003)]

    (event,), (answer,) = events(effects), forwarded(effects)
    assert (event["direction"], event["reason_code"]) == ("to_client", "answer_refused")
    assert answer["error"]["data"]["agentfence"]["reason_code"] == "answer_refused"
    assert answer["error"]["data"]["agentfence"]["call_id"] == event["call_id"]
    assert "not strict JSON" in event["reason"]


def test_answer_of_a_call_may_be_larger_than_a_list_of_tools(talk: Talk) -> None:
    large = result(1, {"tools": [{"name": "x" * 3_000}] * 2_100})

    assert forwarded(talk.server(large)) == [large]


def test_log_line_in_a_stream_ends_nothing(over_http: Talk) -> None:
    assert kinds(over_http.server(b"ping")) == ["Record", "Drop"]
    assert kinds(over_http.server(b'{"jsonrpc":"2.0","method":1}')) == ["Record", "Drop"]
    assert forwarded(over_http.server(result(1)))


def test_post_that_the_server_did_not_take_ends_its_own_calls_alone(over_http: Talk) -> None:
    over_http.agent(call("read", 5))
    posted = as_bytes([call("read", 5), notification("x"), call("read", 6)])

    gone = post_failed(over_http.gate, posted, over_http.conversation, over_http.circumstances, "refused")
    assert codes(gone) == [(5, -32002)]
    assert [event["status"] for event in answer_events(gone)] == ["unanswered"]
    assert [message["error"]["message"] for message in forwarded(gone)] == ["refused"]
    assert post_failed(over_http.gate, posted, over_http.conversation, over_http.circumstances, "") == ()
    assert len(over_http.conversation.from_client) == 1


@pytest.mark.parametrize(("status", "left"), [(200, 1), (202, 1), (399, 1), (400, 0), (503, 0)])
def test_answer_that_is_no_message_ends_its_call_where_it_is_an_error(
    status: int, left: int, over_http: Talk
) -> None:
    effects = unread_answer(over_http.gate, over_http.conversation, over_http.circumstances, status, 3)

    assert [event["http_status"] for event in answer_events(effects)] == [status]
    assert len(over_http.conversation.from_client) == left


def test_unreadable_answer_on_stdio_could_be_anybodys(talk: Talk) -> None:
    assert kinds(talk.server(b'{"result":NaN}')) == ["Record", "Drop"]


def test_refused_answer_may_be_known_by_its_ends_alone(talk: Talk) -> None:
    body, conversation = b'{"result":"xxxxxx,"jsonrpc":"2.0","id":1}', talk.conversation
    effects = refuse_answer(talk.gate, body, conversation, talk.circumstances, "it is too long")

    assert codes(effects) == [(1, -32003)]
    assert "it is too long" in forwarded(effects)[0]["error"]["message"]


def test_refused_answer_is_no_question_about_another_call() -> None:
    talk = Talk()
    talk.agent(call("send", 1))
    conversation = talk.conversation

    assert kinds(
        refuse_answer(talk.gate, b'{"id":1,"result":NaN}', conversation, talk.circumstances, "x")
    ) == [
        "Record",
        "Drop",
    ]
    assert conversation.from_client.find(1).stage is Stage.ASKED  # type: ignore[union-attr]


def test_error_of_the_fence_has_the_revision_of_the_call() -> None:
    talk = Talk(ALLOW)
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    talk.agent(request("tools/call", 1, name="read", _meta=meta))
    talk.agent(request("ping", 2))

    assert codes(talk.server(b'{"id":1,"result":NaN}')) == [(1, -31003)]
    assert codes(server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended")) == [(2, -32002)]


def test_server_that_goes_ends_the_calls_and_the_questions() -> None:
    talk = Talk()
    talk.agent(READ)
    talk.agent(call("send", "2"))
    effects = server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended")

    assert kinds(effects) == ["Forward", "Withdraw", "Forward"]
    assert codes(effects) == [(1, -32002), ("2", -32002)]
    (withdrawn,) = [effect.call_id for effect in effects if isinstance(effect, Withdraw)]
    told = [message["error"] for message in forwarded(effects)]
    assert [error["message"] for error in told] == ["it ended"] * 2
    assert [error["data"]["agentfence"]["call_id"] for error in told] == ["call-1", withdrawn]
    assert server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended") == ()


# arrays


def test_array_of_answers_passes_where_arrays_are_known() -> None:
    talk = Talk(ALLOW, {"on_batch": "evaluate"})
    talk.agent([READ, call("read", 2)])
    answer = [
        result(2),
        error(1),
        notification("notifications/progress", progress=1),
        error(None),
        error("x"),
    ]

    assert forwarded(talk.server(answer)) == [answer]
    assert kinds(talk.server(result(1))) == ["Record", "Drop"]


def test_array_is_refused_where_there_are_none() -> None:
    talk = Talk(ALLOW)
    talk.settle("2025-06-18")
    talk.agent(READ)

    assert codes(talk.server([result(1)])) == [(1, -32003)]


def test_refused_array_ends_all_its_calls() -> None:
    for wrong in (7, request("roots/list", 5)):
        talk = Talk(ALLOW, {"on_batch": "evaluate"})
        talk.agent([READ, call("read", "2")])

        assert codes(talk.server([result("2"), result(1), wrong])) == [("2", -32003), (1, -32003)]


# a server's own messages


def test_request_of_a_server_is_judged_and_recorded(talk: Talk) -> None:
    effects = talk.server(request("roots/list", 5))

    assert kinds(effects) == ["Record", "Forward"]
    assert events(effects)[0]["request_id"] == 5


def test_request_with_an_id_that_the_server_still_waits_for_is_refused(talk: Talk) -> None:
    talk.server(request("roots/list", 5))

    assert codes(talk.server(request("roots/list", "5"))) == [("5", -32600)]


def test_notification_of_the_protocol_passes_without_an_event() -> None:
    talk = Talk(DENY)

    assert kinds(talk.server(notification("notifications/progress", progress=1))) == ["Forward"]
    assert kinds(talk.server(notification("vendor/x"))) == ["Record", "Drop"]


def test_notification_with_denied_requests_inside_is_dropped() -> None:
    talk = Talk(DENY)
    inner = notification("notifications/tasks", taskId="t", **DENIED)

    assert kinds(talk.server(inner)) == ["Record", "Drop"]


def test_server_cancels_its_own_request(talk: Talk) -> None:
    asking = Talk()
    asking.server(request("sampling/createMessage", 5))
    assert asking.server(cancelled(5))[0] == Withdraw("call-1")
    assert kinds(asking.server(cancelled(5))) == ["Withdraw", "Drop"]

    talk.server(request("roots/list", 5))
    assert kinds(talk.server(cancelled(5))) == ["Forward"]
    assert forwarded(talk.agent(result(5)))


def test_server_ends_what_an_agent_listens_to() -> None:
    talk = Talk(ALLOW)
    talk.agent(request("subscriptions/listen", 1))
    talk.agent(call("read", 2))

    assert kinds(talk.server(cancelled(1))) == ["Forward"]
    assert kinds(talk.server(cancelled(2))) == ["Forward"]
    assert len(talk.conversation.from_client) == 1
    assert forwarded(talk.server(result(2))), "a server cannot cancel calls"


def test_list_on_a_resumed_stream_is_known_by_what_it_holds() -> None:
    talk = Talk(MIXED, transport=Transport.HTTP)
    talk.conversation.carries_other_answers = talk.conversation.resumes = True

    (answer,) = forwarded(talk.server(result(9, {"tools": [{"name": "read"}, {"name": "rm"}]})))

    assert answer["result"]["tools"] == [{"name": "read"}]
    assert talk.session.tools.find("", "rm") is not None


def test_stream_that_resumes_another_brings_answers_to_unknown_calls() -> None:
    talk = Talk(DENY, transport=Transport.HTTP)
    talk.conversation.carries_other_answers = True
    assert not forwarded(talk.server(result(1)))
    talk.conversation.resumes = True

    assert forwarded(talk.server(result(1))) == [result(1)]
    assert codes(talk.server(result(2, DENIED))) == [(2, -32001)]
    assert forwarded(talk.server(error(None))) == [error(None)]
    assert forwarded(talk.server(result(3, {"task": {"taskId": "t"}})))
    assert talk.session.tasks_at_servers.find("", "t") is not None


values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["2.0", "ping", "tools/call", "t"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["jsonrpc", "id", "method", "params", "result", "error", "inputRequests", "task"]
            ),
            inner,
        )
    ),
    max_leaves=10,
)


@given(st.lists(values.map(as_bytes) | st.binary(max_size=20), max_size=4))
@settings(max_examples=150, deadline=None)
def test_any_bytes_of_a_server_end_a_call_with_at_most_one_result(bodies: list[bytes]) -> None:
    talk = Talk(ALLOW)
    talk.agent(READ)
    passed: list[Any] = []
    for body in [*bodies, as_bytes(result(1))]:
        for message in forwarded(talk.server(body)):
            passed += message if isinstance(message, list) else [message]

    results = [message for message in passed if "result" in message]
    assert len(results) <= 1
    assert any(str(message.get("id")) == "1" for message in passed), "the call has an answer"


@pytest.mark.parametrize("id_", ["0x5", "0b101", "0o5", "\ufeff5"])
def test_answer_that_javascript_takes_for_one_to_a_waiting_call_does_not_pass(id_: str) -> None:
    talk = begin_session(ASK)
    assert kinds(talk.agent(call("send", 5))) == ["Ask"]

    assert [event["reason_code"] for event in events(exchange(talk, resumes=True).server(result(id_)))] == [
        "response_unmatched"
    ]
    assert [event["reason_code"] for event in events(exchange(talk).server(error(id_)))] == [
        "response_unmatched"
    ]


def test_exchange_brings_no_answer_to_what_a_person_is_asked_about_in_another() -> None:
    talk = Talk(ALLOW, transport=Transport.HTTP)
    talk.conversation.asks_about = lambda id_: id_ in {5, "5"}
    assert forwarded(talk.server(error(6))) == [error(6)]
    assert not forwarded(talk.server(error("0x5")))
    talk.conversation.carries_other_answers = talk.conversation.resumes = True

    assert forwarded(talk.server(result(6))) == [result(6)]
    assert [forwarded(talk.server(result(id_))) for id_ in (5, "5", "0x5")] == [[], [], []]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result"])
def test_task_of_one_server_is_unknown_to_another_without_a_name(method: str) -> None:
    talk = Talk(ALLOW, transport=Transport.HTTP)
    talk.conversation.origin = "https://evil.example:443"
    talk.agent(READ)
    talk.server(result(1, {"task": {"taskId": "t"}}))
    assert kinds(talk.agent(request(method, 2, taskId="t"))) == ["Record", "Forward"]

    talk.conversation = Conversation(talk.session, Transport.HTTP, None)
    talk.conversation.origin = "https://good.example:443"

    assert codes(talk.agent(request(method, 2, taskId="t"))) == [(2, -32001)]


def test_names_that_a_server_chooses_take_little_room() -> None:
    talk = Talk(ALLOW)
    talk.server(request("x" * 100_000, 1))
    (waiting,) = talk.conversation.from_server.sent()

    assert len(waiting.method) < 1_000
