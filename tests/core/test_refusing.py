from __future__ import annotations

import json
from typing import Any

import pytest
from talking import (
    MIXED,
    Talk,
    answer_events,
    answered,
    call,
    codes,
    error,
    events,
    forwarded,
    kinds,
    notification,
    request,
    result,
)

from agentfence.core.revisions import META_VERSION
from agentfence.core.session import Transport

EVALUATE = {"on_batch": "evaluate"}
READ, RM, SEND = call("read", 1), call("rm", 2), call("send", 3)


def data(message: dict[str, Any]) -> dict[str, Any]:
    return message["error"]["data"]["agentfence"]  # type: ignore[no-any-return]


def test_refused_request_is_recorded_and_answered_with_its_reason() -> None:
    effects = Talk().agent(RM)

    assert kinds(effects) == ["Record", "Answer"]
    (answer,) = answered(effects)
    assert (answer["id"], answer["error"]["code"]) == (2, -32001)
    assert data(answer) == {
        "decision": "deny",
        "reason_code": "default_decision",
        "rule": "defaults.decision",
        "call_id": "call-1",
    }
    assert effects[1].status == 200  # type: ignore[union-attr]


def test_reason_that_the_agent_is_told_holds_no_secret() -> None:
    (answer,) = answered(Talk().agent(call("rm?password=hunter2", 2)))

    assert "tool `rm?password=[REDACTED:password]`" in answer["error"]["message"]


def test_call_that_cannot_be_judged_is_answered_with_what_is_wrong() -> None:
    (answer,) = answered(Talk().agent(request("tools/call", 1, name="")))

    assert answer["error"]["message"] == "invalid tools/call params: `name` must be a text that is not empty"
    assert data(answer) == {
        "decision": "deny",
        "reason_code": "parse_error",
        "rule": None,
        "call_id": "call-1",
    }


def test_refusal_does_not_depend_on_its_record() -> None:
    talk = Talk()
    effects = talk.agent(RM)

    assert effects[0].pending is None  # type: ignore[union-attr]
    assert talk.lose(effects) == effects


def test_refused_call_waits_no_longer() -> None:
    talk = Talk()
    talk.agent(RM)

    assert forwarded(talk.agent({**READ, "id": 2}))


def test_second_request_with_an_id_in_flight_is_refused_and_the_first_is_not_forgotten() -> None:
    talk = Talk()
    talk.agent(READ)
    assert codes(talk.agent(READ)) == [(1, -32600)]

    assert forwarded(talk.server(result(1))) == [result(1)]


def test_refused_notification_is_dropped_without_a_word() -> None:
    assert kinds(Talk().agent(notification("tools/call", name="rm"))) == ["Record", "Drop"]
    assert kinds(Talk().agent(notification("tools/call"))) == ["Record", "Drop"]


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("denied", "approval_denied"),
        ("timeout", "approval_timeout"),
        ("no_approver", "non_interactive_denied"),
    ],
)
def test_answer_says_what_a_person_said(outcome: str, code: str) -> None:
    talk = Talk()
    (answer,) = answered(talk.say(talk.agent(SEND), outcome))

    assert data(answer)["reason_code"] == code
    assert data(answer)["rule"] == "send"


def test_used_up_rate_tells_when_to_try_again() -> None:
    talk = Talk()
    talk.agent(call("limited", 1))
    talk.time += 10

    (answer,) = answered(talk.agent(call("limited", 2)))
    assert data(answer)["retryAfterMs"] == 50_000


def test_batch_is_answered_member_by_member() -> None:
    effects = Talk(options=EVALUATE).agent([READ, RM, notification("tools/call", name="rm"), 7])

    assert kinds(effects) == ["Record"] * 4 + ["Answer"]
    (answer,) = answered(effects)
    assert [data(member)["reason_code"] for member in answer] == [
        "batch_member_refused",
        "default_decision",
        "parse_error",
    ]
    assert answer[0]["error"]["message"] == "not sent: another member was refused"
    assert events(effects)[0]["reason"] == "not sent: another member was refused"
    assert answer[2]["id"] is None


@pytest.mark.parametrize("member", [call("limited", 1), notification("tools/call", name="limited")])
def test_call_that_was_not_sent_is_not_counted(member: Any) -> None:
    talk = Talk(options=EVALUATE)
    talk.agent([member, RM])

    assert forwarded(talk.agent(call("limited", 5)))


