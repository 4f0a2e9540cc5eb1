"""A copy of an event stream for views, while it streams.

mitmproxy keeps nothing of what it streams. The copy is what the agent got, bounded, and views are
told of it once a second at most, as each time they read all of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http

MAX_KEPT: Final = 65_536
"""Bytes of one stream that are kept: the latest."""
UPDATE_SECONDS: Final = 1.0
_LONGEST_PIECE: Final = MAX_KEPT // 2


class ShownStream:
    """A stream callable of the host that gives what another one gives, and keeps a copy of it."""

    def __init__(
        self,
        pass_on: Callable[[bytes], list[bytes]],
        flow: http.HTTPFlow,
        update: Callable[[http.HTTPFlow], None],
    ) -> None:
        """Take what gives whole events for received bytes, the flow, and how views are told of news."""
        self._pass_on = pass_on
        self._flow = flow
        self._update = update
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._left_out = 0
        self._timer: asyncio.TimerHandle | None = None

    def __call__(self, received: bytes) -> list[bytes]:
        """Give what goes to the client now; the host says with an empty piece that the body has ended."""
        passed = self._pass_on(received)
        for piece in passed:
            self._keep(piece)
        # Never from in here: whatever a view does wrong must not reach the stream.
        if not received:
            asyncio.get_running_loop().call_soon(self._show)
        elif passed and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UPDATE_SECONDS, self._show)
        return passed

    def _keep(self, piece: bytes) -> None:
        if len(piece) > _LONGEST_PIECE:
            end = b"\n: %d more bytes are not kept\n\n" % (len(piece) - _LONGEST_PIECE)
            piece = piece[:_LONGEST_PIECE] + end
        self._kept.append(piece)
        self._size += len(piece)
        while self._size > MAX_KEPT:
            oldest = self._kept.popleft()
            self._size -= len(oldest)
            self._left_out += len(oldest)

    def _show(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        response = self._flow.response
        if response is None:
            return
        # In the stream's own form: a comment, which no reader of events takes for one.
        note = b": %d earlier bytes are not kept\n\n" % self._left_out if self._left_out else b""
        response.data.content = note + b"".join(self._kept)
        self._update(self._flow)
