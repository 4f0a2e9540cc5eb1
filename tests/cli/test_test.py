"""`agentfence test`: which tests run, what is said of them, and how it ends."""

from __future__ import annotations

import json

import pytest
from cli.commanding import run

POLICY = """\
version: "1"
defaults: {decision: deny}
tools:
  read: allow
  limited: {decision: allow, constraints: {rate: {limit: 1, per: minute}}}
  never: deny
tests:
  - {id: reading, tool: read, expect: {decision: allow, rule: read}}
  - id: one a minute
    steps:
      - {tool: limited, expect: allow}
      - {tool: limited, expect: {decision: deny, reason_code: rate_exceeded}}
"""
EXTRA = "tests:\n  - {id: unknown, tool: other, expect: deny}\n  - {id: unknown, tool: never, expect: deny}\n"
WRONG = """\
tests:
  - {id: wrong, tool: read, expect: {decision: deny, rule: never}}
  - id: wrong later
    steps:
      - {tool: limited, expect: allow}
      - {tool: limited, expect: allow}
"""


@pytest.fixture(autouse=True)
def files(folder):
    for name, text in (("p", POLICY), ("extra", EXTRA), ("wrong", WRONG)):
        (folder / f"{name}.yaml").write_text(text)


def test_own_tests_are_run_and_untouched_rules_are_said():
    ended = run("test", "p.yaml")

    assert ended.status == 0
    assert ended.out == (
        "p.yaml\n  PASS: reading\n  PASS: one a minute\n  no test touches `never` (p.yaml:6:3)\n"
    )
    assert ended.err == "agentfence: 2 tests run, 0 failed\n"


@pytest.mark.parametrize(
    "arguments",
    [["p.yaml", "extra.yaml"], ["p.yaml", "--tests", "extra.yaml"], ["extra.yaml", "--policy", "p.yaml"]],
)
def test_files_of_tests_are_run_against_the_policy(arguments):
    ended = run("test", *arguments)

    assert ended.status == 0
    assert ended.out.count("PASS: unknown") == 2
    assert "no test touches" not in ended.out


def test_failure_says_what_was_expected_what_came_why_and_where():
    ended = run("test", "p.yaml", "wrong.yaml")

    assert ended.status == 1
    assert (
        "  FAIL: wrong (expected deny by `never`, got allow by `read`)\n"
        "        tool `read` has its own rule: allow\n"
        "        at wrong.yaml:2:5\n"
    ) in ended.out
    assert (
        "  FAIL: wrong later (step 2: expected allow, got deny)\n"
        "        rule `limited` allows 1 calls in 60 seconds\n"
        "        at wrong.yaml:6:9\n"
    ) in ended.out
    assert ended.err == "agentfence: 4 tests run, 2 failed\n"


def test_passing_tests_say_why_when_that_is_asked():
    out = run("test", "p.yaml", "-v").out

    assert "  PASS: reading (tool `read` has its own rule: allow)\n" in out
    assert "  PASS: one a minute (step 2: rule `limited` allows 1 calls in 60 seconds)\n" in out


def test_json_has_every_case_and_the_untouched_rules():
    results = json.loads(run("test", "p.yaml", "wrong.yaml", "--output", "json").out)
    first, second, third, fourth = results.pop("cases")

    assert results == {
        "total": 4,
        "passed": 2,
        "failed": 2,
        "untouched_rules": [{"policy": "p.yaml", "rule": "never", "line": 6, "column": 3}],
    }
    assert first == {
        "policy": "p.yaml",
        "id": "reading",
        "tool": "read",
        "step": None,
        "expect": "allow",
        "got": "allow",
        "pass": True,
        "rule": "read",
        "reason_code": "rule_match",
        "reason": "tool `read` has its own rule: allow",
        "place": "p.yaml:8:5",
    }
    assert [(case["step"], case["pass"]) for case in (second, third, fourth)] == [
        (2, True),
        (None, False),
        (2, False),
    ]


def test_run_without_any_test_fails(folder):
    (folder / "none.yaml").write_text('version: "1"\n')
    ended = run("test", "none.yaml")

    assert ended.status == 1
    assert "there is no test" in ended.err


def test_fixtures_of_the_go_agentfence_run_against_its_policies(folder):
    (folder / "old.yaml").write_text(
        'version: "0.1"\ntools:\n  filesystem.read: {decision: allow, constraints: {paths: {deny: ["**/secrets/**"]}}}\n'
    )
    (folder / "fixtures.yaml").write_text(
        "tests:\n"
        "  - {id: 1, tool: filesystem.read, arguments: {path: a.md}, expect: allow}\n"
        "  - {id: 1, tool: filesystem.read, arguments: {path: a/secrets/b}, expect: deny}\n"
    )

    assert run("test", "--policy", "old.yaml", "--tests", "fixtures.yaml").status == 0


def test_without_a_policy_the_one_of_a_run_is_tested():
    ended = run("test")

    assert ended.out.startswith("agentfence:default\n")
    assert ended.status == 0, ended.out


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["nowhere.yaml"], 3), (["p.yaml", "--tests", "nowhere.yaml"], 2), (["p.yaml", "--tests", "p.yaml"], 3)],
)
def test_files_that_cannot_be_used_are_said(arguments, status):
    assert run("test", *arguments).status == status


def test_terminal_is_not_driven_by_names(folder):
    (folder / "t.yaml").write_text('tests: [{id: "a\\e[2J", tool: "b\\e[2J", expect: allow}]')
    ended = run("test", "p.yaml", "t.yaml", "-v")

    assert "FAIL" in ended.out
    assert "\u001b" not in ended.out
