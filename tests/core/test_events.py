from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies_in_memory import load_text
from talking import NOW

from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.decision import Decision
from agentfence.core.effects import Approval, Given, WrittenEvent
from agentfence.core.events import Events, tool_of
from agentfence.core.jsonrpc import Message, Notification, Request, Response
from agentfence.core.pending import Judged, Pending
from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.record import Chain
from agentfence.core.redaction import build_redactor
from agentfence.core.revisions import ASSUMED
from agentfence.core.session import Conversation, Session, Transport
from agentfence.core.values import replace

POLICY = 'version: "1"\naudit: {include_redacted_arguments: true}\n'
SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6q7R8"
ALLOWED = Decision(Verdict.ALLOW, "rule_match", "why", "rule")


@pytest.fixture(scope="module")
def events() -> Events:
    return Events(load_text(POLICY), build_redactor(builtin=True, patterns=()))


def judged(
    events: Events, message: Message | None, id_: Any = None, *, from_server: bool = False, **more: Any
) -> dict[str, Any]:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, "files")
    member = Judged("call-1", message, more.pop("policy", ALLOWED), id_, more.pop("approval", None))
    pending = Pending((member,), b"", conversation, ASSUMED, Circumstances(), from_server=from_server)
    return dict(events.judged(member, pending, Mode.ENFORCE, decision="allow", time=NOW, **more))


def test_event_of_a_call_says_all_of_it(events: Events) -> None:
    message = Request(7, "tools/call", {"name": "read", "arguments": {"path": "a"}, "_meta": {"x": 1}})

    assert judged(events, message, 7) == {
        "kind": "judged",
        "timestamp": "2023-11-14T22:13:20.000000Z",
        "call_id": "call-1",
        "transport": "stdio",
        "server": "files",
        "client": "agent",
        "direction": "to_server",
        "request_id": 7,
        "method": "tools/call",
        "tool": "read",
        "verdict": "allow",
        "decision": "allow",
        "reason_code": "rule_match",
        "reason": "why",
        "rule": "rule",
        "mode": "enforce",
        "revision": "2025-03-26",
        "policy_digest": load_text(POLICY).digest,
        "arguments": {"path": "a"},
    }


def test_event_of_another_method_has_its_params(events: Events) -> None:
    event = judged(events, Notification("vendor/x", {"a": 1}), from_server=True)

    assert (event["method"], event["arguments"], event["direction"]) == ("vendor/x", {"a": 1}, "to_client")
    assert not {"tool", "request_id"} & event.keys()


@pytest.mark.parametrize("message", [None, Response(1, {"a": 1}), Request(1, "ping"), Request(1, "ping", {})])
def test_event_without_arguments_has_none(events: Events, message: Message | None) -> None:
    assert "arguments" not in judged(events, message)


TEXTS = st.sampled_from(["", "read", 'a"b\\\n', "é\u2028\U0001f600", "\ud800", SECRET, "x" * 700]) | st.text(
    max_size=9
)
MESSAGES = st.one_of(
    st.none(),
    st.just(Response(1, {})),
    st.builds(
        Request,
        TEXTS,
        st.just("tools/call"),
        st.fixed_dictionaries({"name": TEXTS, "arguments": st.dictionaries(TEXTS, TEXTS)}),
    ),
    st.builds(Notification, TEXTS, st.none() | st.dictionaries(TEXTS, st.integers() | TEXTS)),
)
APPROVALS = st.none() | st.builds(
    Approval,
    st.sampled_from(["approved", "denied"]),
    st.just("tty"),
    st.none() | TEXTS,
    st.integers(0),
    st.booleans(),
    given=st.none() | st.builds(Given, st.just("queue"), st.just(NOW), TEXTS),
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(MESSAGES, APPROVALS, TEXTS, st.none() | st.integers() | TEXTS), min_size=1, max_size=3
    ),
    st.none() | TEXTS,
    st.booleans(),
    st.booleans(),
)
def test_line_of_an_event_is_the_one_that_its_members_give(
    rows: list[Any], server: str | None, from_server: bool, is_hashed: bool
) -> None:
    writer = Events(load_text(POLICY), build_redactor(builtin=True, patterns=()))
    conversation = Conversation(Session("agent é", is_identified=True), Transport.STDIO, server)
    chain = Chain('a "run"', is_hashed=is_hashed)
    for message, approval, text, id_ in rows + rows:  # what the first gave is remembered for the second
        policy = Decision(Verdict.DENY, "code", text, text, remember="tool")
        member = Judged(f"call {text}", message, policy, id_, approval)
        pending = Pending(
            (member,),
            text.encode("utf-8", "replace"),
            conversation,
            ASSUMED,
            Circumstances(),
            from_server=from_server,
        )
        event = writer.judged(member, pending, Mode.OBSERVE, decision="deny", time=NOW, reason=text[:3])
        line, after = chain.seal(event)

        assert isinstance(event, WrittenEvent)
        assert (line, after) == chain.seal(dict(event))
        chain = after


