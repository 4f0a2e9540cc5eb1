"""Stream callables of the host: pieces of an answer in, what goes to the client out.

None of them raises, as the host would then pass later pieces on. Those that hold back what is no
whole event yet never give `b""`, which over HTTP/1 means the end of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentfence.core.event_stream import EventSplitter, Overlong, ServerEvent
from agentfence.core.http.sse_endpoints import NAME as ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    type Piecewise = Callable[[bytes], Iterable[bytes]]

_MAX_METADATA: Final = 1_048_576
_MAX_ANNOUNCEMENT: Final = 16_384


class EventRelay:
    """Chunks of an event stream in, judged events out."""

    def __init__(
        self,
        judge: Callable[[ServerEvent | Overlong], bytes],
        end_with: Callable[[Exception], bytes],
        break_off: Callable[[], bytes],
        limit: int,
    ) -> None:
        """Take what judges one event, and what to say when that fails; then nothing more passes.

        `break_off` gives what to say when the stream ends inside an event: where only the end of the
        connection ends a body, a server that goes away looks like one that is done.
        """
        self._splitter = EventSplitter(limit)
        self._judge = judge
        self._end_with = end_with
        self._break_off = break_off
        self._is_dead = False

    def __call__(self, received: bytes) -> list[bytes]:
        """Give what goes to the client now."""
        if self._is_dead:
            return []
        passed: list[bytes] = []
        try:
            for event in self._splitter.feed(received):
                passed.append(self._judge(event))  # noqa: PERF401 - what was judged before a failure still passes
            if not received and self._splitter.is_inside_event:  # the host says so that the body has ended
                passed.append(self._break_off())
        except Exception as error:  # noqa: BLE001 - the guard of a stream: close it, pass nothing unread
            self._is_dead = True
            passed.append(self._end_with(error))
        together = b"".join(passed)
        return [together] if together else []


class MetadataTap:
    """Passes everything at once, and reads along up to a bound."""

    def __init__(self, learn: Callable[[bytes], None]) -> None:
        """Take what is told the whole body, unless it is too large."""
        self._learn = learn
        self._body = bytearray()

    def __call__(self, received: bytes) -> bytes:
        """Give `received` back; the host says with an empty piece that the body has ended."""
        if len(self._body) <= _MAX_METADATA:
            self._body += received
            if not received:
                self._learn(bytes(self._body))
        return received


class EndpointTap:
    """Passes an event stream as it comes, until an event announces where agents post their messages.

    From that event's end on, the stream is one of MCP 2024-11-05, and is read like one.
    """

    def __init__(self, take_over: Callable[[bytes], Piecewise | None]) -> None:
        """Take what is told each announcement, and gives what reads the rest; None: pass it as it comes."""
        self._take_over = take_over
        self._splitter = EventSplitter(_MAX_ANNOUNCEMENT)
        self._rest: Piecewise | None = None

    def __call__(self, received: bytes) -> Iterable[bytes]:
        """Give what goes to the client now."""
        if self._rest is not None:
            return self._rest(received)
        position = 0
        for line in received.splitlines(keepends=True):
            position += len(line)
            for event in self._splitter.feed(line):
                rest = self._rest_after(event)
                if rest is not None:
                    self._rest = rest
                    return [received[:position], *rest(received[position:])]
        return [received] if received else []

    def _rest_after(self, event: ServerEvent | Overlong) -> Piecewise | None:
        if isinstance(event, Overlong) or event.name != ENDPOINT or event.data is None:
            return None
        return self._take_over(event.data)
