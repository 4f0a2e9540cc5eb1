"""Where nobody attends, the answer says how to be asked."""

from __future__ import annotations

from approval.questions import QUESTION, Asker

from agentfence.approval.deny import DenyApprover
from agentfence.core.effects import Approval


def test_question_is_denied_at_once() -> None:
    approver, asker = DenyApprover("do this"), Asker()
    approver.ask(QUESTION, asker.answered(QUESTION))
    approver.withdraw("call-7")
    approver.close()

    assert asker.next() == ("call-7", Approval("no_approver", "deny", advice="do this"))
    assert asker.has_none
