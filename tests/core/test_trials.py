"""Tests of policies, run: one message or a session of them, through the gate."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text

from agentfence.core.redaction import build_redactor
from agentfence.core.trials import run_test

NOW = 1_800_000_000.0
POLICY = """
version: "1"
defaults: {decision: deny, methods: deny}
mode: observe
servers: {s: {command: [s]}}
tools:
  read: {decision: allow, constraints: {paths: {fields: [path], deny: ["**/.env"]}}}
  s/only: allow
  send: ask
  once: {decision: ask, remember: call}
  often: {decision: ask, remember: tool}
  limited: {decision: allow, constraints: {rate: {limit: 1, per: minute}}}
  old: {decision: allow, expires: 2027-01-01}
methods: {sampling/createMessage: ask, roots/list: allow}
resources: {"https://a.example/**": allow}
prompts: {greet: allow}
forbid: [{tools: [drop]}]
"""


def run(test):
    policy = load_text(f"{POLICY}tests:\n- {test}")
    return run_test(policy, build_redactor(builtin=True, patterns=()), policy.tests[0], NOW)


def got(test):
    return [(one.decision.value, one.rule, one.reason_code) for one in run(test)]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("{id: t, tool: read, arguments: {path: a}, expect: allow}", ("allow", "read", "rule_match")),
        ("{id: t, tool: read, arguments: {path: .env}, expect: deny}", ("deny", "read", "path_denied")),
        ("{id: t, tool: only, server: s, expect: allow}", ("allow", "s/only", "rule_match")),
        ("{id: t, tool: only, expect: deny}", ("deny", "defaults.decision", "default_decision")),
        ("{id: t, tool: send, expect: ask}", ("ask", "send", "rule_match")),
        ("{id: t, tool: drop, expect: deny}", ("deny", "forbid[0]", "forbidden")),
        ("{id: t, tool: old, expect: deny}", ("deny", "old", "rule_expired")),
        ("{id: t, tool: old, time: 2026-12-31, expect: allow}", ("allow", "old", "rule_match")),
        ("{id: t, method: roots/list, expect: allow}", ("allow", "methods.roots/list", "rule_match")),
        ("{id: t, method: initialize, expect: allow}", ("allow", "protocol", "housekeeping")),
        ("{id: t, method: vendor/x, expect: deny}", ("deny", "defaults.methods", "method_denied")),
        (
            "{id: t, uri: 'https://a.example/x', expect: allow}",
            ("allow", "resources.https://a.example/**", "rule_match"),
        ),
        ("{id: t, prompt: greet, expect: allow}", ("allow", "prompts.greet", "rule_match")),
        (
            "{id: t, method: completion/complete, prompt: other, expect: deny}",
            ("deny", "defaults.decision", "prompt_denied"),
        ),
        ("{id: t, method: tools/call, expect: deny}", ("deny", "protocol", "parse_error")),
    ],
)
def test_one_message_is_decided_as_on_a_surface_that_enforces(test, expected):
    (one,) = run(test)

    assert (one.decision.value, one.rule, one.reason_code) == expected
    assert one.is_as_expected


@pytest.mark.parametrize(
    ("expect", "is_as_expected"),
    [
        ("ask", True),
        ("deny", False),
        ("{decision: ask, rule: send}", True),
        ("{decision: ask, rule: other}", False),
        ("{decision: ask, reason_code: rule_match}", True),
        ("{decision: ask, rule: send, reason_code: other}", False),
    ],
)
def test_everything_that_is_expected_must_come(expect, is_as_expected):
    (one,) = run(f"{{id: t, tool: send, expect: {expect}}}")

    assert one.is_as_expected is is_as_expected
    assert one.reason == "tool `send` has its own rule: ask"


def test_rates_count_in_a_session_and_time_passes_between_its_steps():
    steps = "[{tool: limited, expect: allow}, {tool: limited, after: 59, expect: deny}, {tool: limited, after: 1, expect: allow}]"

    assert [one[0] for one in got(f"{{id: t, steps: {steps}}}")] == ["allow", "deny", "allow"]


@pytest.mark.parametrize(
    ("tool", "answer", "decisions"),
    [
        ("once", "remember", ["ask", "allow", "ask"]),
        ("often", "remember", ["ask", "allow", "allow"]),
        ("send", "remember", ["ask", "ask", "ask"]),
        ("once", "allow", ["ask", "ask", "ask"]),
        ("once", "deny", ["ask", "ask", "ask"]),
    ],
)
def test_approvals_hold_in_a_session_as_far_as_the_rule_lets_them(tool, answer, decisions):
    steps = ", ".join(
        f"{{tool: {tool}, arguments: {{a: {value}}}, expect: ask, answer: {answer}}}" for value in (1, 1, 2)
    )

    assert [one[0] for one in got(f"{{id: t, steps: [{steps}]}}")] == decisions


def test_steps_with_several_servers_are_one_session():
    steps = "[{tool: limited, server: s, expect: allow}, {tool: limited, expect: deny}]"

    assert [one[0] for one in got(f"{{id: t, steps: {steps}}}")] == ["allow", "deny"]


def test_each_test_is_a_session_of_its_own():
    test = "{id: t, tool: limited, expect: allow}"

    assert got(test) == got(test)
