"""Offline judging: one session, one outcome a record, and what its event says."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Approval
from agentfence.core.engine import Call
from agentfence.core.offline import OfflineJudge
from agentfence.core.recorded_calls import RecordedCall
from agentfence.core.redaction import build_redactor

POLICY = """
version: "1"
tools:
  read: allow
  send: ask
  deploy: {decision: ask, remember: call}
  limited: {decision: allow, constraints: {rate: {limit: 1, per: minute}}}
audit: {include_redacted_arguments: true}
"""
NOW = 1_800_000_000.0
TOKEN = "ghp_Zq7Wm2Xk9Lp4Vt8Rn3Bc6Hd1Fs5Jg0Ya7Te2"


def make_judge(asks=None):
    return OfflineJudge(load_text(POLICY), build_redactor(builtin=True, patterns=()), asks)


def call(tool, id_="1", server=None, **arguments):
    return RecordedCall(id_, Call(tool, arguments, server), server)


def judge(recorded, asks=None, now=None):
    return make_judge(asks).judge(recorded, Circumstances(NOW), now)


def test_outcome_is_what_the_policy_says():
    outcome, event = judge(call("read"))

    assert (outcome.id, outcome.tool, outcome.decision, outcome.reason_code) == (
        "1",
        "read",
        "allow",
        "rule_match",
    )
    assert event is None


def test_ask_is_left_when_nobody_is_to_be_asked():
    assert judge(call("send"))[0].decision == "ask"


@pytest.mark.parametrize(
    ("outcome", "decision", "code"),
    [
        ("approved", "allow", "approval_approved"),
        ("denied", "deny", "approval_denied"),
        ("no_approver", "deny", "non_interactive_denied"),
        ("timeout", "deny", "approval_timeout"),
    ],
)
def test_answer_takes_the_place_of_ask(outcome, decision, code):
    for asks in (Approval(outcome, "tty"), lambda _: Approval(outcome, "tty")):
        found, event = judge(call("send"), asks, NOW)

        assert (found.decision, found.reason_code) == (decision, code)
        assert (event["verdict"], event["decision"], event["reason_code"]) == ("ask", decision, "rule_match")
        assert event["approval"]["outcome"] == outcome


def test_remembered_approval_holds_for_the_same_call_and_nobody_is_asked_again():
    asked = []

    def asks(question):
        asked.append(question)
        return Approval("approved", "tty", remember=True)

    judging = make_judge(asks)
    decisions = [
        judging.judge(one, Circumstances(NOW))[0].decision
        for one in (call("deploy", branch="a"), call("deploy", branch="a"), call("deploy", branch="b"))
    ]

    assert decisions == ["allow"] * 3
    assert [question.arguments for question in asked] == [{"branch": "a"}, {"branch": "b"}]


def test_rates_count_across_the_records_of_a_run():
    judging = make_judge()

    assert [judging.judge(call("limited"), Circumstances(NOW + s))[0].decision for s in (0, 1, 61)] == [
        "allow",
        "deny",
        "allow",
    ]


def test_event_is_of_the_time_of_writing_and_says_what_kind_of_run_it_was():
    _, dry = judge(call("read", path="a"), None, NOW)
    _, wet = judge(call("read"), Approval("denied", "tty"), NOW)

    assert dry["timestamp"] == "2027-01-15T08:00:00.000000Z"
    assert (dry["mode"], wet["mode"]) == ("dry_run", "audit_only")
    assert (dry["transport"], dry["client"], dry["arguments"]) == ("offline", "offline", {"path": "a"})


def test_calls_are_numbered_in_the_log():
    judging = make_judge()
    events = [judging.judge(call("read"), Circumstances(), NOW)[1] for _ in range(2)]
    events.append(judging.refuse("line-3", "parse_error", "why", NOW)[1])

    assert [event["call_id"] for event in events] == ["call-1", "call-2", "call-3"]


def test_refused_record_is_a_deny_with_an_event_of_its_own():
    outcome, event = make_judge().refuse("line-7", "parse_error", "parse error: it is broken", NOW)

    assert (outcome.id, outcome.tool, outcome.decision) == ("line-7", "", "deny")
    assert (event["kind"], event["reason_code"], event["request_id"]) == ("refused", "parse_error", "line-7")
    assert make_judge().refuse("line-7", "parse_error", "why")[1] is None


def test_no_secret_is_shown_or_written():
    judging = make_judge()
    found, event = judging.judge(call(TOKEN, TOKEN, TOKEN, text=TOKEN), Circumstances(), NOW)
    refused = judging.refuse(TOKEN, "parse_error", f"duplicate key {TOKEN}", NOW)

    assert TOKEN not in f"{found} {event} {refused}"


def test_names_that_never_come_again_are_not_kept():
    judging = make_judge()
    for number in range(10_000):
        judging.judge(call(f"tool{number}", server=f"s{number}"), Circumstances())

    assert len(judging._shown) <= 4_096
    assert len(judging._conversations) <= 1_000
