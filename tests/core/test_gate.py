from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from talking import (
    ALLOW,
    DENY,
    MIXED,
    Talk,
    answered,
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

from agentfence.core.answers import server_gone
from agentfence.core.effects import Answer, Ask, Drop, Forward, Record, Withdraw
from agentfence.core.http.message import HttpRefusal
from agentfence.core.policy.model import Mode
from agentfence.core.revisions import ASSUMED
from agentfence.core.session import Transport

if TYPE_CHECKING:
    from agentfence.core.effects import Effects

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
VERSION = {"MCP-Protocol-Version": "2025-06-18"}
READ = call("read", 1)


def http(policy: str = ALLOW, **options: str) -> Talk:
    return Talk(policy, options, transport=Transport.HTTP)


@pytest.mark.parametrize(
    ("policy", "option", "mode"),
    [
        (MIXED, None, Mode.ENFORCE),
        (MIXED + "mode: observe\n", None, Mode.OBSERVE),
        (MIXED + "mode: observe\n", "enforce", Mode.ENFORCE),
        (MIXED, "observe", Mode.OBSERVE),
    ],
)
def test_mode_that_was_set_wins_over_the_policys(policy: str, option: str | None, mode: Mode) -> None:
    assert Talk(policy, {} if option is None else {"mode": option}).gate.mode is mode


def test_adopted_policy_judges_and_redacts_and_what_waits_is_kept() -> None:
    talk = Talk(ALLOW)
    assert kinds(talk.agent(request("ping", 7))) == ["Record", "Forward"]
    talk.adopt(MIXED + 'redaction: {patterns: [{name: ticket, regex: "TCK-[0-9]{6}"}]}\n')
    denied, again = talk.agent(call("write", 1, text="for TCK-123456")), talk.agent(request("ping", 7))
    (event,) = events(denied)

    assert (event["verdict"], event["policy_digest"]) == ("deny", talk.gate.engine.policy.digest)
    assert event["arguments"] == {"text": "for [REDACTED:ticket]"}
    assert codes(again) == [(7, -32600)]


def test_asked_call_is_sent_when_a_person_says_yes_and_its_event_is_written() -> None:
    asked = Talk(MIXED)
    assert forwarded(asked.say(asked.agent(call("send", 1)))) == [call("send", 1)]
    unwritten = Talk(MIXED)

    assert codes(unwritten.lose(unwritten.say(unwritten.agent(call("send", 1))))) == [(1, -32003)]


def test_schema_that_turns_out_to_hold_nothing_is_told_of_with_the_call() -> None:
    talk = Talk(ALLOW + "validate_arguments: true\n")
    talk.agent(request("tools/list", 1))
    talk.server(result(1, {"tools": [{"name": "read", "inputSchema": {"$ref": "#"}}]}))
    first, again = talk.agent(call("read", 2)), talk.agent(call("read", 3))

    assert [event["kind"] for event in events(first)] == ["noted", "judged"]
    assert [kinds(first)[-1], kinds(again)] == ["Forward", ["Record", "Forward"]]


def test_each_message_has_a_name_of_its_own() -> None:
    talk = Talk(ALLOW)
    names = [events(talk.agent(request("ping", id_)))[0]["call_id"] for id_ in range(3)]

    assert names == ["call-1", "call-2", "call-3"]


def test_unreadable_line_is_answered_without_an_id() -> None:
    effects = Talk(ALLOW).agent(b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}')

    assert kinds(effects) == ["Record", "Answer"]
    assert codes(effects) == [(None, -32700)]
    assert effects[1].status == 400  # type: ignore[union-attr]
    (event,), (answer,) = events(effects), answered(effects)
    assert (event["kind"], event["direction"]) == ("refused", "to_server")
    assert answer["error"]["message"] == event["reason"]
    assert answer["error"]["data"]["agentfence"] == {
        "decision": "deny",
        "reason_code": "unparsed",
        "rule": None,
        "call_id": "call-1",
    }


@pytest.mark.parametrize(
    ("body", "passes"),
    [(b'{"model":"x"}', True), (b'{"method":"x"}', False), (b"text", False), (b"1", False)],
)
def test_other_json_passes_over_http_where_that_was_set(body: bytes, passes: bool) -> None:
    effects = http(on_unparsed="forward").agent(body, {})

    assert kinds(effects) == (["Record", "Forward"] if passes else ["Record", "Answer"])
    assert [effect.body for effect in effects if isinstance(effect, Forward)] == [body] * passes
    assert kinds(http().agent(body, {})) == ["Record", "Answer"]
    assert kinds(Talk(ALLOW, {"on_unparsed": "forward"}).agent(body)) == ["Record", "Answer"]


def test_event_of_other_json_says_why_it_passed() -> None:
    (event,) = events(http(on_unparsed="forward").agent(b'{"model":"x"}', {}))

    assert (event["verdict"], event["decision"], event["reason_code"]) == ("allow", "allow", "unparsed")


def test_body_at_the_limit_passes_and_one_byte_more_does_not() -> None:
    body = as_bytes(READ)
    assert forwarded(Talk(ALLOW, {"max_body": str(len(body))}).agent(body))

    effects = Talk(ALLOW, {"max_body": str(len(body) - 1)}).agent(body)
    assert codes(effects) == [(None, -32005)]
    assert events(effects)[0]["reason_code"] == "oversize"
    assert (effects[1].status, effects[1].close) == (413, True)  # type: ignore[union-attr]
    assert str(len(body) - 1) in answered(effects)[0]["error"]["message"]


def test_id_that_waits_in_another_exchange_of_the_session_may_not_be_sent_again() -> None:
    one = begin_session()
    assert forwarded(one.agent(READ, {})) == [READ]

    assert codes(exchange(one).agent(READ, {})) == [(1, -32600)]


def test_oversize_has_the_revisions_code() -> None:
    talk = http()
    headers = (("MCP-Protocol-Version", "2026-07-28"),)

    assert codes(talk.gate.refuse_oversize(talk.conversation, talk.circumstances, headers)) == [
        (None, -31005)
    ]
    assert codes(http(max_body="9").agent(READ, dict(headers))) == [(None, -31005)]


def test_refused_exchange_keeps_its_status_and_headers() -> None:
    talk = http()
    refusal = HttpRefusal(405, -32600, "messages must be sent by POST", "unparsed", (("Allow", "POST"),))
    effects = talk.gate.refuse_exchange(refusal, talk.conversation, talk.circumstances)

    assert effects[1] == Answer(effects[1].body, 405, headers=(("Allow", "POST"),))  # type: ignore[union-attr]
    assert events(effects)[0]["reason_code"] == "unparsed"


@pytest.mark.parametrize(
    ("body", "headers", "answer"),
    [
        (READ, {}, (200, 1, -32001)),
        (call("read", "a"), {"MCP-Protocol-Version": "2026-07-28"}, (200, "a", -31001)),
        (request("initialize", 0), {}, (200, 0, -32001)),
        (notification("notifications/initialized"), {}, None),
        (result(1), {}, None),
        ([READ], {}, (403, None, -32001)),
        (b'{"method":"tools/call"}', {}, (403, None, -32001)),
    ],
)
def test_message_to_an_unlisted_host_is_refused_so_that_its_session_lives(
    body: Any, headers: dict[str, str], answer: tuple[int, Any, int] | None
) -> None:
    talk = http()
    refusal = HttpRefusal(403, -32001, "names no MCP server at this host", "server_unlisted")
    effects = talk.gate.refuse_unlisted(
        as_bytes(body), refusal, talk.conversation, talk.circumstances, tuple(headers.items())
    )

    assert [event["reason_code"] for event in events(effects)] == ["server_unlisted"]
    if answer is None:
        assert effects[-1] == Drop()
    else:
        said = effects[-1]
        assert isinstance(said, Answer)
        assert (said.status, *codes(effects)[0]) == answer


@pytest.mark.parametrize(
    ("headers", "meta", "passes"),
    [
        ({}, {}, True),
        (VERSION, {}, True),
        ({"Mcp-Method": "tools/call", "Mcp-Name": "read"}, {}, True),
        ({"Mcp-Method": "tools/list"}, {}, False),
        ({"Mcp-Name": "write"}, {}, False),
        (
            {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read"},
            MODERN,
            True,
        ),
        ({"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "read"}, {}, False),
        ({"MCP-Protocol-Version": "2026-07-28"}, MODERN, False),
        ({}, MODERN, False),
    ],
)
def test_headers_must_say_what_the_body_says(
    headers: dict[str, str], meta: dict[str, Any], passes: bool
) -> None:
    message = request("tools/call", 7, name="read", **({"_meta": meta} if meta else {}))
    effects = http().agent(message, headers)

    if passes:
        assert forwarded(effects) == [message]
    else:
        (answer,) = answered(effects)
        assert answer["id"] == 7
        assert effects[1].status == 400  # type: ignore[union-attr]
        event = events(effects)[0]
        assert (event["reason_code"], event["tool"]) == ("header_mismatch", "read")


def test_header_of_a_notification_must_agree_too() -> None:
    effects = http().agent(notification("notifications/initialized"), {"Mcp-Method": "ping"})

    assert codes(effects) == [(None, -32020)]


def test_header_that_contradicts_its_session_is_refused() -> None:
    talk = http()
    talk.settle("2025-11-25")

    assert codes(talk.agent(request("ping", 7), VERSION)) == [(7, -32020)]
    assert forwarded(talk.agent(request("ping", 8), {"MCP-Protocol-Version": "2025-11-25"}))


def test_revision_is_what_the_handshake_settled() -> None:
    talk = Talk(DENY, {"on_batch": "evaluate"})
    assert codes(talk.agent([request("x", 1)])) == [(1, -32001)]
    talk.settle("2025-06-18")

    assert codes(talk.agent([request("x", 1)])) == [(None, -32600)]
    assert events(talk.agent(request("x", 1)))[0]["revision"] == "2025-06-18"


def test_without_handshake_a_line_is_under_the_revision_that_it_claims() -> None:
    talk = Talk(DENY)

    assert codes(talk.agent(request("x", 1, _meta=MODERN))) == [(1, -31001)]
    assert codes(talk.agent(request("x", 2))) == [(2, -32001)]


def test_event_names_the_revision_of_the_header() -> None:
    (event,) = events(http().agent(request("ping", 1), VERSION))

    assert event["revision"] == "2025-06-18"


def test_array_is_held_to_the_header_and_its_members_to_it_too() -> None:
    talk = http(on_batch="evaluate")

    assert codes(talk.agent([request("ping", 1)], VERSION)) == [(None, -32600)]
    assert codes(talk.agent([request("ping", 1, _meta=MODERN)], {})) == [(None, -32020)]
    assert codes(talk.agent([request("ping", 1)], {"Mcp-Method": "ping"})) == [(None, -32020)]
    assert forwarded(talk.agent([request("ping", 1)], {}))


def test_array_is_refused_when_nobody_says_otherwise() -> None:
    effects = Talk(ALLOW).agent([request("ping", 1)])

    assert kinds(effects) == ["Record", "Answer"]
    assert codes(effects) == [(None, -32004)]
    assert events(effects)[0]["reason_code"] == "batch_rejected"


@pytest.mark.parametrize(
    ("body", "expected", "is_array"),
    [
        (request("ping", "a"), [("a", -32003)], False),
        ([request("ping", 1), notification("x"), request("ping", "b")], [(1, -32003), ("b", -32003)], True),
        ([1, 2], [(None, -32003)], False),
        (b"garbage", [(None, -32003)], False),
    ],
)
def test_message_on_which_the_fence_failed_is_answered_as_far_as_it_can_be_read(
    body: Any, expected: list[tuple[Any, int]], is_array: bool
) -> None:
    talk = Talk(ALLOW)
    effects = talk.gate.internal_failure(as_bytes(body), talk.conversation, talk.circumstances)

    assert kinds(effects) == ["Record", "Answer"]
    assert codes(effects) == expected
    (answer,), (event,) = answered(effects), events(effects)
    assert isinstance(answer, list) is is_array
    assert (event["reason_code"], event["direction"]) == ("internal_error", "to_server")
    for member in answer if is_array else [answer]:
        assert member["error"]["message"] == event["reason"]
        assert member["error"]["data"]["agentfence"] == {
            "decision": "deny",
            "reason_code": "internal_error",
            "rule": None,
            "call_id": event["call_id"],
        }


@pytest.mark.parametrize("body", [notification("x"), result(1), [notification("x"), result(1)]])
def test_message_without_an_answer_on_which_the_fence_failed_is_dropped(body: Any) -> None:
    talk = Talk(ALLOW)
    effects = talk.gate.internal_failure(as_bytes(body), talk.conversation, talk.circumstances)

    assert kinds(effects) == ["Record", "Drop"]


def test_call_on_which_the_fence_failed_waits_no_longer() -> None:
    talk = Talk(ALLOW)
    talk.agent(READ)
    talk.gate.internal_failure(as_bytes(READ), talk.conversation, talk.circumstances)

    assert kinds(talk.server(result(1))) == ["Record", "Drop"]


def test_failure_while_a_message_is_judged_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Talk(MIXED, {"on_batch": "evaluate"})
    broken = Talk(MIXED).gate.events

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(type(broken), "judged", fail)
    monkeypatch.setattr(type(broken), "arguments", fail)
    for body in (READ, call("send", 2), [READ, call("send", 2)], call("rm", 3)):
        with pytest.raises(RuntimeError):
            talk.agent(body)

    assert len(talk.conversation.from_client) == 0


# --- whatever comes, in whatever order ---

IDS = st.sampled_from([1, "1", 2, "a"])
TOOLS = st.sampled_from(["read", "send", "rm", "call_once", "limited"])
MESSAGES = st.one_of(
    st.builds(call, TOOLS, IDS),
    st.builds(request, st.sampled_from(["ping", "vendor/denied", "initialize", "tasks/get"]), IDS),
    st.builds(notification, st.sampled_from(["notifications/initialized", "vendor/denied", "tools/call"])),
    st.builds(cancelled, IDS),
    st.builds(result, IDS),
    st.builds(error, IDS | st.none()),
)
BODIES = st.one_of(
    MESSAGES.map(as_bytes),
    st.lists(MESSAGES | st.sampled_from([1, {}, []]), max_size=4).map(as_bytes),
    st.binary(max_size=30),
    st.sampled_from([b"{}", b"[]", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}']),
)
NESTED = {"inputRequests": {"a": {"method": "sampling/createMessage"}}, "task": {"taskId": "t"}}
RESULTS = st.sampled_from([{}, NESTED, {"protocolVersion": "2024-11-05"}])
METHODS = st.sampled_from(["ping", "vendor/denied", "initialize", "tasks/get", "sampling/createMessage"])


class Conversing(RuleBasedStateMachine):
    """An agent and a server that say anything, people who answer late, a log that fails."""

    def __init__(self) -> None:
        super().__init__()
        self.talk = Talk(MIXED, {"on_batch": "evaluate", "max_batch": "3"})
        self.asks: list[tuple[Ask, bool]] = []
        self.ids = 0
        self.sent: dict[str, int] = {}
        self.answers: dict[str, int] = {}
        """How often a request of the agent went on, and how often it was answered."""
        self.cancelled: set[str] = set()

    def new_request(self, tool: str, method: str | None) -> dict[str, Any]:
        self.ids += 1
        id_ = self.ids if self.ids % 2 else str(self.ids)
        self.answers[str(id_)] = self.sent[str(id_)] = 0
        return call(tool, id_) if method is None else request(method, id_, taskId="t")

    def carry_out(self, effects: Effects, *, from_server: bool, log_fails: bool = False) -> None:
        for position, effect in enumerate(effects):
            match effect:
                case Record(pending=pending) if log_fails and pending is not None:
                    self.carry_out(self.talk.gate.unrecorded(pending), from_server=from_server)
                    return
                case Ask() as ask:
                    assert position == 0
                    self.asks.append((ask, from_server))
                case Forward(body=body):
                    self.count(json.loads(body), self.answers if from_server else self.sent)
                case Answer(body=body):
                    self.count(json.loads(body), {} if from_server else self.answers)
                case Record() | Withdraw() | Drop():
                    pass

    def count(self, value: Any, counts: dict[str, int]) -> None:
        """Count requests that go on, or answers that come back."""
        for message in value if isinstance(value, list) else [value]:
            id_, is_answer = str(message.get("id")), "method" not in message
            if id_ in counts and is_answer is (counts is self.answers):
                counts[id_] += 1

    @rule(tool=TOOLS, method=st.none() | METHODS, log_fails=st.booleans())
    def agent_calls(self, tool: str, method: str | None, log_fails: bool) -> None:
        message = self.new_request(tool, method)
        self.carry_out(self.talk.agent(message), from_server=False, log_fails=log_fails)

    @rule(tools=st.lists(TOOLS, min_size=2, max_size=3), log_fails=st.booleans())
    def agent_sends_a_batch(self, tools: list[str], log_fails: bool) -> None:
        self.talk.conversation.negotiated = None
        self.talk.conversation.spoken = ASSUMED
        batch = [self.new_request(tool, None) for tool in tools]
        self.carry_out(self.talk.agent(batch), from_server=False, log_fails=log_fails)

    @rule(body=st.binary(max_size=20) | st.builds(notification, st.sampled_from(["x", "tools/call"])))
    def agent_says_something_else(self, body: Any) -> None:
        self.carry_out(self.talk.agent(body), from_server=False)

    @rule(data=st.data())
    def agent_answers(self, data: st.DataObject) -> None:
        self.carry_out(self.talk.agent(result(data.draw(IDS))), from_server=False)

    @rule(data=st.data())
    def agent_cancels(self, data: st.DataObject) -> None:
        id_ = data.draw(st.integers(0, self.ids))
        self.cancelled.add(str(id_))
        self.carry_out(self.talk.agent(cancelled(id_)), from_server=False)

    @rule(data=st.data(), value=RESULTS, fails=st.booleans(), log_fails=st.booleans())
    def server_answers(self, data: st.DataObject, value: Any, fails: bool, log_fails: bool) -> None:
        id_ = data.draw(st.integers(0, self.ids + 1))
        if fails and self.talk.conversation.from_client.find_sent(id_):  # a foreign error passes at any time
            self.carry_out(self.talk.server(error(id_)), from_server=True, log_fails=log_fails)
        else:
            self.carry_out(self.talk.server(result(id_, value)), from_server=True, log_fails=log_fails)

    @rule(method=METHODS, id_=IDS)
    def server_asks(self, method: str, id_: Any) -> None:
        self.carry_out(self.talk.server(request(method, id_)), from_server=True)

    @rule(body=st.binary(max_size=20) | st.builds(cancelled, IDS) | st.builds(notification, st.just("x")))
    def server_says_something_else(self, body: Any) -> None:
        self.carry_out(self.talk.server(body), from_server=True)

    @rule(
        outcome=st.sampled_from(["approved", "denied", "cancelled"]), remember=st.booleans(), data=st.data()
    )
    def person_answers(self, outcome: str, remember: bool, data: st.DataObject) -> None:
        if self.asks:
            ask, from_server = self.asks.pop(data.draw(st.integers(0, len(self.asks) - 1)))
            self.carry_out(self.talk.say((ask,), outcome, remember=remember), from_server=from_server)

    @rule()
    def server_goes(self) -> None:
        self.carry_out(
            server_gone(self.talk.gate, self.talk.conversation, self.talk.circumstances, "it ended"),
            from_server=True,
        )

    @rule()
    def time_passes(self) -> None:
        self.talk.time += 70

    @invariant()
    def no_request_goes_on_or_is_answered_twice(self) -> None:
        assert max(self.sent.values(), default=0) <= 1
        assert max(self.answers.values(), default=0) <= 1

    def teardown(self) -> None:
        while self.asks:
            ask, from_server = self.asks.pop()
            self.carry_out(self.talk.say((ask,), "denied"), from_server=from_server)
        self.server_goes()
        unanswered = {id_ for id_, number in self.answers.items() if number == 0}

        assert unanswered <= self.cancelled
        assert len(self.talk.conversation.from_client) == 0


TestConversing = Conversing.TestCase
TestConversing.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)


@given(BODIES, st.sampled_from([ALLOW, DENY, MIXED]), st.sampled_from(list(Transport)))
@settings(max_examples=150, deadline=None)
def test_what_is_sent_to_the_gate_goes_on_or_is_answered(
    body: bytes, policy: str, transport: Transport
) -> None:
    def judge() -> Effects:
        talk = Talk(policy, {"on_batch": "evaluate"}, transport=transport)
        return talk.agent(body, {} if transport is Transport.HTTP else None)

    effects = judge()
    assert kinds(effects) == kinds(judge())
    ends = [kind for kind in kinds(effects) if kind != "Record"]
    assert ends in (["Forward"], ["Answer"], ["Drop"], ["Ask"])
    assert ends == ["Ask"] or kinds(effects)[0] == "Record"


@given(BODIES)
@settings(max_examples=100, deadline=None)
def test_policy_that_denies_everything_sends_nothing_but_housekeeping(body: bytes) -> None:
    for sent in forwarded(Talk(DENY, {"on_batch": "evaluate"}).agent(body)):
        for message in sent if isinstance(sent, list) else [sent]:
            assert message["method"] in {
                "ping",
                "initialize",
                "notifications/initialized",
                "notifications/cancelled",
            }
