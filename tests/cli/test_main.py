"""The command itself: help, verbs, what is imported, and how errors end."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest
from cli.commanding import run

from agentfence import __version__
from agentfence.cli import main
from agentfence.cli.main import INTERRUPTED, VERBS


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_verb_on_stdout(arguments):
    ended = run(*arguments)

    assert (ended.status, ended.err) == (0, "")
    assert all(verb in ended.out for verb in VERBS)
    assert "Exit status: 0 fine" in ended.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_help(verb):
    for arguments in ([verb, "--help"], ["help", verb]):
        ended = run(*arguments)

        assert (ended.status, ended.err) == (0, "")
        assert "usage:" in ended.out
        assert "--help" in ended.out


def test_help_goes_as_deep_as_verbs_do():
    assert "--anchor-pubkey" in run("help", "audit", "verify").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--polcy", "p.yaml", "--", "cat"], "there is no option `--polcy`; did you mean `--policy`"),
        (["--audit-fsync=0"], "`--audit-fsync` takes no value, got `0`; `--no-audit-fsync` is its opposite"),
        (["cat"], "expected no more operands, got `cat`; the command to run comes after `--`"),
    ],
)
def test_mistake_on_the_relays_command_line_is_said_alike(arguments, message):
    ended = run("proxy", *arguments)

    assert (ended.status, ended.out) == (2, "")
    assert message in ended.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_what_a_terminal_cannot_show_is_escaped_as_json_has_it(monkeypatch, encoding):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
    arguments = ["explain", "--policy", "agentfence:default", "--tool", "\u65e5\u00e9\U0001f600\udcff"]

    assert main.main([*arguments, "--output", "json"]) == 0
    assert json.loads(written.getvalue().decode(encoding))["tool"] == arguments[-1]


def test_version_is_said_and_only_where_it_is_asked_for():
    assert run("--version").out == f"agentfence {__version__}\n"
    assert run("explain", "--version").status == 2


@pytest.mark.parametrize(
    "arguments", [["nope"], ["check", "--nope"], ["schema", "operand"], ["check", "--pol", "x"]]
)
def test_what_is_not_known_is_a_usage_error(arguments):
    ended = run(*arguments)

    assert (ended.status, ended.out) == (2, "")


@pytest.mark.parametrize(
    ("arguments", "message", "verb"),
    [
        (["chekc"], "there is no `chekc`; did you mean `check`?", ""),
        (["help", "chekc"], "there is no `chekc`; did you mean `check`?", ""),
        (["audit", "verfy"], "there is no `verfy`; did you mean `verify`", " audit"),
        (["check", "--cal", "x"], "there is no option `--cal`; did you mean `--call`", " check"),
        (["explain", "--tol", "x"], "there is no option `--tol`; did you mean `--tool`", " explain"),
        (
            ["audit", "verify", "--ankor=x", "l"],
            "there is no option `--ankor`; did you mean",
            " audit verify",
        ),
        (["check", "--call", "c", "--output", "jsnl"], "there is no `jsnl`; did you mean `jsonl`", " check"),
        (["schema", "operand"], "expected no more operands, got `operand`", " schema"),
        (["test", "-v=3"], "`--verbose` takes no value, got `3`", " test"),
        (["check", "--call"], "`--call` needs a value", " check"),
        (["check"], "the following arguments are required: --call", " check"),
    ],
)
def test_mistake_on_the_command_line_is_said_in_one_line_with_what_to_do(arguments, message, verb):
    ended = run(*arguments)

    problem, advice = ended.err.splitlines()
    assert ended.status == 2
    assert message in problem
    assert problem.startswith(f"agentfence{verb}: ")
    assert advice == f"help: `agentfence{verb} --help` lists what there is"


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("schema > /dev/full", 2, "No space left on device"),
        ("schema >&-", 0, ""),
        ("check --policy agentfence:default --call - <&-", 2, "cannot read records from stdin: it is closed"),
    ],
)
def test_closed_and_full_streams_end_without_a_traceback(command, status, message):
    script = f"'{sys.executable}' -m agentfence {command}"
    ended = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=False)

    assert ended.returncode == status
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_interrupt_ends_with_its_own_status(monkeypatch):
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_run", interrupt)

    assert run("schema").status == INTERRUPTED


HEAVY = ("mitmproxy", "rich", "jsonschema", "can_ada", "asyncio")


@pytest.mark.parametrize("verb", ["check", "explain", "validate", "test"])
def test_verb_imports_nothing_heavy_for_a_plain_policy(verb, folder):
    (folder / "p.yaml").write_text(
        'version: "1"\ntools: {a: allow}\ntests: [{id: t, tool: a, expect: allow}]'
    )
    (folder / "c.jsonl").write_text('{"id": "1", "tool": "a"}')
    operands = {
        "check": ["--policy", "p.yaml", "--call", "c.jsonl"],
        "explain": ["--policy", "p.yaml", "--tool", "a"],
        "validate": ["p.yaml"],
        "test": ["p.yaml"],
    }[verb]
    code = (
        "import sys; from agentfence.cli.main import main; main(sys.argv[1:]);"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, verb, *operands], capture_output=True, text=True, check=True
    )

    assert ended.stderr.splitlines()[-1] == "[]"