def test_event_of_an_answer_names_no_method(events: Events) -> None:
    assert not {"method", "tool"} & judged(events, Response(1, {})).keys()


def test_arguments_are_written_only_when_the_policy_says_so() -> None:
    silent = Events(load_text('version: "1"\n'), build_redactor(builtin=True, patterns=()))

    assert "arguments" not in judged(silent, Request(1, "tools/call", {"name": "a", "arguments": {"b": 1}}))


def test_event_tells_what_a_person_said(events: Events) -> None:
    event = judged(events, Request(1, "ping"), approval=Approval("denied", "tty", "eva", 1_200))

    assert event["approval"] == {"outcome": "denied", "approver": "tty", "by": "eva", "waited_ms": 1_200}


def test_event_tells_that_an_approval_holds_for_the_session(events: Events) -> None:
    asked = replace(ALLOWED, remember="tool")
    event = judged(
        events,
        Request(1, "ping"),
        policy=asked,
        approval=Approval("approved", "tty", "eva", 9, remember=True),
    )

    assert event["approval"]["holds_for"] == "tool"


def test_event_tells_how_a_remembered_approval_was_given(events: Events) -> None:
    how = Given("queue", 0.0, "call-7")
    event = judged(events, Request(1, "ping"), approval=Approval("approved", "session", by="eva", given=how))

    assert event["approval"] == {
        "outcome": "approved",
        "approver": "session",
        "by": "eva",
        "waited_ms": 0,
        "given": {"approver": "queue", "timestamp": "1970-01-01T00:00:00.000000Z", "call_id": "call-7"},
    }


def test_given_reason_stands_instead_of_the_policys(events: Events) -> None:
    event = judged(events, None, reason="other", reason_code="code")

    assert (event["reason"], event["reason_code"], event["verdict"]) == ("other", "code", "allow")


def test_event_of_a_refusal_says_what_is_known(events: Events) -> None:
    conversation = Conversation(Session("agent", is_identified=True), Transport.HTTP, None)
    event = events.refused(conversation, NOW, "call-1", "oversize", "too long", to_client=False)

    assert event["kind"] == "refused"
    assert (event["verdict"], event["decision"], event["reason_code"]) == ("deny", "deny", "oversize")
    assert not {"method", "tool"} & event.keys()
    message = Request(1, "tools/call", {"name": "read"})
    event = events.refused(conversation, NOW, "c", "header_mismatch", "t", to_client=True, message=message)
    assert (event["method"], event["tool"], event["direction"]) == ("tools/call", "read", "to_client")


def answered(
    events: Events, response: Response, *, method: str = "tools/call", **more: Any
) -> dict[str, Any]:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, "files")
    id_ = more.pop("id_", 7)
    call = CallInFlight(
        id_, "call-1", method, ASSUMED, "rule", Verdict.ALLOW, Stage.SENT, more.pop("sent_at", NOW - 0.25)
    )
    return dict(events.answered(call, response, conversation, 42, NOW))


def test_event_of_an_answer_follows_its_call(events: Events) -> None:
    event = answered(events, Response(7, {"content": []}))

    assert {key: event[key] for key in ("kind", "call_id", "direction", "request_id", "method")} == {
        "kind": "answered",
        "call_id": "call-1",
        "direction": "to_client",
        "request_id": 7,
        "method": "tools/call",
    }
    assert (event["status"], event["bytes"], event["latency_ms"]) == ("result", 42, 250)


