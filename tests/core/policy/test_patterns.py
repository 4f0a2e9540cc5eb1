"""`resources:` and `prompts:`: a table of what covers what."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from policies_in_memory import load_text

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "policy" / "patterns.yaml").read_text())


def decide(rules, value):
    return next((str(rule.decision) for rule in rules if rule.matches.matches(value)), None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_entry_that_covers_decides(case):
    section = "prompts" if "prompts" in case else "resources"
    policy = load_text(yaml.safe_dump({"version": "1", section: case[section]}))
    rules = getattr(policy, section)

    assert case["cases"] == {value: decide(rules, value) for value in case["cases"]}


def test_order_of_entries_does_not_matter():
    one = load_text(
        'version: "1"\nresources: {"https://a.example/**": allow, "https://a.example/b/**": deny}'
    )
    other = load_text(
        'version: "1"\nresources: {"https://a.example/b/**": deny, "https://a.example/**": allow}'
    )

    assert [rule.pattern for rule in one.resources] == [rule.pattern for rule in other.resources]
    assert one.digest == other.digest


def test_policy_without_sections_has_none():
    policy = load_text('version: "1"')

    assert (policy.resources, policy.prompts) == (None, None)


POLICY = load_text(
    'version: "1"\nresources: {"file:///w/**": allow, "https://*.example/**": ask, "x:**": deny}'
)


@given(st.one_of(st.text(), st.text("file:/%.2ew\\?#\0", max_size=20).map("file:///w/".__add__)))
@settings(max_examples=150, deadline=None)
def test_any_uri_is_covered_or_not(uri):
    assert decide(POLICY.resources, uri) in {None, "allow", "ask", "deny"}
