"""docs/approvals.md and docs/agents.md show what is really shown, and name every option and variable."""

from __future__ import annotations

import re

import pytest
from approval.questions import QUESTION
from docs.pages import ROOT, code, examples, read, section, tables
from mitmproxy.test import taddons

from agentfence.approval import prompt, tty, waiting
from agentfence.approval.progress import INTERVAL
from agentfence.cli.commands import all_commands
from agentfence.cli.run import AUTHORITY_VARIABLES, PROXY_VARIABLES
from agentfence.core.values import replace
from agentfence.mitm.view.kept_events import MAX_KEPT
from agentfence.mitm.view.kept_flows import MAX_BYTES
from agentfence.mitm.view.live_view import KEYS, LiveView
from agentfence.mitm.view.message_view import MAX_READ
from agentfence.mitm.view.notes import MARKS
from agentfence.mitm.view.recent import MAX_RECENT
from agentfence.reporting import LogFormat, LogLevel, Reporter
from agentfence.settings import APPROVERS, read_settings

APPROVALS, AGENTS = read("docs/approvals.md"), read("docs/agents.md")
VERBS = {command.path[0]: command for command in all_commands() if len(command.path) == 1}


def flags_in(text: str) -> set[str]:
    return set(re.findall(r"`(--[a-z-]+)", text))


def test_every_approver_is_in_the_table() -> None:
    assert [code(row[0]) for row in tables(section(APPROVALS, "Who is asked"))[0]] == list(APPROVERS)


def test_question_looks_as_on_the_page() -> None:
    (shown,) = [example.text for example in examples("text", ROOT / "docs" / "approvals.md")]
    asked = prompt.prompt_for(replace(QUESTION, message="writing needs a person"))

    assert shown == prompt.render(asked, 80, "k3f9q-7") + prompt.choices(asked, 50).rstrip() + "\n"


def test_options_of_approvals_are_those_of_the_page() -> None:
    own = {flag for option in VERBS["approvals"].options for flag in option.flags} - {"-h", "--help"}
    (table,) = tables(section(APPROVALS, "queue"))

    assert {flag for row in table for flag in flags_in(row[0])} == own


def test_options_of_run_are_its_own_and_the_proxys() -> None:
    own = {flag for option in VERBS["run"].options for flag in option.flags}
    proxy = {flag for option in VERBS["proxy-http"].options for flag in option.flags}
    table = tables(section(AGENTS, "agentfence run"))[0]

    assert own - proxy == set()
    assert {"--web", "--set"} <= {flag for row in table for flag in flags_in(row[0])}


def test_bounds_are_those_of_the_code() -> None:
    assert f"{prompt.MAX_TEXT:,} characters" in APPROVALS
    assert f"after {prompt.MAX_ARGUMENTS:,}" in APPROVALS
    assert f"At most {waiting.MAX_WAITING} wait" in APPROVALS
    assert f"{read_settings({}, {}).approval_timeout:g} seconds unless" in APPROVALS
    assert f"every {INTERVAL:g} seconds" in APPROVALS
    assert tty.SETTLING_SECONDS == 1


def test_marks_are_in_the_table() -> None:
    (table,) = [rows for rows in tables(section(APPROVALS, "The live view")) if len(rows[0]) == 3]
    shown = {(code(row[1]), code(row[2])[0]) for row in table}

    assert shown == {(mark, sign) for sign, mark in MARKS.values()}


def test_commands_and_keys_are_in_the_tables() -> None:
    class Loader:
        def __init__(self) -> None:
            self.names: list[str] = []

        def add_command(self, name: str, _: object) -> None:
            self.names.append(name)

    loader = Loader()
    with taddons.context():
        LiveView(None).load(loader)  # type: ignore[arg-type]
    commands, keys = tables(section(APPROVALS, "Commands and keys"))

    assert [code(row[0]).split()[0] for row in commands] == loader.names
    assert [code(row[0]) for row in keys] == [key for key, _, _ in KEYS]


def test_bounds_of_the_live_view_are_those_of_the_code() -> None:
    text = section(APPROVALS, "The live view")

    assert f"its last {MAX_KEPT // 1024} KiB" in text
    assert f"over {MAX_READ // 1024} KiB" in text
    assert f"at most {MAX_BYTES // 1024**2} MiB" in text
    assert f"The last {read_settings({}, {}).keep_flows:,} flows" in text
    assert f"The latest {MAX_RECENT} decisions" in section(APPROVALS, "The approvals page")


def test_every_variable_is_in_the_table() -> None:
    (table,) = tables(section(AGENTS, "What is set"))
    named = {name for row in table for name in re.findall("`([A-Za-z_]+)`", row[0])}

    assert named == {
        *PROXY_VARIABLES,
        *AUTHORITY_VARIABLES,
        "NO_PROXY",
        "no_proxy",
        "NODE_USE_ENV_PROXY",
        "NODE_EXTRA_CA_CERTS",
    }


@pytest.mark.parametrize(("position", "choices"), [(0, LogLevel), (1, LogFormat)])
def test_levels_and_formats_are_in_the_tables(position: int, choices: type[LogLevel | LogFormat]) -> None:
    table = tables(section(AGENTS, "What the fence says"))[position]

    assert [code(row[0]) for row in table] == [choice.value for choice in choices]


def test_lines_look_as_on_the_page() -> None:
    shown = section(AGENTS, "What the fence says")
    written: list[str] = []
    reporter = Reporter(written.append)
    about = {"server": "files", "method": "tools/call", "reason_code": "rule_match"}
    reporter.decided(
        {
            **about,
            "tool": "read_file",
            "decision": "allow",
            "rule": "read_file",
            "reason": "tool `read_file` has its own rule: allow",
        }
    )
    reporter.asked(QUESTION)
    approval = {"outcome": "denied", "approver": "queue", "by": "eva (process 4711)", "waited_ms": 1}
    reason = f"{QUESTION.reason}; a person denied it"
    reporter.decided(
        {
            **about,
            "tool": "write_file",
            "decision": "deny",
            "rule": "write_file",
            "reason": reason,
            "approval": approval,
        }
    )

    assert all(f"\n{line}\n" in shown for line in written)
