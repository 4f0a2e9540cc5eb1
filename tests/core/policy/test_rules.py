"""Rules: times, blocks of constraints, and where their problems are shown."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text

from agentfence.core.errors import PolicyError


def rule(body):
    return load_text(f'version: "1"\ntools:\n  t: {{decision: allow, {body}}}').tools.find(None, "t")


def problem(body):
    with pytest.raises(PolicyError) as caught:
        rule(body)
    (found,) = caught.value.problems
    return found


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-02", 86400),
        ("2027-12-31", 1830211200),
        ("2027-12-31T00:00:00Z", 1830211200),
        ("2027-12-31t01:00:00+01:00", 1830211200),
        ("2027-12-30 19:00:00.5-05:00", 1830211200.5),
    ],
)
def test_expiry_is_a_date_or_a_time_in_utc(text, seconds):
    assert seconds == rule(f"expires: {text}").expires


@pytest.mark.parametrize(
    "text",
    [
        "tomorrow",
        "2027-13-01",
        "2027-02-30",
        "20271231",
        "2027-12-31T00:00:00",
        "2027-12-31T25:00:00Z",
        "2027-W01-1",
        "2027-12-31T00:00Z",
        "2027-12-31T00:00:00+1",
        "٢٠٢٧-12-31",
        "2027-12-31\\n",
    ],
)
def test_other_times_are_refused(text):
    found = problem(f'expires: "{text}"')

    assert (found.code, found.path) == ("wrong_time", "tools.t.expires")


def test_kinds_are_checked_in_their_order_and_blocks_in_the_files():
    found = rule("constraints: {urls: {fields: [b]}, paths: [{fields: [c]}, {fields: [a]}]}")

    assert [(constraint.kind, constraint.constrained_fields()) for constraint in found.constraints] == [
        ("paths", ("c",)),
        ("paths", ("a",)),
        ("urls", ("b",)),
    ]


def test_problem_of_a_block_is_shown_at_the_wrong_value():
    found = problem("constraints: {paths: [{fields: [a]}, {fields: [a], deny: [ok, '[']}]}")

    assert (found.code, found.path) == ("wrong_constraint", "tools.t.constraints.paths[1].deny[1]")
    assert found.source_line[found.place.column - 1 :][: found.width] == "'['"


def test_every_rule_with_problems_is_shown():
    with pytest.raises(PolicyError) as caught:
        load_text(
            'version: "1"\ntools:\n'
            "  b: {decision: allow, constraints: {paths: {roots: ['${NOPE}']}}}\n"
            "  a: {decision: allow, constraints: {paths: {deny: ['[']}}, expires: soon}\n"
        )

    assert [found.place.line for found in caught.value.problems] == [3, 4, 4]


def test_deny_that_would_ask_is_refused():
    with pytest.raises(PolicyError) as caught:
        load_text('version: "1"\ntools: {t: {decision: deny, otherwise: ask}}')

    assert caught.value.problems[0].code == "useless_otherwise"


def test_context_reaches_the_constraints():
    home = rule("constraints: {paths: {roots: ['~', '${PROJECT}', '.']}}").constraints[0]

    places = [root.place for root in home.roots]
    assert places == ["/home/me", "/work/project", "/etc/policies"]
