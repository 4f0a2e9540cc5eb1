"""What every approver offers.

Invariants
- A question is answered exactly once, or withdrawn.
- An error, a timeout, nobody there: never an approval.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agentfence.core.effects import Approval, Question

type Answered = Callable[[Approval], None]
"""Told what came of a question; may be called from any thread, or before `ask` returns."""


class Approver(Protocol):
    """Asks people."""

    @property
    def name(self) -> str:
        """As `--approver` spells it."""
        ...

    def ask(self, question: Question, answered: Answered) -> None:
        """Start asking, without waiting for the answer."""
        ...

    def withdraw(self, call_id: str) -> None:
        """Take a question back; it is answered as cancelled."""
        ...

    def close(self) -> None:
        """Take back all questions."""
        ...
