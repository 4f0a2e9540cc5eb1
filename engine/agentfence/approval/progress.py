"""Signs of life for requests that wait for a person: clients that see progress do not give up.

MCP 2024-11-05 and later, basic/utilities/progress: only for a request that carries a token, and each
notification with a higher number than the one before. Ours are small, so that those of the server,
when the call goes on, are higher again.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from agentfence.core.jsonrpc import Request
from agentfence.core.values import slotted

if TYPE_CHECKING:
    from agentfence.core.pending import Pending

INTERVAL: Final = 15.0
"""Seconds between two notifications."""
_STEP: Final = 0.001
_TEXT: Final = "waiting for a person to approve this call"


@slotted
class _Notices:
    tokens: tuple[str | int, ...]
    from_server: bool
    due: float
    sent: int = 0


class ProgressNotices:
    """The notifications that are due, by the call that a person is asked about."""

    def __init__(self, interval: float = INTERVAL) -> None:
        """Take the seconds between two."""
        self._interval = interval
        self._notices: dict[str, _Notices] = {}

    def begin(self, call_id: str, pending: Pending, now: float) -> None:
        """Begin to send them for the requests in `pending` that carry a token."""
        tokens = tuple(t for t in map(_token_of, _requests(pending)) if t is not None)
        if tokens:
            self._notices[call_id] = _Notices(tokens, pending.from_server, now + self._interval)

    def end(self, call_id: str) -> None:
        """Send no more for a call."""
        self._notices.pop(call_id, None)

    @property
    def next_due(self) -> float | None:
        """When the next one is due; None when none is."""
        return min((notices.due for notices in self._notices.values()), default=None)

    def take_due(self, now: float) -> list[tuple[bytes, bool]]:
        """Give each notification that is due, and whether it is for the server."""
        taken: list[tuple[bytes, bool]] = []
        for notices in self._notices.values():
            if notices.due <= now:
                notices.due = now + self._interval
                notices.sent += 1
                taken += [
                    (_notification(token, notices.sent), notices.from_server) for token in notices.tokens
                ]
        return taken


def _requests(pending: Pending) -> list[Request]:
    return [member.message for member in pending.members if isinstance(member.message, Request)]


def _token_of(request: Request) -> str | int | None:
    meta = (request.params or {}).get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None


def _notification(token: str | int, number: int) -> bytes:
    params = {"progressToken": token, "progress": number * _STEP, "message": _TEXT}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}).encode()