@pytest.mark.parametrize(
    ("response", "status", "code"),
    [
        (Response(7, {"isError": False}), "result", None),
        (Response(7, {"isError": True}), "tool_error", None),
        (Response(7, [True]), "result", None),
        (Response(7, error={"code": -32000, "message": "m"}, is_error=True), "error", -32000),
        (Response(7, error={"message": "m"}, is_error=True), "error", None),
    ],
)
def test_event_of_an_answer_tells_how_the_call_went(
    events: Events, response: Response, status: str, code: int | None
) -> None:
    event = answered(events, response)

    assert (event["status"], event.get("error_code")) == (status, code)


def test_event_of_an_answer_from_another_exchange_says_what_is_known(events: Events) -> None:
    event = answered(events, Response(SECRET, {}), method="", id_=SECRET, sent_at=None)

    assert "method" not in event
    assert event["latency_ms"] is None
    assert SECRET not in json.dumps(event)


def test_members_of_a_batch_have_the_digest_of_its_bytes(events: Events) -> None:
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, "files")
    members = tuple(Judged(f"call-{n}", Request(n, "ping"), ALLOWED, n) for n in (1, 2))
    pending = Pending(members, b"[1, 2]", conversation, ASSUMED, Circumstances())
    digests = {
        events.judged(member, pending, Mode.ENFORCE, decision="allow", time=NOW)["action_digest"]
        for member in members
    }

    assert digests == {"sha256:" + sha256(b"[1, 2]").hexdigest()}


def test_what_is_remembered_of_names_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.core.events._MOST_REMEMBERED", 3)
    writer = Events(load_text(POLICY), build_redactor(builtin=True, patterns=()))
    for number in range(9):
        assert writer.text(f"tool {number}") == f"tool {number}"
    long = "a tool " * 200
    assert writer.text(long) == long

    for number in range(9):
        judged(writer, Request(1, "ping"), policy=replace(ALLOWED, reason=f"reason {number}"))
        judged(writer, Request(1, "ping"), policy=replace(ALLOWED, reason=long))

    assert len(writer._shown) <= 3
    assert long not in writer._shown
    assert len(writer._pieces) <= 3
    assert not any(long in alike for alike in writer._pieces)


@pytest.mark.parametrize(
    "message",
    [
        Request(SECRET, "tools/call", {"name": SECRET, "arguments": {"a": [SECRET], SECRET: 1}}),
        Request("x" * 250 + SECRET, "x" * 240 + " " + SECRET, {"token": SECRET}),
        Notification(SECRET, {"a": f"Bearer {SECRET}"}),
    ],
)
def test_event_holds_no_secret(events: Events, message: Any) -> None:
    policy = Decision(Verdict.DENY, "code", f"because of {SECRET}", "rule")
    id_ = message.id if isinstance(message, Request) else None
    text = json.dumps(judged(events, message, id_, policy=policy))

    assert SECRET[:12] not in text


def test_names_are_cut(events: Events) -> None:
    event = judged(events, Request("i" * 9_000, "tools/call", {"name": "n" * 9_000}), "i" * 9_000)

    assert len(event["tool"]) <= 257
    assert len(event["request_id"]) <= 257


@pytest.mark.parametrize(
    ("message", "tool"),
    [
        (Request(1, "tools/call", {"name": "a"}), "a"),
        (Request(1, "tools/call", {"name": 1}), None),
        (Request(1, "tools/call"), None),
        (Request(1, "prompts/get", {"name": "a"}), None),
    ],
)
def test_tool_is_named_by_calls_alone(message: Request, tool: str | None) -> None:
    assert tool_of(message) == tool


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=9), json_values, max_size=4))
@settings(max_examples=60, deadline=None)
def test_any_message_gives_an_event_that_can_be_written(method: str, params: dict[str, Any]) -> None:
    writer = Events(load_text(POLICY), build_redactor(builtin=True, patterns=()))

    json.dumps(judged(writer, Request(1, method, params), 1))


@pytest.mark.parametrize(("size", "shown"), [(8_388_608, {"path": "a"}), (8_388_609, "[too long]")])
def test_arguments_of_a_message_that_would_not_fit_in_a_line_are_left_out(
    events: Events, size: int, shown: object
) -> None:
    message = Request(7, "tools/call", {"name": "read", "arguments": {"path": "a"}})
    conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, "files")
    member = Judged("call-1", message, ALLOWED, 7, None)
    pending = Pending((member,), b" " * size, conversation, ASSUMED, Circumstances(), from_server=False)

    assert events.judged(member, pending, Mode.ENFORCE, decision="allow", time=NOW)["arguments"] == shown
