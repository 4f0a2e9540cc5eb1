"""Lint: a table of policies with what is said of each, and that nothing makes it fail."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from policies_in_memory import load_texts, problems_in
from policy_documents import documents

from agentfence.core.policy.language import LANGUAGE
from agentfence.core.policy.lint import CODES, lint
from agentfence.core.policy.original import ORIGINAL
from agentfence.core.policy.tool_definitions import read_tool_definitions
from agentfence.core.values import replace

CASES = Path(__file__).parents[3] / "cases" / "lint"
FILES = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(CASES.glob("*.yaml"))}
ALL = [pytest.param(case, id=case["id"]) for cases in FILES.values() for case in cases]
HEAD = 'version: "1"\ndefaults: {decision: deny, methods: deny}\n'
NOW = datetime(2027, 1, 15, tzinfo=UTC).timestamp()
TOOLS = read_tool_definitions(
    json.dumps(
        [{"name": name, "inputSchema": {"properties": {"path": {}, "n": {}}}} for name in "ab"]
    ).encode(),
    None,
)


def lint_text(text, tools=()):
    return lint(load_texts({"root.yaml": text}), NOW, tools)


def tools_of(case):
    for tool in case.get("tools", ()):
        (read,) = read_tool_definitions(json.dumps([tool]).encode(), tool.get("server"))
        yield read


@pytest.mark.parametrize("case", ALL)
def test_policy_gets_these_warnings_and_no_others(case):
    found = lint_text(HEAD + case["policy"], tuple(tools_of(case)))

    assert case.get("expect", []) == [f"{one.place.line}:{one.place.column} {one.code}" for one in found]
    assert any(case.get("says", "") in f"{one.message} {one.help}" for one in found) or "says" not in case
    assert all(one.help and one.path and one.source_line for one in found)


def test_table_tries_every_code_and_holds_policies_without_fault():
    said = {
        warning.split()[1] for cases in FILES.values() for case in cases for warning in case.get("expect", ())
    }
    honest = [case for cases in FILES.values() for case in cases if "expect" not in case]

    assert said | {"open_methods"} == set(CODES)
    assert len(honest) >= len(ALL) / 4


@pytest.mark.parametrize(
    ("text", "warns"),
    [
        ('version: "1"', True),
        ('version: "1"\ndefaults: {decision: deny}', True),
        ('version: "1"\ndefaults: {decision: deny, methods: allow}', False),
        ('version: "1"\ndefaults: {decision: deny, methods: ask}', False),
        ('version: "1"\ndefaults: {decision: ask}', False),
        ('version: "0.1"\ndefaults: {decision: deny}', True),
    ],
)
def test_methods_left_open_under_a_default_deny_are_said(text, warns):
    assert ["open_methods"] * warns == [one.code for one in lint_text(text)]


def test_rules_of_an_imported_file_are_linted_where_they_stand_but_not_those_of_a_packaged_one():
    files = {
        "root.yaml": HEAD + 'imports: [team.yaml, "agentfence:pack"]',
        "team.yaml": 'version: "1"\ntools: {"read*": allow}',
        "agentfence:pack": 'version: "1"\ntools: {"write*": allow}',
    }

    assert [str(one.place) for one in lint(load_texts(files), NOW)] == ["team.yaml:2:9"]


def test_policy_of_the_go_agentfence_is_linted_by_its_own_meaning():
    text = 'version: "0.1"\ntools:\n  "*": {decision: ask}\n  "a/b_*": {decision: deny}\n  "b_*": {decision: deny}\n'
    codes = [f"{one.place.line} {one.code}" for one in lint_text(text)]

    assert codes == ["1 open_methods", "5 hidden_pattern"]


def test_warnings_come_in_order_of_place():
    found = lint_text(HEAD + 'tools: {"b*": allow, "a*": allow}')
    places = [(one.place.line, one.place.column) for one in found]

    assert len(found) == 2
    assert sorted(places) == places


@settings(max_examples=60, deadline=None)
@given(documents(LANGUAGE, oddness=0))
def test_any_policy_that_loads_can_be_linted(document):
    text = json.dumps({**document, "version": "1", "imports": []} | {"imports": ["x.yaml"]})
    files = {"root.yaml": text, "x.yaml": 'version: "1"'}
    if not problems_in(lambda: load_texts(files)):
        found = lint(load_texts(files), NOW, TOOLS)

        assert {one.code for one in found} <= set(CODES)
        assert all(replace(one, help=None).message for one in found)


def test_bracket_that_stands_for_itself_can_be_linted():
    policy = '{version: "0.1", tools: {a: {decision: allow, constraints: {paths: {allow: ["["]}}}}}'

    lint(load_texts({"root.yaml": policy}), NOW, TOOLS)


@settings(max_examples=40, deadline=None)
@given(documents(ORIGINAL, oddness=0))
def test_any_policy_of_the_go_agentfence_that_loads_can_be_linted(document):
    files = {
        "root.yaml": json.dumps({**document, "version": "0.1", "imports": ["x.yaml"]}),
        "x.yaml": 'version: "0.1"',
    }
    if not problems_in(lambda: load_texts(files)):
        assert {one.code for one in lint(load_texts(files), NOW, TOOLS)} <= set(CODES)
