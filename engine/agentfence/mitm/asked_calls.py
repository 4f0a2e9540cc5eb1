"""Requests over HTTP that wait for a person, found again from other exchanges of their agent.

Another POST may cancel them, and no stream may answer them. Without an MCP session each exchange is on
its own, so the gate cannot see that the two belong together. Nor can anybody tell apart what two programs
at one address ask under the same id: both questions are taken back.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentfence.core.cancelling import cancelled_id
from agentfence.core.envelope import Single, read_envelope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.effects import Ask
    from agentfence.core.jsonrpc import Id

type Place = tuple[str, str, int]
"""The agent, and the server's host and port."""

_LONGEST_CANCELLATION = 65_536


class AskedCalls:
    """The questions that wait, by the ids of the requests that they are about."""

    def __init__(self) -> None:
        """Begin with none."""
        self._call_ids: dict[tuple[Place, str], list[str]] = {}

    @contextmanager
    def waiting(self, ask: Ask, place: Place) -> Iterator[None]:
        """Know the requests that `ask` holds, while it waits."""
        keys = [(place, str(member.id)) for member in ask.pending.members if member.id is not None]
        for key in keys:
            self._call_ids.setdefault(key, []).append(ask.question.call_id)
        try:
            yield
        finally:
            for key in keys:
                self._call_ids[key].remove(ask.question.call_id)
                if not self._call_ids[key]:
                    del self._call_ids[key]

    def is_about(self, place: Place, id_: Id) -> bool:
        """Whether a question is about the request under this id."""
        return (place, str(id_)) in self._call_ids

    def cancelled_by(self, body: bytes, place: Place) -> tuple[str, ...]:
        """Give the calls whose questions `body` takes back."""
        if not self._call_ids or len(body) > _LONGEST_CANCELLATION:
            return ()
        envelope = read_envelope(body, max_body=len(body), max_batch=1)
        id_ = cancelled_id(envelope.message) if isinstance(envelope, Single) else None
        return () if id_ is None else tuple(self._call_ids.get((place, str(id_)), ()))