@pytest.mark.parametrize(
    ("other", "outcomes"), [(request("ping", 2), ["denied"]), (call("b", 2), ["approved", "denied"])]
)
def test_call_that_a_person_was_asked_about_is_counted(other: Any, outcomes: list[str]) -> None:
    policy = """
version: "1"
tools: {a: {decision: ask, constraints: {rate: {limit: 1, per: hour}}}, b: ask}
"""
    talk = Talk(policy, EVALUATE)
    effects = talk.agent([call("a", 1), other])
    for outcome in outcomes:
        effects = talk.say(effects, outcome)
    assert not forwarded(effects)

    (answer,) = answered(talk.agent(call("a", 3)))
    assert data(answer)["reason_code"] == "rate_exceeded"


def test_call_that_passes_by_a_remembered_approval_is_not_counted_when_it_is_not_sent() -> None:
    policy = """
version: "1"
tools: {a: {decision: ask, remember: tool, constraints: {rate: {limit: 2, per: hour}}}}
"""
    talk = Talk(policy, EVALUATE)
    talk.say(talk.agent(call("a", 1)), remember=True)
    assert not forwarded(talk.agent([call("a", 2), RM]))

    assert forwarded(talk.agent(call("a", 3)))
    assert not forwarded(talk.agent(call("a", 4)))


def test_other_methods_count_for_no_rate() -> None:
    policy = MIXED + "prompts: {limited: allow}\n"
    talk = Talk(policy, EVALUATE)
    talk.agent(call("limited", 1))
    talk.agent([request("prompts/get", 4, name="limited"), RM])

    assert not forwarded(talk.agent(call("limited", 5)))


def test_denied_tool_call_is_a_result_where_that_was_set() -> None:
    talk = Talk(options={"deny_as": "result"})

    (answer,) = answered(talk.agent(RM))
    assert answer["result"]["isError"] is True
    (answer,) = answered(talk.agent(call("rm", 3) | {"params": {"name": "rm", "task": {}}}))
    assert "error" in answer
    (answer,) = answered(talk.agent(request("vendor/denied", 4)))
    assert "error" in answer
    (answer,) = answered(talk.server(request("tools/call", 5, name="a")))
    assert "error" in answer


def test_refused_request_of_a_server_is_answered_on_stdio() -> None:
    effects = Talk().server(request("vendor/denied", 5))

    assert kinds(effects) == ["Record", "Answer"]
    assert codes(effects) == [(5, -32001)]
    assert events(effects)[0]["direction"] == "to_client"


def test_refused_request_of_a_server_over_http_becomes_one_that_agents_do_not_know() -> None:
    effects = Talk(transport=Transport.HTTP).server(request("vendor/denied", "5"))

    assert kinds(effects) == ["Record", "Forward"]
    assert forwarded(effects) == [{"jsonrpc": "2.0", "id": "5", "method": "agentfence/refused"}]


def test_agent_that_refuses_for_the_fence_is_heard_as_the_answer_to_the_servers_request() -> None:
    talk = Talk(transport=Transport.HTTP)
    talk.server(request("vendor/denied", "5"))
    effects = talk.agent(error("5", -32601), {})
    (event,) = answer_events(effects)

    assert forwarded(effects) == [error("5", -32601)]
    assert (event["call_id"], event["request_id"], event["method"]) == ("call-1", "5", "agentfence/refused")


def test_request_of_a_server_that_a_person_refused_may_come_again() -> None:
    talk = Talk()
    asking = request("sampling/createMessage", 5)
    assert codes(talk.say(talk.server(asking), "denied")) == [(5, -32001)]

    assert kinds(talk.server(asking)) == ["Ask"]


def test_refused_notification_of_a_server_is_dropped() -> None:
    for transport in Transport:
        assert kinds(Talk(transport=transport).server(notification("vendor/denied"))) == ["Record", "Drop"]


def test_answer_with_a_refused_request_inside_becomes_an_error() -> None:
    talk = Talk(MIXED + "hide_denied: false\n")
    talk.agent(READ)
    inner = {"a": {"method": "roots/list"}, "b": {"method": "vendor/denied"}}
    effects = talk.server(result(1, {"inputRequests": inner}))

    assert kinds(effects) == ["Record", "Record", "Forward"]
    (answer,) = forwarded(effects)
    assert (answer["id"], answer["error"]["code"]) == (1, -32001)
    assert data(answer) == {
        "decision": "deny",
        "reason_code": "method_denied",
        "rule": "methods.vendor/denied",
        "call_id": "call-1",
    }
    assert kinds(talk.server(result(1))) == ["Record", "Drop"]


def test_refused_answer_of_a_server_has_the_code_of_the_revision_of_its_call() -> None:
    for method, code in (("vendor/denied", -31001), ("roots/list", -31003)):
        talk = Talk()
        talk.agent(request("tools/call", 1, name="read", _meta={META_VERSION: "2026-07-28"}))
        talk.agent(request("ping", 2))
        effects = talk.server(result(1, {"inputRequests": {"a": {"method": method}}}))

        assert codes(talk.lose(effects)) == [(1, code)]


