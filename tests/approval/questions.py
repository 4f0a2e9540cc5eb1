"""Questions to ask in tests, and someone who waits for what comes of them."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Any

from agentfence.core.effects import Question
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.effects import Approval

QUESTION = Question(
    call_id="call-7",
    client="stdio:4711",
    server="files",
    method="tools/call",
    tool="write_file",
    arguments={"path": "docs/a.md"},
    rule="write_file",
    reason="tool `write_file` has its own rule: ask",
    message="writes need a person",
    remember=None,
)


def ask_about(number: int, **changes: Any) -> Question:
    """The question about a call."""
    return replace(QUESTION, call_id=f"call-{number}", **changes)


class Asker:
    """Waits for answers, by the numbers of their calls."""

    def __init__(self) -> None:
        self.approvals: queue.Queue[tuple[str, Approval]] = queue.Queue()

    def answered(self, question: Question) -> Any:
        """What an approver tells the answer to."""
        return lambda approval: self.approvals.put((question.call_id, approval))

    def next(self, timeout: float = 10.0) -> tuple[str, Approval]:
        """The next call that is answered, and the answer."""
        return self.approvals.get(timeout=timeout)

    @property
    def has_none(self) -> bool:
        """Whether every answer so far was taken."""
        return self.approvals.empty()
