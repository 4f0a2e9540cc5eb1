"""`agentfence validate`: what is wrong or doubtful, for people and for machines, and how it ends."""

from __future__ import annotations

import json

import pytest
from cli.commanding import run

GOOD = 'version: "1"\ndefaults: {decision: deny, methods: deny}\ntools: {a: allow}\n'
DOUBTFUL = 'version: "1"\ndefaults: {decision: deny, methods: deny}\ntools: {"a*": allow}\n'
BAD = 'version: "1"\ndefault: {decision: deny}\ntools: {a: permit}\n'


@pytest.fixture(autouse=True)
def policies(folder):
    for name, text in (("good", GOOD), ("doubtful", DOUBTFUL), ("bad", BAD)):
        (folder / f"{name}.yaml").write_text(text)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["good.yaml"], 0),
        (["doubtful.yaml"], 0),
        (["doubtful.yaml", "--lint"], 0),
        (["doubtful.yaml", "--strict"], 1),
        (["good.yaml", "--strict"], 0),
        (["bad.yaml"], 3),
        (["good.yaml", "bad.yaml", "doubtful.yaml", "--strict"], 3),
        (["--policy", "bad.yaml"], 3),
        (["nowhere.yaml"], 3),
        (["good.yaml", "--format", "xml"], 2),
        (["good.yaml", "--tools", "nowhere.json"], 2),
    ],
)
def test_exit_status_says_what_was_found(arguments, status):
    assert run("validate", *arguments).status == status


def test_errors_are_shown_all_at_once_with_code_place_line_and_help():
    ended = run("validate", "bad.yaml", "good.yaml")

    assert ended.out == (
        "error[unknown_key] bad.yaml:2:1: unknown key `default`\n"
        "default: {decision: deny}\n"
        "^^^^^^^\n"
        "help: did you mean `defaults`?\n"
        "\n"
        "error[wrong_value] bad.yaml:3:12: expected `allow`, `deny` or `ask`, got `permit`\n"
        "tools: {a: permit}\n"
        "           ^^^^^^\n"
        "\n"
        "good.yaml: ok\n"
    )
    assert ended.err == "agentfence: 2 errors, 0 warnings\n"


def test_warnings_are_shown_likewise_when_they_are_asked_for():
    assert run("validate", "doubtful.yaml").out == "doubtful.yaml: ok\n"
    out = run("validate", "doubtful.yaml", "--lint").out

    assert out.startswith("warning[broad_pattern] doubtful.yaml:3:9: `a*` is broader than it looks")
    assert "help: write `a_*`" in out


def test_json_is_one_list_of_all_problems():
    ended = run("validate", "bad.yaml", "doubtful.yaml", "--lint", "--format", "json")
    problems = json.loads(ended.out)

    assert [(one["severity"], one["file"], one["line"], one["code"]) for one in problems] == [
        ("error", "bad.yaml", 2, "unknown_key"),
        ("error", "bad.yaml", 3, "wrong_value"),
        ("warning", "doubtful.yaml", 3, "broad_pattern"),
    ]
    assert set(problems[0]) == {
        "severity",
        "file",
        "line",
        "column",
        "width",
        "code",
        "path",
        "message",
        "help",
    }
    assert json.loads(run("validate", "good.yaml", "--format", "json").out) == []


def test_doubts_of_the_reader_are_warnings_without_lint(folder):
    (folder / "old.yaml").write_text("tools: {a: {decision: deny}}\n")
    ended = run("validate", "old.yaml")

    assert "warning[missing_version]" in ended.out
    assert (ended.status, run("validate", "old.yaml", "--strict").status) == (0, 1)


def test_without_a_policy_the_one_of_a_run_is_validated():
    assert run("validate").out == "agentfence:default: ok\n"


@pytest.mark.parametrize(
    ("option", "codes"),
    [
        ("tools.json", ["unknown_argument", "unknown_tool"]),
        ("s=tools.json", ["unknown_argument", "unknown_tool"]),
        ("t=tools.json", ["unknown_argument"]),
    ],
)
def test_policy_is_held_to_the_tools_of_a_server(folder, option, codes):
    (folder / "tools.json").write_text(json.dumps({"tools": [{"name": "a", "inputSchema": {}}]}))
    (folder / "p.yaml").write_text(
        'version: "1"\ndefaults: {decision: deny, methods: deny}\nservers: {s: {command: [s]}}\n'
        "tools: {a: {decision: ask, constraints: {paths: {fields: [x]}}}, b: ask}\n"
    )
    ended = run("validate", "p.yaml", "--format", "json", "--tools", option)

    assert codes == [one["code"] for one in json.loads(ended.out)]


def test_tools_that_are_none_are_a_usage_error(folder):
    (folder / "tools.json").write_text("{}")
    ended = run("validate", "good.yaml", "--tools", "tools.json")

    assert ended.status == 2
    assert "`tools.json` holds no tools" in ended.err
