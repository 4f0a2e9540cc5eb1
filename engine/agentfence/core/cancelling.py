"""Requests that their sender takes back with `notifications/cancelled`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.calls_in_flight import Stage
from agentfence.core.effects import Withdraw
from agentfence.core.jsonrpc import Notification

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.jsonrpc import Id, Message

CANCELLED = "notifications/cancelled"


def cancelled_id(message: Message | None) -> Id | None:
    """Give the id of the request that a message cancels; None when it cancels none."""
    if not isinstance(message, Notification) or message.method != CANCELLED:
        return None
    id_ = (message.params or {}).get("requestId")
    return id_ if isinstance(id_, str | int) and not isinstance(id_, bool) else None


def cancel_requests(
    messages: Iterable[Message | None], cancel: Callable[[Id], CallInFlight | None]
) -> tuple[Withdraw, ...]:
    """Do what the cancellations among `messages` say; give the questions that they withdraw."""
    withdrawn: list[Withdraw] = []
    for message in messages:
        id_ = cancelled_id(message)
        call = None if id_ is None else cancel(id_)
        if call is not None and call.stage is Stage.WITHDRAWN:
            withdrawn.append(Withdraw(call.call_id))
    return tuple(withdrawn)
