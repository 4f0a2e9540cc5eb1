"""docs/cli.md names every verb, option, exit status and lint code, and nothing else."""

from __future__ import annotations

import re

import pytest
from docs.pages import code, headings, read, section, tables

from agentfence.cli.commands import all_commands
from agentfence.cli.main import INTERRUPTED, VERBS
from agentfence.core import errors
from agentfence.core.policy.lint import CODES
from agentfence.core.recorded_calls import RecordedCall

PAGE = read("docs/cli.md")
ELSEWHERE = {
    "proxy": "docs/stdio.md",
    "proxy-http": "docs/http.md",
    "run": "docs/agents.md",
    "approvals": "docs/approvals.md",
    "audit": "docs/audit.md",
}
OWN = [command for command in all_commands() if command.path and command.path[0] not in ELSEWHERE]
STATUSES = {"0", "1", str(INTERRUPTED)} | {
    str(kind.exit_status) for kind in (errors.UsageError, errors.PolicyError, errors.AuditError)
}


def flags_in(text: str) -> set[str]:
    """What the tables of a section name, between backquotes."""
    cells = [row[0] for table in tables(text) for row in table]
    return {flag for cell in cells for flag in re.findall(r"`(--?[a-z][a-z-]*)", cell)}


def test_every_verb_has_its_section() -> None:
    assert set(VERBS) <= set(headings(PAGE))


@pytest.mark.parametrize("command", OWN, ids=lambda command: command.path[-1])
def test_options_of_the_page_are_those_of_the_verb(command) -> None:
    own = {flag for option in command.options for flag in option.flags} - {"-h", "--help"}

    assert flags_in(section(PAGE, command.path[-1])) == own


@pytest.mark.parametrize("verb", ELSEWHERE)
def test_verbs_that_are_told_of_elsewhere_are_linked(verb: str) -> None:
    assert f"]({ELSEWHERE[verb].removeprefix('docs/')})" in section(PAGE, verb)


def test_every_exit_status_is_on_the_page() -> None:
    (table,) = tables(section(PAGE, "Exit status"))

    assert {code(row[0]) for row in table} == STATUSES


def test_every_lint_code_has_its_heading_and_no_other() -> None:
    found = re.findall(r"^### (\w+)$", section(PAGE, "validate"), re.MULTILINE)

    assert sorted(found) == sorted(CODES)


def test_every_key_of_a_record_is_on_the_page() -> None:
    keys = set(re.findall(r"`(\w+)`", " ".join(row[0] for row in tables(section(PAGE, "check"))[0])))

    assert keys == {"id", "tool", "arguments", "server", "method", "uri", "prompt", "time"}
    assert {"id", "server", "time"} <= set(RecordedCall._fields)
