from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from talking import (
    MIXED,
    NOW,
    Talk,
    answer_events,
    answered,
    call,
    cancelled,
    codes,
    events,
    forwarded,
    kinds,
    notification,
    request,
    result,
)

from agentfence.core import outcomes
from agentfence.core.answers import server_gone
from agentfence.core.effects import Approval, Ask, Question, Withdraw
from agentfence.core.outcomes import resolve, send, settle
from agentfence.core.session import Transport
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.pending import Pending

OBSERVE = MIXED + "mode: observe\n"
SEND, READ = call("send", 1, to="a"), call("read", 2)


@pytest.fixture
def talk() -> Talk:
    return Talk()


def asked(effects: object) -> Ask:
    (ask,) = effects  # type: ignore[misc]
    assert isinstance(ask, Ask)
    return ask


def test_allowed_message_is_recorded_and_goes_on_as_it_came(talk: Talk) -> None:
    body = b'{"jsonrpc": "2.0",  "id": 2, "method": "tools/call", "params": {"name": "read"}}'

    record, forward = talk.agent(body)
    assert kinds((record, forward)) == ["Record", "Forward"]
    assert forward.body is body or forward.body == body  # type: ignore[union-attr]
    assert record.pending is not None  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", [MIXED, OBSERVE])
@pytest.mark.parametrize(
    "messages",
    [
        [READ, call("read", 3), cancelled(2)],
        [SEND, READ, cancelled(1), cancelled(2), call("unknown", 4)],
        [[READ, cancelled(2), call("read", 3)], [READ, call("unknown", 5)]],
        [call("call_once", 1), result(9), notification("vendor/x"), call("limited", 7), call("limited", 8)],
    ],
)
def test_what_nobody_is_asked_about_is_settled_as_all_else_is(
    policy: str, messages: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> list[object]:
        talk = Talk(policy, {"on_batch": "evaluate"})
        effects = [effect for message in messages for effect in talk.agent(message)]
        return [
            kinds(tuple(effects)),
            events(tuple(effects)),
            forwarded(tuple(effects)),
            talk.conversation.from_client.sent(),
        ]

    quickly = told()
    monkeypatch.setattr(outcomes, "settle", outcomes._settle)

    assert quickly == told()


def test_line_goes_on_without_what_some_readers_take_for_its_end() -> None:
    body = '{"jsonrpc":"2.0","id":2,\r"method":"tools/call","params":{"name":"read","x":"\u2028"}}'.encode()

    (_, forward) = Talk().agent(body)
    assert b"\r" not in forward.body  # type: ignore[union-attr]
    assert b"\\u2028" in forward.body  # type: ignore[union-attr]
    (_, forward) = Talk(transport=Transport.HTTP).agent(body)
    assert forward.body is body  # type: ignore[union-attr]


def test_question_says_all_that_a_person_needs(talk: Talk) -> None:
    assert asked(talk.agent(SEND)).question == Question(
        call_id="call-1",
        client="agent",
        server=None,
        method="tools/call",
        tool="send",
        arguments={"to": "a"},
        rule="send",
        reason="tool `send` has its own rule: ask",
        message=None,
        remember=None,
    )


def test_question_about_a_method_has_its_params(talk: Talk) -> None:
    question = asked(talk.server(request("sampling/createMessage", 5, messages=[]))).question

    assert (question.method, question.tool, question.arguments) == (
        "sampling/createMessage",
        None,
        {"messages": []},
    )


def test_question_offers_to_remember_only_for_an_agent_that_is_known() -> None:
    assert asked(Talk().agent(call("call_once"))).question.remember == "call"
    assert asked(Talk(is_identified=False).agent(call("call_once"))).question.remember is None


def test_only_requests_and_notifications_need_a_person(talk: Talk) -> None:
    pending = asked(talk.agent(SEND)).pending
    (member,) = pending.members
    wrong = replace(pending, members=(replace(member, message=None),))

    with pytest.raises(TypeError):
        settle(talk.gate, wrong, talk.time)


def test_yes_sends_the_call_on_and_its_event_says_so(talk: Talk) -> None:
    effects = talk.say(talk.agent(SEND))

    assert forwarded(effects) == [SEND]
    (event,) = events(effects)
    assert (event["verdict"], event["decision"], event["reason_code"]) == ("ask", "allow", "rule_match")
    assert event["approval"]["outcome"] == "approved"


def test_no_is_an_answer_and_its_event_says_so(talk: Talk) -> None:
    effects = talk.say(talk.agent(SEND), "denied")

    assert codes(effects) == [(1, -32001)]
    (event,) = events(effects)
    assert (event["verdict"], event["decision"], event["reason_code"]) == ("ask", "deny", "rule_match")


def test_nothing_is_recorded_while_a_person_is_asked(talk: Talk) -> None:
    assert kinds(talk.agent(SEND)) == ["Ask"]


def test_asked_notification_goes_on_after_a_yes(talk: Talk) -> None:
    message = notification("tools/call", name="send")

    assert forwarded(talk.say(talk.agent(message))) == [message]
    assert kinds(talk.say(talk.agent(message), "denied")) == ["Record", "Drop"]


def test_question_is_answered_once(talk: Talk) -> None:
    effects = talk.agent(notification("tools/call", name="send"))
    pending = asked(effects).pending
    talk.say(effects)
    (member,) = pending.members
    approved = replace(pending, members=(replace(member, approval=Approval("approved", "tty")),))

    assert kinds(resolve(talk.gate, approved, Approval("approved", "tty"), talk.circumstances)) == [
        "Record",
        "Drop",
    ]


def test_call_that_was_sent_is_not_sent_again(talk: Talk) -> None:
    effects = talk.agent(SEND)
    talk.say(effects)

    assert kinds(talk.say(effects)) == ["Record", "Drop"]


def test_call_whose_server_has_gone_is_not_sent(talk: Talk) -> None:
    effects = talk.agent(SEND)
    gone = server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended")
    assert kinds(gone) == ["Withdraw", "Forward"]
    assert codes(gone) == [(1, -32002)]

    late = talk.say(effects)
    assert kinds(late) == ["Record", "Drop"]
    assert events(late)[0]["decision"] == "deny"


def test_event_of_a_call_that_a_yes_came_too_late_for_says_so() -> None:
    talk = Talk(options={"on_batch": "evaluate"})
    effects = talk.say(talk.agent([SEND, call("send", 3, to="b")]))
    server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended")
    told = events(talk.say(effects))

    assert [event["approval"]["outcome"] for event in told] == ["approved", "cancelled"]
    assert {(event["decision"], event["reason"]) for event in told} == {
        ("deny", "it was answered before the person was")
    }


@pytest.mark.parametrize(
    ("send", "done"),
    [("deny", ["Record", "Answer"]), ('{decision: ask, message: "mind the gap"}', ["Ask"])],
)
def test_yes_is_put_to_the_policy_that_is_in_force_by_then(talk: Talk, send: str, done: list[str]) -> None:
    effects = talk.agent(SEND)
    talk.adopt(MIXED.replace("send: ask", f"send: {send}"))

    assert kinds(talk.say(effects)) == done


def test_answer_of_a_server_that_was_not_asked_does_not_count(talk: Talk) -> None:
    effects = talk.agent(SEND)
    assert not forwarded(talk.server(result(1)))

    assert forwarded(talk.say(effects)) == [SEND]
    assert forwarded(talk.server(result(1))) == [result(1)]


def test_cancelling_withdraws_the_question_and_the_server_hears_nothing(talk: Talk) -> None:
    effects = talk.agent(SEND)
    withdrawal = talk.agent(cancelled(1))
    assert kinds(withdrawal) == ["Record", "Withdraw", "Drop"]
    assert withdrawal[1] == Withdraw("call-1")

    for outcome in ("approved", "cancelled"):
        late = talk.say(effects, outcome)
        assert not forwarded(late)
    assert "it was cancelled" in events(late)[0]["reason"] or kinds(late) == ["Record", "Drop"]


def test_yes_that_comes_after_a_cancellation_does_not_count(talk: Talk) -> None:
    effects = talk.agent(SEND)
    talk.agent(cancelled(1))

    assert codes(talk.say(effects)) == [(1, -32001)]


def test_cancelling_what_was_sent_goes_on(talk: Talk) -> None:
    talk.agent(READ)

    assert kinds(talk.agent(cancelled(2))) == ["Record", "Forward"]
    assert kinds(talk.server(result(2))) == ["Drop"]


def test_batch_asks_one_question_after_the_other() -> None:
    talk = Talk(options={"on_batch": "evaluate"})
    batch = [SEND, READ, call("send", 3, to="b")]
    effects = talk.agent(batch)
    assert asked(effects).question.arguments == {"to": "a"}
    effects = talk.say(effects)
    assert asked(effects).question.arguments == {"to": "b"}
    effects = talk.say(effects)

    assert kinds(effects) == ["Record", "Record", "Record", "Forward"]
    assert forwarded(effects) == [batch]


def test_batch_with_a_member_that_was_cancelled_meanwhile_is_not_sent() -> None:
    talk = Talk(options={"on_batch": "evaluate"})
    effects = talk.agent([SEND, READ])
    talk.agent(cancelled(2))

    assert codes(talk.say(effects)) == [(1, -32001), (2, -32001)]


def test_batch_whose_server_has_gone_leaves_no_id_behind() -> None:
    talk = Talk(options={"on_batch": "evaluate"})
    effects = talk.agent([SEND, READ])
    talk.agent(cancelled(2))
    server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended")
    talk.say(effects)

    assert len(talk.conversation.from_client) == 0


def test_cancellation_inside_a_batch_counts_when_the_batch_goes_on() -> None:
    talk = Talk(options={"on_batch": "evaluate"})
    effects = talk.agent(SEND)
    batch = talk.agent([READ, cancelled(1), cancelled(2)])
    assert kinds(batch) == ["Record", "Record", "Record", "Withdraw", "Forward"]

    assert codes(talk.say(effects)) == [(1, -32001)]
    assert kinds(talk.server(result(2))) == ["Drop"]


def test_remembered_approval_asks_nobody(talk: Talk) -> None:
    once = call("call_once", 1, to="a")
    talk.say(talk.agent(once), remember=True)
    talk.server(result(1))

    effects = talk.agent({**once, "id": 2})
    assert kinds(effects) == ["Record", "Forward"]
    assert events(effects)[0]["approval"]["approver"] == "session"
    assert kinds(talk.agent(call("call_once", 3, to="b"))) == ["Ask"]


def test_observing_asks_nobody_and_lets_everything_pass() -> None:
    talk = Talk(OBSERVE)

    assert forwarded(talk.agent(SEND)) == [SEND]
    assert forwarded(talk.agent(call("unknown", 5)))
    assert events(talk.agent(call("unknown", 6)))[0]["verdict"] == "deny"


def test_agents_answer_ends_the_servers_request(talk: Talk) -> None:
    talk.server(request("roots/list", 5))
    assert forwarded(talk.agent(result(5))) == [result(5)]

    assert kinds(talk.agent(result(5))) == ["Record", "Drop"]


def test_agents_answer_has_its_event_wherever_it_stands_in_a_batch() -> None:
    talk = Talk(options={"on_batch": "evaluate"})
    talk.server(request("roots/list", 5))
    (event,) = answer_events(talk.agent([READ, result(5)]))

    assert (event["request_id"], event["direction"]) == (5, "to_server")


def test_time_of_an_answer_counts_from_when_its_call_was_sent(talk: Talk) -> None:
    effects = talk.agent(SEND)
    talk.time += 10
    talk.say(effects)
    talk.time += 1
    (event,) = answer_events(talk.server(result(1)))

    assert event["latency_ms"] == 1000


def test_servers_request_over_http_may_come_again() -> None:
    talk = Talk(transport=Transport.HTTP)
    assert forwarded(talk.server(request("roots/list", 5)))
    assert forwarded(talk.server(request("roots/list", 5)))

    assert len(talk.conversation.from_server) == 1
    effects = talk.server(request("sampling/createMessage", 6))
    assert forwarded(talk.say(effects)) == [request("sampling/createMessage", 6)]


def test_agents_answer_over_http_goes_on_and_its_task_is_known() -> None:
    talk = Talk(transport=Transport.HTTP)
    answer = result(5, {"task": {"taskId": "t"}})
    assert forwarded(talk.agent(answer, {})) == [answer]

    assert forwarded(talk.server(request("tasks/get", 6, taskId="t")))


def test_nested_question_holds_the_answer_back(talk: Talk) -> None:
    talk.agent(READ)
    answer = result(2, {"inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}})
    effects = talk.server(answer)
    assert asked(effects).question.call_id == "call-1"
    assert kinds(talk.server(result(2))) == ["Record", "Drop"], "a second answer"

    said = talk.say(effects)
    assert (kinds(said), forwarded(said)) == (["Record", "Forward"], [answer])
    assert [event["request_id"] for event in answer_events(said)] == [2]
    assert 2 not in talk.conversation.from_client


@pytest.mark.parametrize("server", [None, "files"])
def test_task_in_an_answer_that_was_held_is_the_agents(server: str | None) -> None:
    talk = Talk(server=server)
    talk.agent(READ)
    inner = {"inputRequests": {"a": {"method": "sampling/createMessage"}}}
    talk.say(talk.server(result(2, {"task": {"taskId": "t"}, **inner})))

    assert forwarded(talk.agent(request("tasks/get", 3, taskId="t")))


@pytest.mark.parametrize("id_", [1, 7])
def test_cancellation_inside_an_answer_cancels_nothing(talk: Talk, id_: int) -> None:
    talk.agent(call("read", 1))
    talk.agent(READ)
    asked_of_agent = talk.server(request("sampling/createMessage", 7))
    answer = result(
        2, {"inputRequests": {"a": {"method": "notifications/cancelled", "params": {"requestId": id_}}}}
    )

    assert forwarded(talk.server(answer)) == [answer]
    assert forwarded(talk.server(result(1))) == [result(1)]
    assert forwarded(talk.say(asked_of_agent)) == [request("sampling/createMessage", 7)]


def test_cancelling_withdraws_the_question_about_an_answer(talk: Talk) -> None:
    talk.agent(READ)
    effects = talk.server(result(2, {"inputRequests": {"a": {"method": "sampling/createMessage"}}}))
    assert talk.agent(cancelled(2))[1] == Withdraw("call-1")

    late = talk.say(effects)
    assert codes(late) == [(2, -32001)]
    assert kinds(talk.say(effects)) == ["Record", "Drop"]


def test_answer_that_is_held_outlives_its_server(talk: Talk) -> None:
    talk.agent(READ)
    answer = result(2, {"inputRequests": {"a": {"method": "sampling/createMessage"}}})
    effects = talk.server(answer)
    assert server_gone(talk.gate, talk.conversation, talk.circumstances, "it ended") == ()

    assert forwarded(talk.say(effects)) == [answer]


def test_sending_twice_is_left_to_those_who_ask_twice(talk: Talk) -> None:
    pending: Pending = asked(talk.agent(SEND)).pending

    assert kinds(send(pending, NOW)) == ["Forward"]
    assert answered(send(pending, NOW)) == []


@pytest.mark.parametrize("from_server", [False, True])
def test_little_is_kept_of_a_method_that_is_longer_than_any(from_server: bool) -> None:
    talk = Talk('version: "1"\ndefaults: {decision: allow, methods: allow}\n')
    say = talk.server if from_server else talk.agent
    say(request("x" * 1_000_000, 1))

    (waiting,) = talk.conversation.calls(from_server=from_server).sent()
    assert len(waiting.method) == 256
