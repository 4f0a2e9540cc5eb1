"""`agentfence explain`: the verdict, the rule with its place, and the steps on the way there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.commanding import run

POLICY = """\
version: "1"
defaults: {decision: deny, methods: deny}
servers: {files: {command: [files]}}
groups: {readers: ["read_*"]}
forbid: [{tools: [drop], message: never}]
tools:
  readers: {decision: allow, message: "no secrets", constraints: {paths: {fields: [path], roots: ["."], deny: ["**/.env"]}, args: {n: {type: integer, max: 9007199254740993, required: false}}}}
  "files/*": ask
prompts: {greet: allow}
"""


@pytest.fixture(autouse=True)
def policy(folder):
    (folder / "p.yaml").write_text(POLICY)


def explain(*options):
    return run("explain", "--policy", "p.yaml", *options)


def as_json(*options):
    ended = explain("--output", "json", *options)
    assert ended.status == 0, ended.err
    return json.loads(ended.out)


def test_text_says_everything_in_order():
    ended = explain("--tool", "read_file", "--server", "files", "--args", '{"path": "a/.env"}')

    assert (ended.status, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "tool:     read_file",
        "server:   files",
        "decision: deny",
        "reason:   argument `path` is denied by pattern `**/.env` (path_denied)",
        "rule:     readers at p.yaml:7:3",
        "message:  no secrets",
        "trace:    1. forbid: no entry covers it",
        "          2. exact: no rule has the name `files/read_file` or `read_file`",
        "          3. group: `readers` has the member `read_*`, which fits `read_file`",
        "          4. group rule `readers` covers tool `read_file` (p.yaml:7:3)",
        "          5. constraint paths: fails: argument `path` is denied by pattern `**/.env`",
        "          6. the call is denied",
    ]


def test_json_has_the_same():
    explained = as_json("--tool", "read_file", "--args", '{"path": "a.md"}')

    assert explained.pop("policy_digest").startswith("sha256:")
    assert explained == {
        "tool": "read_file",
        "decision": "allow",
        "reason_code": "rule_match",
        "reason": "tool `read_file` matches group rule `readers`: allow",
        "rule": "readers",
        "place": {"file": "p.yaml", "line": 7, "column": 3},
        "message": "no secrets",
        "trace": [
            "forbid: no entry covers it",
            "exact: no rule has the name `read_file`",
            "group: `readers` has the member `read_*`, which fits `read_file`",
            "group rule `readers` covers tool `read_file` (p.yaml:7:3)",
            "constraint paths: holds",
            "constraint args: holds",
            "decision of the rule: allow",
        ],
    }


def test_forbidden_tool_is_not_looked_up():
    explained = as_json("--tool", "drop")

    assert (explained["reason_code"], explained["message"]) == ("forbidden", "never")
    assert explained["trace"] == ["`forbid[0]` covers tool `drop`"]


@pytest.mark.parametrize(
    ("options", "decision", "rule"),
    [
        (["--tool", "other"], "deny", "defaults.decision"),
        (["--tool", "other", "--server", "files"], "ask", "files/*"),
        (["--method", "vendor/x"], "deny", "defaults.methods"),
        (["--prompt", "greet"], "allow", "prompts.greet"),
        (["--method", "completion/complete", "--prompt", "greet"], "allow", "prompts.greet"),
        (["--uri", "https://a.example/"], "deny", "defaults.methods"),
    ],
)
def test_every_kind_of_message_can_be_explained(options, decision, rule):
    explained = as_json(*options)

    assert (explained["decision"], explained["rule"]) == (decision, rule)


def test_numbers_are_read_exactly():
    for number, decision in ((9007199254740993, "allow"), (9007199254740994, "deny")):
        args = json.dumps({"path": "a", "n": number})

        assert as_json("--tool", "read_x", "--args", args)["decision"] == decision


def test_links_are_followed_on_request(folder):
    (folder / "link").symlink_to(folder / ".env")
    options = ["--tool", "read_x", "--args", '{"path": "link"}']

    assert as_json(*options)["decision"] == "allow"
    assert as_json(*options, "--follow-links")["decision"] == "deny"


def test_terminal_is_not_driven_by_names():
    assert "\u001b" not in explain("--tool", "a\u001b[2J").out


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--tool", ""],
        ["--tool", "a", "--uri", "b:c"],
        ["--prompt", "a", "--uri", "b:c"],
        ["--tool", "a", "--args", "null"],
        ["--tool", "a", "--args", "[1]"],
        ["--tool", "a", "--args", "{"],
        ["--tool", "a", "--args", '{"a": 1, "a": 2}'],
        ["--tool", "a", "--output", "yaml"],
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(options):
    assert explain(*options).status == 2


def test_broken_policy_is_said(folder):
    (folder / "p.yaml").write_text('version: "1"\ntools: 1')

    assert explain("--tool", "a").status == 3


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--server", "files", "--tool", "a"], ""),
        (["--server", "fils", "--tool", "a"], "the policy names no server `fils`; did you mean `files`?"),
        (
            ["--tool", "a"],
            "without --server no rule for `server/tool` counts; the policy's servers: files, git",
        ),
        (["--tool", "git/a"], "did you mean `--server git --tool a`?"),
        (["--method", "roots/list"], ""),
    ],
)
def test_what_may_be_wrong_about_the_server_is_said(options, note):
    Path("p.yaml").write_text(
        'version: "1"\nservers: {files: {command: [a]}, git: {command: [b]}}\ntools: {"files/*": allow}\n'
    )
    ended = run("explain", "--policy", "p.yaml", *options)

    assert ended.status == 0
    assert (f"agentfence: {note}\n" if note else "") == ended.err
