from __future__ import annotations

import pytest

from agentfence.core.calls_in_flight import CallInFlight, CallsInFlight, Stage
from agentfence.core.cancelling import cancel_requests, cancelled_id
from agentfence.core.effects import Withdraw
from agentfence.core.jsonrpc import Notification, Request
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import ASSUMED


def cancellation(id_: object) -> Notification:
    return Notification("notifications/cancelled", {"requestId": id_})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("message", "id_"),
    [
        (cancellation(1), 1),
        (cancellation("a"), "a"),
        (cancellation(True), None),
        (cancellation(1.5), None),
        (cancellation(None), None),
        (Notification("notifications/cancelled"), None),
        (Notification("notifications/progress", {"requestId": 1}), None),
        (Request(1, "notifications/cancelled", {"requestId": 1}), None),
        (None, None),
    ],
)
def test_cancellation_names_a_request_by_its_id(message: object, id_: object) -> None:
    assert cancelled_id(message) == id_  # type: ignore[arg-type]


def test_cancelling_withdraws_the_questions_of_what_was_not_sent() -> None:
    calls = CallsInFlight()
    for id_, stage in ((1, Stage.SENT), (2, Stage.ASKED)):
        calls.put(CallInFlight(id_, f"call-{id_}", "ping", ASSUMED, "rule", Verdict.ASK, stage))

    assert cancel_requests([cancellation(1), cancellation(2), cancellation(3), None], calls.cancel) == (
        Withdraw("call-2"),
    )
    assert [calls.find(1).stage, calls.find(2).stage] == [Stage.CANCELLED, Stage.WITHDRAWN]  # type: ignore[union-attr]
