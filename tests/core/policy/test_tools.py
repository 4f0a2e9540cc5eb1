"""Tools, groups and forbid: a table of which rule decides."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from policies_in_memory import load_text

from agentfence.core.policy.model import Verdict

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "policy" / "precedence.yaml").read_text())


def found(policy, call):
    server, _, tool = call.rpartition(" ") if " " in call.strip() else ("", "", call)
    rule = policy.tools.find(server or None, tool)
    return f"{rule.kind} {rule.name}" if rule else "default"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_rule_of_highest_precedence_is_found(case):
    policy = load_text(yaml.safe_dump({"version": "1", **case["policy"]}))

    assert case["finds"] == {call: found(policy, call) for call in case["finds"]}


def test_rule_knows_its_place_and_what_was_written():
    policy = load_text(
        """
version: "1"
tools:
  deploy:
    decision: ask
    message: only on weekdays
    expires: 2027-12-31
    remember: tool
    taint: false
    constraints:
      paths: {fields: [a]}
      rate: {limit: 10, per: hour}
"""
    )

    rule = policy.tools.find(None, "deploy")
    assert str(rule.place) == "root.yaml:4:3"
    assert (rule.message, rule.remember, rule.taint) == ("only on weekdays", "tool", False)
    assert (rule.rate.limit, rule.rate.window_seconds) == (10, 3600)
    assert rule.expires == 1830211200.0
    assert [constraint.kind for constraint in rule.constraints] == ["paths"]


def test_short_form_is_a_rule_with_a_decision_alone():
    short, long = (
        load_text('version: "1"\ntools: {a: ask}'),
        load_text('version: "1"\ntools: {a: {decision: ask}}'),
    )

    assert Verdict.ASK is short.tools.find(None, "a").decision
    assert short.digest == long.digest


def test_forbid_keeps_patterns_messages_and_places():
    policy = load_text(
        'version: "1"\nforbid:\n  - {tools: ["*/delete_*", rm]}\n  - {tools: [x], message: never}'
    )

    first, second = policy.forbid
    assert (
        first.name,
        first.patterns,
        first.message,
        str(first.place),
    ) == ("forbid[0]", ("*/delete_*", "rm"), None, "root.yaml:3:5")
    assert [glob.matches("files/delete_x") for glob in first.tools] == [True, False]
    assert (second.name, second.message) == ("forbid[1]", "never")
