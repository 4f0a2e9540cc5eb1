"""Stream callables of the host: pieces of an answer in, what goes to the client out.

None of them raises, as the host would then pass later pieces on. Those that hold back what is no
whole event yet never give `b""`, which over HTTP/1 means the end of the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentfence.core.event_stream import EventSplitter, Overlong, ServerEvent
from agentfence.core.http.codings import Unpacking
from agentfence.core.http.sse_endpoints import LONGEST, NamesEndpoint
from agentfence.core.http.sse_endpoints import NAME as ENDPOINT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    type Piecewise = Callable[[bytes], Iterable[bytes]]

_MAX_METADATA: Final = 1_048_576


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

    From that event's end on, the stream is one of MCP 2024-11-05, and is read like one. It ends with an
    announcement that is too large to be kept.
    """

    def __init__(
        self, take_over: Callable[[bytes], Piecewise | None], end: Callable[[str], Piecewise]
    ) -> None:
        """Take what is told each announcement, and gives what reads the rest; None: pass it as it comes.

        `end` is told why the stream must not go on.
        """
        self._take_over = take_over
        self._end = end
        self._splitter = EventSplitter(LONGEST)
        self._names = NamesEndpoint()
        self._rest: Piecewise | None = None

    def __call__(self, received: bytes) -> Iterable[bytes]:
        """Give what goes to the client now."""
        if self._rest is not None:
            return self._rest(received)
        position = 0
        for line in received.splitlines(keepends=True):
            position += len(line)
            self._names.read(line)
            for event in self._splitter.feed(line):
                rest = self._rest_after(event)
                if rest is not None:
                    self._rest = rest
                    # Without its empty line nobody takes an event that is too large for one.
                    passed = received[: position if isinstance(event, ServerEvent) else position - len(line)]
                    return [*filter(None, [passed]), *rest(received[position:])]
        return [received] if received else []

    def _rest_after(self, event: ServerEvent | Overlong) -> Piecewise | None:
        names_endpoint, self._names = self._names.is_found, NamesEndpoint()
        if isinstance(event, Overlong):
            return self._end("it announces an endpoint in a large event") if names_endpoint else None
        if event.name != ENDPOINT or event.data is None:
            return None
        return self._take_over(event.data)


class EncodedTap:
    """Passes an event stream in a content coding as it comes, up to where an event announces an endpoint.

    What follows would be messages that nobody has judged, in a coding that cannot be left in the middle.
    Servers are asked for such streams without one, so that hardly an honest one gets here.
    """

    def __init__(self, codings: Sequence[str], end: Callable[[str], Piecewise]) -> None:
        """Take the names of known codings in their order, and what is told why the stream must not go on."""
        self._unpacking = Unpacking(codings)
        self._names = NamesEndpoint()
        self._end = end
        self._rest: Piecewise | None = None

    def __call__(self, received: bytes) -> Iterable[bytes]:
        """Give what goes to the client now."""
        if self._rest is None:
            for content in self._unpacking.feed(received):
                self._names.read(content)
            if self._names.is_found:
                self._rest = self._end("it announces an endpoint in a content coding")
            elif self._unpacking.is_broken:
                self._rest = self._end("its content coding cannot be undone")
        if self._rest is not None:
            return self._rest(received)
        return [received] if received else []
