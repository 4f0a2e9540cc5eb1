from __future__ import annotations

import pytest

from agentfence.core.effects import Approval


@pytest.mark.parametrize(
    "outcome",
    ["approved", "denied", "timeout", "cancelled", "io_error", "no_approver", "queue_full", "Approved", ""],
)
def test_only_a_yes_is_an_approval(outcome: str) -> None:
    assert Approval(outcome, "tty").is_approved is (outcome == "approved")
