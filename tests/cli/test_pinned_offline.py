"""Verbs that judge what is written down hold it to the lock file, as a run does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.commanding import run

POLICY = """\
version: "1"
defaults: {decision: allow}
servers: {files: {command: [files]}, web: {command: [web]}}
pins: require
tests:
  - {id: of any, tool: read, expect: allow}
  - {id: of one, tool: read, server: files, expect: allow}
  - {id: of another, tool: read, server: web, expect: {decision: deny, reason_code: tool_unpinned}}
  - {id: of none, tool: send, expect: {decision: deny, reason_code: tool_unpinned}}
"""
CALLS = [
    {"tool": "read"},
    {"tool": "read", "server": "files"},
    {"tool": "read", "server": "web"},
    {"tool": "send"},
]
DECISIONS = ["allow", "allow", "deny", "deny"]


@pytest.fixture(params=["beside the policy", "given", "set"])
def options(request, monkeypatch):
    """What names the lock file."""
    Path("policy.yaml").write_text(POLICY)
    name = "agentfence.lock" if request.param == "beside the policy" else "other.lock"
    Path(name).write_text(json.dumps({"version": 1, "servers": {"files": {"read": {"name": "read"}}}}))
    if request.param == "set":
        monkeypatch.setenv("AGENTFENCE_LOCK", name)
    return ["--lock", name] if request.param == "given" else []


def test_tests_of_a_policy(options):
    ended = run("test", "policy.yaml", *options)

    assert (ended.status, ended.err) == (0, "agentfence: 4 tests run, 0 failed\n"), ended.out


def test_recorded_calls(options):
    Path("calls.jsonl").write_text("\n".join(json.dumps({"id": "1"} | call) for call in CALLS))
    ended = run("check", "--policy", "policy.yaml", "--call", "calls.jsonl", "--output", "json", *options)

    assert [outcome["decision"] for outcome in json.loads(ended.out)] == DECISIONS


def test_explained_calls(options):
    named = [[f"--{key}={value}" for key, value in call.items()] for call in CALLS]
    ended = [
        run("explain", "--policy", "policy.yaml", "--output", "json", *words, *options) for words in named
    ]

    assert [json.loads(one.out)["decision"] for one in ended] == DECISIONS


@pytest.mark.parametrize(
    "verb", [["test"], ["explain", "--tool", "read"], ["check", "--call", "policy.yaml"]]
)
def test_lock_file_that_is_none_is_said(verb):
    Path("policy.yaml").write_text(POLICY)
    Path("agentfence.lock").write_text("[]")
    ended = run(*verb, "--policy", "policy.yaml")

    assert ended.status == 2
    assert "agentfence.lock is not one of version 1" in ended.err
