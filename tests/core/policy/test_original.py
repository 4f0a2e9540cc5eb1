"""Policies of the Go AgentFence: tables of how they are read and what they decide."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from policies_in_memory import file_of, load_text, load_texts

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call, Engine
from agentfence.core.errors import PolicyError
from agentfence.core.policy.imports import resolve
from agentfence.core.policy.nodes import plain_table
from agentfence.core.session import Session

TABLES = Path(__file__).parents[2] / "cases" / "policy"
CASES = yaml.safe_load((TABLES / "original.yaml").read_text())
DIFFERENCES = yaml.safe_load((TABLES / "original_differences.yaml").read_text())
PAGE = Path(__file__).parents[3] / "docs" / "policy-language.md"
DECISIONS = yaml.safe_load((TABLES / "original_decisions.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_original_is_read_as_go_reads_it(case):
    files = {"root.yaml": case["text"], "base.yaml": case.get("base", "")}
    if "problems" in case:
        with pytest.raises(PolicyError) as caught:
            load_texts(files)
        found = [f"{one.place.line}:{one.place.column} {one.code}" for one in caught.value.problems]
        assert case["problems"] == found
    else:
        document = resolve(
            file_of("root.yaml", case["text"]), lambda reference, _: file_of(reference, files[reference])
        )
        assert document.is_original
        assert case["document"] == plain_table(document.table.without("imports"))


@pytest.mark.parametrize(
    ("policy", "tool", "arguments", "expected"),
    [(case["policy"], *call) for case in DECISIONS for call in case["calls"]],
)
def test_original_decides_alike(policy, tool, arguments, expected):
    engine = Engine(load_text(policy))
    decision = engine.decide_call(
        Call(tool, arguments), Session("agent", is_identified=True), Circumstances()
    )

    assert expected == f"{decision.verdict} {decision.reason_code}"


@pytest.mark.parametrize(
    ("rule", "arguments", "expected"),
    [(case["rule"], arguments, here) for case in DIFFERENCES for arguments, _, here in case["calls"]],
)
def test_original_decides_otherwise_only_as_the_page_says(rule, arguments, expected):
    engine = Engine(load_text(yaml.safe_dump({"version": "0.1", "tools": {"t": rule}})))
    decision = engine.decide_call(Call("t", arguments), Session("agent", is_identified=True), Circumstances())

    assert expected == f"{decision.verdict} {decision.reason_code}"


def test_page_lists_exactly_the_differences_in_constraints_that_are_tested():
    table = (
        PAGE.read_text().partition("What differs in constraints")[2].partition("What differs elsewhere")[0]
    )
    rows = [
        line.split(" | ")[0].removeprefix("| ")
        for line in table.splitlines()
        if line.startswith("| ") and not line.startswith("| |")
    ]

    assert rows == [*dict.fromkeys(case["row"] for case in DIFFERENCES), "reasons"]


def test_missing_version_is_a_doubt_and_no_error():
    doubts = load_texts({"root.yaml": "tools: {}"}).problems

    assert [doubt.code for doubt in doubts] == ["missing_version"]
    assert load_texts({"root.yaml": 'version: "0.1"'}).problems == ()


def test_keys_of_version_1_without_version_get_the_advice_to_write_it():
    with pytest.raises(PolicyError) as caught:
        load_text("servers: {}")

    assert 'version: "1"' in (caught.value.problems[0].help or "")


@pytest.mark.parametrize(
    ("version", "code"),
    [
        ('"2"', "newer_version"),
        ("1.1", "newer_version"),
        ("10", "newer_version"),
        ('"1.0"', "wrong_value"),
        ("one", "wrong_value"),
        ("true", "wrong_value"),
        ('""', "wrong_value"),
        ("[1]", "wrong_type"),
    ],
)
def test_other_versions_are_refused(version, code):
    with pytest.raises(PolicyError) as caught:
        load_text(f"version: {version}")

    assert [code] == [problem.code for problem in caught.value.problems]


def test_secrets_are_redacted_unless_the_policy_says_no():
    assert load_text('version: "0.1"').redaction.enabled
    assert not load_text('version: "0.1"\nredaction: {enabled: no}').redaction.enabled
