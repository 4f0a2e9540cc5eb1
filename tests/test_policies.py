"""The packaged policies: each keeps its own tests, and they get on with one another."""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
import yaml

from agentfence.cli.loading import redactor_of
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call, Engine
from agentfence.core.policy.model import Verdict
from agentfence.core.policy.written_rules import written_rules
from agentfence.core.session import Session
from agentfence.core.trials import run_test
from agentfence.policy_files import FoundPolicy, load_document, packaged_folder

ROOT = Path(__file__).parents[1]
NAMES = sorted(path.stem for path in Path(packaged_folder()).glob("*.yaml"))
OF_SERVERS = ["browser", "fetch", "filesystem", "git", "github", "memory", "postgres", "shell", "sqlite"]
OF_TOOLS_BY_NAME = ["default", "observe", "read-only"]
NOW = 1_800_000_000.0


def load(reference):
    return load_document(FoundPolicy(str(reference), "test"), {"HOME": "/home/me"})


@cache
def packaged(name):
    return load(f"agentfence:{name}")


def document_of(name):
    return yaml.safe_load(Path(packaged_folder(), f"{name}.yaml").read_text())


def failures(policy, tests):
    """What is not as expected, for people to read."""
    redactor = redactor_of(policy)
    return [
        f"{test.id}: expected {got.step.expect}, got {got.decision} by {got.rule}: {got.reason}"
        for test in tests
        for got in run_test(policy, redactor, test, NOW)
        if not got.is_as_expected
    ]


def test_every_policy_is_of_one_kind():
    assert sorted(OF_SERVERS + OF_TOOLS_BY_NAME) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_policy_loads_without_doubts_and_keeps_its_own_tests(name):
    loaded = packaged(name)

    assert loaded.problems == ()
    assert failures(loaded.policy, loaded.policy.tests) == []


@pytest.mark.parametrize("name", NAMES)
def test_tests_of_a_policy_touch_each_of_its_rules_and_hold_attacks_and_honest_calls(name):
    loaded = packaged(name)
    policy = loaded.policy
    redactor = redactor_of(policy)
    everything = list(chain(*(run_test(policy, redactor, test, NOW) for test in policy.tests)))
    expected = [step.step.expect for step in everything]

    assert {rule.name for rule in written_rules(loaded.document)} - {got.rule for got in everything} == set()
    assert expected.count(Verdict.ALLOW) >= 8
    assert len(expected) - expected.count(Verdict.ALLOW) >= 10
    assert expected.count(Verdict.DENY) >= 5


@pytest.mark.parametrize("name", OF_SERVERS)
def test_head_names_servers_with_their_versions_and_what_no_rule_can_limit(name):
    head = Path(packaged_folder(), f"{name}.yaml").read_text().partition("version:")[0]

    assert re.search(r"\d+\.\d+\.\d+", head)
    assert "# What no rule here can limit:\n# - " in head


@pytest.mark.parametrize("name", OF_SERVERS)
def test_rules_are_groups_named_after_the_policy(name):
    """So that an importer's own rule for a tool wins, and no two policies mean different rules by one name."""
    document = document_of(name)

    assert document["tools"].keys() == document["groups"].keys()
    assert {group.partition("-")[0] for group in document["groups"]} == {name}


def importing(folder, names):
    root = folder / "policy.yaml"
    imports = [f"agentfence:{name}" for name in names]
    root.write_text(f'version: "1"\nimports: {imports}\ndefaults: {{decision: ask, methods: ask}}\n')
    return load(root).policy


@pytest.mark.parametrize("backwards", [False, True])
def test_policies_of_servers_keep_their_tests_when_all_are_imported(tmp_path, backwards):
    policy = importing(tmp_path, sorted(OF_SERVERS, reverse=backwards))

    for name in OF_SERVERS:
        assert failures(policy, packaged(name).policy.tests) == [], name


@pytest.mark.parametrize(
    "beside", [["default", *OF_SERVERS], [*OF_SERVERS, "default"]], ids=["under", "over"]
)
def test_rules_for_a_server_come_before_guesses_by_name(tmp_path, beside):
    policy = importing(tmp_path, beside)

    for name in OF_SERVERS:
        alone = packaged(name).policy
        decided = [test for test in alone.tests if not left_to_the_default(alone, test)]
        assert len(decided) >= 20
        assert failures(policy, decided) == [], name


def left_to_the_default(policy, test):
    return any(got.rule.startswith("defaults.") for got in run_test(policy, redactor_of(policy), test, NOW))


def test_importer_replaces_a_rule_by_its_name_or_by_a_tool(tmp_path):
    root = tmp_path / "policy.yaml"
    root.write_text(
        'version: "1"\n'
        'imports: ["agentfence:filesystem", "agentfence:github"]\n'
        "tools: {github-talks: allow, move_file: deny}\n"
    )
    engine = Engine(load(root).policy)
    session = Session("agent", is_identified=True)
    decisions = {
        tool: engine.decide_call(Call(tool, {"path": "a"}), session, Circumstances()).verdict
        for tool in ("add_issue_comment", "move_file", "write_file", "get_me", "transfer_repository")
    }

    assert decisions == {
        "add_issue_comment": "allow",
        "move_file": "deny",
        "write_file": "ask",
        "get_me": "allow",
        "transfer_repository": "deny",
    }


def test_what_is_a_secret_is_the_same_for_all_that_read_files():
    reading = document_of("default")["tools"]["tools-that-read"]["constraints"]["paths"]["deny"]

    assert document_of("filesystem")["x-secrets"] == reading


@pytest.mark.parametrize("path", [".env.production", ".env.test", ".env.development.local", ".env.staging", ".env.sandbox", ".env.1", ".env.d", ".env.team", ".ENV"])  # fmt: skip
def test_every_environment_is_a_secret(path):
    assert decide_file(path) == Verdict.DENY


@pytest.mark.parametrize("path", [".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults", "environment.md", "src/env.py"])  # fmt: skip
def test_example_of_an_environment_is_none(path):
    assert decide_file(path) == Verdict.ALLOW


def decide_file(path):
    engine = Engine(packaged("filesystem").policy)
    call = Call("read_file", {"path": f"/home/me/project/{path}"})
    return engine.decide_call(call, Session("agent", is_identified=True), Circumstances()).verdict


@pytest.mark.parametrize(
    "row",
    yaml.safe_load((ROOT / "tests" / "cases" / "packaged" / "default.yaml").read_text()),
    ids=lambda row: row["server"],
)
def test_built_in_policy_knows_the_tools_of_widely_used_servers(row):
    engine = Engine(packaged("default").policy)
    session = Session("agent", is_identified=True)
    expected = {tool: verdict for verdict in ("allow", "ask", "deny") for tool in row.get(verdict, ())}

    assert {
        tool: engine.decide_call(Call(tool), session, Circumstances()).verdict for tool in expected
    } == expected


def test_policy_that_only_reads_asks_and_allows_no_more_than_the_built_in_one():
    built_in, read_only = Engine(packaged("default").policy), Engine(packaged("read-only").policy)
    session = Session("agent", is_identified=True)
    strictness = ["allow", "ask", "deny"]
    rows = yaml.safe_load((ROOT / "tests" / "cases" / "packaged" / "default.yaml").read_text())
    tools = {tool for row in rows for verdict in strictness for tool in row.get(verdict, ())}

    assert {
        tool
        for tool in tools
        if strictness.index(read_only.decide_call(Call(tool), session, Circumstances()).verdict)
        < strictness.index(built_in.decide_call(Call(tool), session, Circumstances()).verdict)
    } == set()
