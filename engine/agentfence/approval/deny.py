"""The approver for runs that nobody attends: every question is denied at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.effects import Approval

if TYPE_CHECKING:
    from agentfence.approval.interface import Answered
    from agentfence.core.effects import Question


class DenyApprover:
    """Denies, and says how to get an approver."""

    name = "deny"

    def __init__(self, advice: str) -> None:
        """Take what to tell whoever wonders why nobody was asked."""
        self.answer = Approval("no_approver", self.name, advice=advice)
        """What becomes of every question."""

    def ask(self, question: Question, answered: Answered) -> None:  # noqa: ARG002 - every approver's
        """Answer `question` at once: nobody is there."""
        answered(self.answer)

    def withdraw(self, call_id: str) -> None:
        """Do nothing: no question waits."""

    def close(self) -> None:
        """Do nothing: no question waits."""
