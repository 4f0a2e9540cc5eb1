"""Who `agentfence check` asks, and waiting for what they say."""

from __future__ import annotations

import os
import sys
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from agentfence.approval.choosing import relay_approver
from agentfence.approval.deny import DenyApprover
from agentfence.core.effects import Approval
from agentfence.core.errors import UsageError
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.approval.interface import Approver
    from agentfence.core.effects import Question
    from agentfence.core.offline import Ask
    from agentfence.settings import Settings

_SLACK = 1.0
"""Seconds that an approver has to notice by itself that nobody answers."""


def choose_approver(settings: Settings, *, reads_stdin: bool) -> Approver:
    """Give who is asked: as set, else the terminal where there is one, else nobody.

    Raises:
        UsageError: The approver that was set needs mitmproxy.

    """
    if settings.approver == "intercept":
        raise UsageError("--approver must be `tty`, `queue` or `deny` here, not `intercept`")
    has_terminal = sys.stderr.isatty() and (reads_stdin or sys.stdin.isatty())
    name = settings.approver or ("tty" if has_terminal else "deny")
    if name == "deny":
        return DenyApprover("use --approver tty in a terminal, or --dry-run to leave it at that")
    return relay_approver(replace(settings, approver=name), os.environ)


def asking(approver: Approver, timeout: float) -> Ask | Approval:
    """Give what asks `approver` and waits, `timeout` seconds at most; or what it always says."""
    if isinstance(approver, DenyApprover):
        return approver.answer

    def ask(question: Question) -> Approval:
        answers: SimpleQueue[Approval] = SimpleQueue()
        approver.ask(question, answers.put)
        try:
            return answers.get(timeout=timeout + _SLACK)
        except Empty:
            approver.withdraw(question.call_id)
            return Approval("timeout", approver.name, waited_ms=int(timeout * 1000))

    return ask
