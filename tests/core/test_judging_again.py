"""What waits for a person is judged again when they have answered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from talking import NOW, Talk, answered, call, codes, events, forwarded, kinds, request, result

from agentfence.core.engine import Engine
from agentfence.core.pins import Lock, pin_of

HEAD = 'version: "1"\ndefaults: {decision: deny, methods: ask}\n'
ASKING = HEAD + "tools: {send: ask, read: allow, once: {decision: ask, remember: call}}\n"
ALLOWING = HEAD + "tools: {send: allow, read: allow}\n"
DENYING = HEAD + "tools: {send: deny, read: allow}\n"
ASKING_IN_OTHER_WORDS = HEAD + 'tools: {send: {decision: ask, message: "mind the gap"}, read: allow}\n'
OBSERVING = DENYING + "mode: observe\n"
LIMITED = "tools: {{send: {{decision: {}, constraints: {{rate: {{limit: {}, per: minute}}}}}}}}\n"


def asked(text: str, *calls: Any, **options: str) -> tuple[Talk, Any]:
    talk = Talk(text, options)
    body = json.dumps(calls if len(calls) > 1 else calls[0])
    effects = talk.agent(body)
    assert kinds(effects)[-1] == "Ask"
    return talk, effects


@pytest.mark.parametrize(
    ("policy", "outcome", "done", "code"),
    [
        (ASKING + "x-note: other\ngroups: {g: [a]}\n", "approved", ["Record", "Forward"], "rule_match"),
        (ALLOWING, "approved", ["Record", "Forward"], "rule_match"),
        (ALLOWING, "denied", ["Record", "Answer"], "rule_match"),
        (DENYING, "approved", ["Record", "Answer"], "rule_match"),
        (HEAD, "approved", ["Record", "Answer"], "default_decision"),
        (OBSERVING, "denied", ["Record", "Answer"], "rule_match"),
        (OBSERVING, "approved", ["Record", "Forward"], "rule_match"),
    ],
)
def test_policy_in_force_decides_with_the_word_of_the_person(
    policy: str, outcome: str, done: list[str], code: str
) -> None:
    talk, effects = asked(ASKING, call("send", 1))
    talk.adopt(policy)
    said = talk.say(effects, outcome)
    (event,) = events(said)

    assert kinds(said) == done
    assert event["policy_digest"] == talk.gate.engine.policy.digest
    assert event["reason_code"] == code


@pytest.mark.parametrize("policy", [DENYING, OBSERVING])
def test_event_tells_of_the_word_that_does_not_count_any_more(policy: str) -> None:
    talk, effects = asked(ASKING, call("send", 1))
    talk.adopt(policy)
    (event,) = events(talk.say(effects))

    assert event["overruled"]["outcome"] == "approved"
    assert "approval" not in event


def test_event_tells_of_both_words_of_who_is_asked_twice() -> None:
    talk, effects = asked(ASKING, call("once", 1))
    talk.adopt(ASKING.replace("remember: call", "message: mind the gap"))
    (event,) = events(talk.say(talk.say(effects, remember=True), "denied"))

    assert event["overruled"] == {"outcome": "approved", "approver": "tty", "by": None, "waited_ms": 0}
    assert event["approval"]["outcome"] == "denied"


def test_person_is_asked_again_where_the_policy_asks_something_else() -> None:
    talk, effects = asked(ASKING, call("send", 1))
    talk.adopt(ASKING_IN_OTHER_WORDS)
    again = talk.say(effects)

    assert kinds(again) == ["Ask"]
    assert again[0].question.message == "mind the gap"  # type: ignore[union-attr]
    assert forwarded(talk.say(again)) == [call("send", 1)]


@pytest.mark.parametrize(("remember", "done"), [(True, ["Ask"]), (False, ["Record", "Forward"])])
def test_approval_for_the_session_holds_for_no_more_than_the_person_was_told(
    remember: bool, done: list[str]
) -> None:
    talk, effects = asked(ASKING, call("once", 1))
    talk.adopt(HEAD + "tools: {once: {decision: ask, remember: tool}}\n")

    assert kinds(talk.say(effects, remember=remember)) == done


def test_approval_is_not_kept_for_the_session_where_it_did_not_count() -> None:
    talk, effects = asked(ASKING, call("once", 1))
    talk.adopt(HEAD)
    assert kinds(talk.say(effects, remember=True)) == ["Record", "Answer"]
    talk.adopt(ASKING)

    assert kinds(talk.agent(call("once", 2))) == ["Ask"]


def test_every_member_of_a_batch_is_judged_again() -> None:
    talk, effects = asked(ASKING, call("read", 1), call("send", 2), on_batch="evaluate")
    talk.adopt(HEAD + "tools: {send: ask, read: deny}\n")

    assert codes(talk.say(effects)) == [(1, -32001), (2, -32001)]


def test_request_that_is_no_call_is_judged_again() -> None:
    talk, effects = asked(ASKING, request("vendor/do", 1))
    talk.adopt(HEAD.replace("methods: ask", "methods: deny"))

    assert codes(talk.say(effects)) == [(1, -32001)]


def test_call_that_is_judged_again_counts_once_for_its_rate() -> None:
    talk, effects = asked(HEAD + LIMITED.format("ask", 2), call("send", 1))
    talk.adopt(HEAD + LIMITED.format("allow", 2))
    talk.time += 1
    talk.say(effects)

    assert [kinds(talk.agent(call("send", number)))[-1] for number in (2, 3)] == ["Forward", "Answer"]


@pytest.mark.parametrize(("before", "after", "passing"), [(2, 4, 2), (4, 3, 1), (4, 1, 0)])
def test_rate_goes_on_under_another_limit(before: int, after: int, passing: int) -> None:
    talk = Talk(HEAD + LIMITED.format("allow", before))
    for number in range(2):
        talk.time += 1
        assert forwarded(talk.agent(call("send", number)))
    talk.adopt(HEAD + LIMITED.format("allow", after))
    got = [bool(forwarded(talk.agent(call("send", number)))) for number in range(10, 16)]

    assert got == [True] * passing + [False] * (6 - passing)


def test_wait_is_told_by_the_limit_in_force() -> None:
    talk = Talk(HEAD + LIMITED.format("allow", 3))
    for number in range(3):
        talk.agent(call("send", number))
        talk.time += 10
    talk.adopt(HEAD + LIMITED.format("allow", 1))
    (refused,) = [effect for effect in talk.agent(call("send", 9)) if hasattr(effect, "status")]

    assert json.loads(refused.body)["error"]["data"]["agentfence"]["retryAfterMs"] == 50_000


def test_answer_of_a_call_that_was_sent_before_passes() -> None:
    talk = Talk(ALLOWING)
    talk.agent(call("send", 1))
    talk.adopt(DENYING)
    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}

    assert forwarded(talk.server(answer)) == [answer]


def test_requests_of_a_server_are_judged_again() -> None:
    talk = Talk(ASKING)
    effects = talk.server(request("sampling/createMessage", 7))
    assert kinds(effects) == ["Ask"]
    talk.adopt(HEAD.replace("methods: ask", "methods: deny"))

    assert codes(talk.say(effects)) == [(7, -32001)]


def reason_code(effects: Any) -> str:
    (answer,) = answered(effects)
    return str(answer["error"]["data"]["agentfence"]["reason_code"])


def test_rule_that_expires_while_a_person_is_asked_denies() -> None:
    talk, effects = asked(
        HEAD + 'tools: {send: {decision: ask, expires: "2023-11-14T22:13:30Z"}}\n', call("send")
    )
    talk.time += 20

    assert reason_code(talk.say(effects)) == "rule_expired"


def test_tool_that_changes_while_a_person_is_asked_is_refused() -> None:
    talk = Talk(ASKING + "pins: require\n")
    talk.gate.engine = Engine(talk.gate.engine.policy, Lock({"": {"send": pin_of({"name": "send"})}}))
    effects = talk.agent(call("send", 1))
    talk.agent(request("tools/list", 2))
    talk.server(result(2, {"tools": [{"name": "send", "description": "another"}]}))

    assert reason_code(talk.say(effects)) == "tool_changed"


@pytest.mark.parametrize(("leads_to", "done"), [("/etc/passwd", "Answer"), ("/work/b", "Forward")])
def test_link_that_leads_elsewhere_when_a_person_has_answered(leads_to: str, done: str) -> None:
    links = {"/work/a": "/work/b"}
    paths = 'paths: {fields: [path], roots: ["/work"], follow_links: true}'
    talk = Talk(HEAD + f"tools: {{send: {{decision: ask, constraints: {{{paths}}}}}}}\n", links=links)
    effects = talk.agent(call("send", path="/work/a"))
    links["/work/a"] = leads_to

    assert kinds(talk.say(effects))[-1] == done


def test_calls_that_were_asked_about_in_time_pass_whenever_they_are_approved() -> None:
    per_second = LIMITED.format("ask", 1).replace("minute", "second")
    talk, first = asked(HEAD + per_second, call("send", 1))
    talk.time += 2
    second = talk.agent(call("send", 2))
    talk.time += 2

    assert forwarded(talk.say(first)) == [call("send", 1)]
    assert forwarded(talk.say(second)) == [call("send", 2)]


def test_call_counts_from_when_a_person_was_asked() -> None:
    talk, effects = asked(HEAD + LIMITED.format("ask", 1), call("send", 1))
    talk.time += 50
    talk.say(effects)
    talk.time = NOW + 59
    assert kinds(talk.agent(call("send", 2))) == ["Record", "Answer"]
    talk.time = NOW + 60
    assert kinds(talk.agent(call("send", 3))) == ["Ask"]


def test_member_that_is_judged_again_and_then_not_sent_is_not_counted() -> None:
    rules = LIMITED.format("allow", 1).replace("{send:", "{a: ask, b: ask, limited:", 1)
    talk, first = asked(HEAD + rules, call("limited", 1), call("a", 2), call("b", 3), on_batch="evaluate")
    talk.adopt(HEAD + rules + "groups: {g: [x]}\n")
    talk.time += 1
    second = talk.say(first)
    talk.time += 1
    assert not forwarded(talk.say(second, "denied"))

    assert forwarded(talk.agent(call("limited", 4)))
    assert not forwarded(talk.agent(call("limited", 5)))
