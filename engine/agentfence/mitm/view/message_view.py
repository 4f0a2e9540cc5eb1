"""The MCP view of a message in mitmweb and in the console: what was decided, and what the message says.

Invariants
- Secrets are left out as in the audit log; mitmproxy's own views show bodies as they are.
- The work is bounded: a view is drawn in the thread that carries all traffic.
- Nothing raises but what mitmproxy itself turns into its raw view.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal

from mitmproxy.contentviews import Contentview

from agentfence.core.errors import ProtocolViolation
from agentfence.core.event_stream import EventSplitter, Overlong, ServerEvent
from agentfence.core.json_text import parse_json
from agentfence.core.shown_json import json_lines
from agentfence.core.visible import visible
from agentfence.mitm.view.notes import METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mitmproxy.contentviews import Metadata

    from agentfence.core.redaction import Redactor

MAX_READ: Final = 131_072
"""Bytes of a body that are read as a message; of a longer one the beginning is shown."""
MAX_SHOWN: Final = 400_000
"""Characters that are shown."""
_LONGEST_TEXT: Final = 20_000
_EXCERPT: Final = MAX_READ // 2
"""Less than is read, so that a secret at the end of what is shown was seen whole."""
_MARKER = re.compile(r"\[REDACTED:([^\]\s]{1,64})\]")


class McpContentview(Contentview):
    """Shows JSON-RPC messages, and event streams of them."""

    def __init__(self, redactor: Callable[[], Redactor]) -> None:
        """Take what gives what keeps secrets out: the policy may change."""
        self._redactor = redactor

    @property
    def name(self) -> str:
        """As people choose the view."""
        return "MCP"

    @property
    def syntax_highlight(self) -> Literal["yaml"]:
        """JSON with comments, which is what YAML is."""
        return "yaml"

    def render_priority(self, data: bytes, metadata: Metadata) -> float:
        """Give more than mitmproxy's own JSON view for a message, less than any for all else."""
        is_judged = metadata.flow is not None and METADATA in metadata.flow.metadata
        is_message = is_judged or b'"jsonrpc"' in data[:MAX_READ]
        has_form = _is_stream(metadata) or data[:64].lstrip()[:1] in {b"{", b"["}
        return 2 if metadata.http_message is not None and is_message and has_form else -1

    def prettify(self, data: bytes, metadata: Metadata) -> str:
        """Give the decisions as comments, and the message or the events below them."""
        body = list(_bounded(self._stream(data, metadata) if _is_stream(metadata) else self._message(data)))
        found = Counter(chain.from_iterable(map(_MARKER.findall, body)))
        redacted = ", ".join(f"{name} ({count})" for name, count in sorted(found.items()))
        head = [*_decisions(metadata), *([f"redacted here: {redacted}"] if redacted else [])]
        return "\n".join([*(f"# {line}".rstrip() for line in head), *([""] if head else []), *body])

    def _message(self, data: bytes) -> Iterator[str]:
        if len(data) > MAX_READ:
            yield f"# {len(data):,} bytes: only the beginning is shown"
            yield from self._excerpt(data)
            return
        try:
            value = self._redactor().value(parse_json(data))
        except ProtocolViolation as violation:
            yield f"# this is no message: {violation}"
            yield from self._excerpt(data)
        else:
            yield from json_lines(value, _LONGEST_TEXT)

    def _stream(self, data: bytes, metadata: Metadata) -> Iterator[str]:
        events = EventSplitter(MAX_READ).feed(data[-MAX_READ:])
        response = metadata.http_message
        state = "has ended" if response is not None and response.timestamp_end else "is open"
        messages = sum(isinstance(event, ServerEvent) and event.data is not None for event in events)
        yield f"# {messages} events, and the stream {state}"
        number = 0
        for event in events:
            if isinstance(event, Overlong):
                yield "# an event that is too long to show"
            elif event.data is None:
                yield from (f"# {line}" for line in self._excerpt(event.raw.strip()))
            else:
                number += 1
                yield ""
                yield f"# event {number}: {visible(event.name.decode(errors='replace')[:64])}"
                yield from self._message(event.data)

    def _excerpt(self, data: bytes) -> Iterator[str]:
        text = data[:MAX_READ].decode(errors="replace")
        return map(visible, self._redactor().excerpt(text, _EXCERPT).splitlines())


def _decisions(metadata: Metadata) -> list[str]:
    noted = metadata.flow.metadata.get(METADATA) if metadata.flow is not None else None
    # A flow from a file may carry anything there.
    return [visible(line) for line in noted[:_LONGEST_TEXT].split("\n")] if isinstance(noted, str) else []


def _bounded(lines: Iterable[str]) -> Iterator[str]:
    shown = 0
    for line in lines:
        shown += len(line) + 1
        if shown > MAX_SHOWN:
            yield "# the rest is not shown"
            return
        yield line


def _is_stream(metadata: Metadata) -> bool:
    return (metadata.content_type or "").lower() == "text/event-stream"
