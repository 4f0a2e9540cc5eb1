"""Who is asked, and that every question comes to an end."""

from __future__ import annotations

import io
import threading
import time

import pytest

from agentfence.approval.deny import DenyApprover
from agentfence.cli import asking
from agentfence.cli.asking import choose_approver
from agentfence.core.effects import Approval, Question
from agentfence.core.errors import UsageError
from agentfence.settings import read_settings

QUESTION = Question("call-1", "me", None, "tools/call", "t", {}, "t", "why", None, None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def choose(monkeypatch, *, approver=None, terminals=(), reads_stdin=False):
    for name in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{name}", Terminal() if name in terminals else io.StringIO())
    chosen: list[str | None] = []
    monkeypatch.setattr(asking, "relay_approver", lambda settings, _: chosen.append(settings.approver))
    found = choose_approver(read_settings({"approver": approver}, {}), reads_stdin=reads_stdin)
    return chosen[0] if found is None else found.name


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({}, "deny"),
        ({"terminals": ["stdin", "stderr"]}, "tty"),
        ({"terminals": ["stderr"]}, "deny"),
        ({"terminals": ["stdin"]}, "deny"),
        ({"terminals": ["stderr"], "reads_stdin": True}, "tty"),
        ({"terminals": ["stdin", "stderr"], "approver": "deny"}, "deny"),
        ({"approver": "tty"}, "tty"),
        ({"approver": "queue"}, "queue"),
    ],
)
def test_terminal_is_asked_where_there_is_one_unless_told_otherwise(monkeypatch, options, name):
    assert choose(monkeypatch, **options) == name


def test_approver_of_the_proxy_is_refused(monkeypatch):
    with pytest.raises(UsageError):
        choose(monkeypatch, approver="intercept")


def test_nobody_to_ask_is_one_answer_for_all():
    approver = DenyApprover("advice")

    assert asking.asking(approver, 50) is approver.answer


class Slow:
    """Answers from another thread, or never."""

    name = "slow"

    def __init__(self, approval: Approval | None) -> None:
        self.approval = approval
        self.withdrawn: list[str] = []

    def ask(self, question, answered) -> None:
        if self.approval is not None:
            threading.Thread(target=lambda: (time.sleep(0.01), answered(self.approval))).start()

    def withdraw(self, call_id: str) -> None:
        self.withdrawn.append(call_id)

    def close(self) -> None: ...


def test_answer_of_another_thread_is_waited_for():
    approval = Approval("approved", "slow")

    assert asking.asking(Slow(approval), 5)(QUESTION) is approval


def test_question_that_nobody_answers_is_withdrawn_and_denied(monkeypatch):
    monkeypatch.setattr(asking, "_SLACK", 0.0)
    approver = Slow(None)
    approval = asking.asking(approver, 0.02)(QUESTION)

    assert (approval.outcome, approval.is_approved, approver.withdrawn) == ("timeout", False, ["call-1"])