def test_refused_answer_of_an_agent_ends_the_servers_request() -> None:
    talk = Talk(options=EVALUATE)
    talk.server(request("roots/list", 5))
    effects = talk.agent([result(5), RM])

    assert kinds(effects) == ["Record", "Record", "Forward", "Answer"]
    assert forwarded(effects)[0]["id"] == 5
    assert forwarded(effects)[0]["error"]["code"] == -32003
    assert forwarded(effects)[0]["error"]["message"] == "the agent's answer was refused"
    assert data(forwarded(effects)[0]) == {
        "decision": "deny",
        "reason_code": "batch_member_refused",
        "rule": None,
        "call_id": events(effects)[0]["call_id"],
    }
    assert codes(effects)[0] == (2, -32001)
    assert kinds(talk.agent(result(5))) == ["Record", "Drop"]


def test_refused_answer_that_nobody_waits_for_tells_nobody() -> None:
    assert kinds(Talk(options=EVALUATE).agent([result(5), READ])) == ["Record", "Record", "Answer"]
    http = Talk(options=EVALUATE, transport=Transport.HTTP)
    assert kinds(http.agent([result(5), RM])) == ["Record", "Record", "Answer"]


# when the audit log cannot be written


def test_unrecorded_request_is_not_sent_and_gets_an_answer() -> None:
    talk = Talk()
    lost = talk.lose(talk.agent(READ))

    assert kinds(lost) == ["Answer"]
    assert codes(lost) == [(1, -32003)]
    (answer,) = answered(lost)
    assert answer["error"]["message"].startswith("the audit log cannot be written")
    assert data(answer) == {
        "decision": "deny",
        "reason_code": "audit_unwritable",
        "rule": None,
        "call_id": "call-1",
    }
    assert kinds(talk.server(result(1))) == ["Record", "Drop"]
    assert forwarded(talk.agent(READ))


def test_unrecorded_approved_call_is_not_sent() -> None:
    talk = Talk()

    assert codes(talk.lose(talk.say(talk.agent(SEND)))) == [(3, -32003)]


def test_unrecorded_notification_is_dropped() -> None:
    talk = Talk()

    assert kinds(talk.lose(talk.agent(notification("notifications/initialized")))) == ["Drop"]


def test_unrecorded_batch_is_answered_member_by_member() -> None:
    talk = Talk(options=EVALUATE)
    lost = talk.lose(talk.agent([READ, notification("notifications/initialized"), request("ping", "9")]))

    assert codes(lost) == [(1, -32003), ("9", -32003)]


def test_unrecorded_answer_of_an_agent_ends_the_servers_request() -> None:
    talk = Talk()
    talk.server(request("roots/list", 5))
    lost = talk.lose(talk.agent(result(5)))

    assert kinds(lost) == ["Forward", "Drop"]
    assert codes(lost) == [(5, -32003)]


def test_unrecorded_request_of_a_server_is_not_sent() -> None:
    talk = Talk()
    assert codes(talk.lose(talk.server(request("roots/list", 5)))) == [(5, -32003)]

    http = Talk(transport=Transport.HTTP)
    lost = http.lose(http.server(request("roots/list", 5)))
    assert forwarded(lost) == [{"jsonrpc": "2.0", "id": 5, "method": "agentfence/refused"}]


def test_unrecorded_answer_of_a_server_becomes_an_error() -> None:
    talk = Talk()
    talk.agent(READ)
    lost = talk.lose(talk.server(result(1, {"inputRequests": {"a": {"method": "roots/list"}}})))

    assert codes(lost) == [(1, -32003)]
    assert kinds(talk.server(result(1))) == ["Record", "Drop"]


def test_unrecorded_other_json_is_refused_with_an_answer() -> None:
    talk = Talk(options={"on_unparsed": "forward"}, transport=Transport.HTTP)
    lost = talk.lose(talk.agent({"model": "x"}))

    assert codes(lost) == [(None, -32003)]


def test_no_answer_holds_an_arguments_value() -> None:
    policy = """
version: "1"
tools:
  a: {decision: allow, constraints: {args: {x: {equals: y}}}}
  b: {decision: ask}
  c: {decision: allow, constraints: {paths: {fields: [x], roots: [/work]}}}
"""
    for tool in ("a", "b", "c", "d"):
        talk = Talk(policy)
        effects = talk.agent(call(tool, 1, x="sesame"))
        if kinds(effects) == ["Ask"]:
            effects = talk.say(effects, "denied")

        assert "sesame" not in json.dumps([*answered(effects), *events(effects)])


def test_error_of_a_server_passes() -> None:
    talk = Talk()
    talk.agent(READ)

    assert forwarded(talk.server(error(1))) == [error(1)]
