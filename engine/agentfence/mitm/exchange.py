"""What the surface knows of one flow while it runs.

Kept beside the flow and not in its metadata: metadata is saved, copied and shown, and survives a
replay, so nothing in it may ever count as a permission.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agentfence.core.values import field, slotted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mitmproxy import http

    from agentfence.core.http.traffic import Sorted
    from agentfence.core.session import Conversation
    from agentfence.fence import Note
    from agentfence.mitm.heads import RequestHead
    from agentfence.mitm.sse_streams import SseStream


class Stage(Enum):
    """How far an exchange has come."""

    HEADERS = auto()
    JUDGED = auto()
    """An allow verdict was given; the request goes to the server."""
    ANSWERED = auto()
    """The fence answered; the server sees nothing."""
    PASSED = auto()
    """No business of the fence: streamed both ways."""


@slotted
class Exchange:
    """One request with its answer."""

    head: RequestHead
    armed: http.Response | None
    """The refusal that stands until an allow verdict takes it away; None for traffic that passes."""
    conversation: Conversation
    note: Note | None = None
    """Told of each event about it, where somebody sees that."""
    stage: Stage = Stage.HEADERS
    stream: SseStream | None = None
    """The event stream of MCP 2024-11-05 that this is, or that this was posted for."""
    ends_connection: bool = False
    """Whether the server was told that nothing behind this is a request; the host ends the agent's, too."""
    named_host: str = ""
    """The `Host` that the agent sent."""
    sent: tuple[object, ...] | None = None
    """The request as it is to be sent; None where nobody can change it any more."""
    unsent: str | None = None
    """Why it was not sent, though it might have been."""
    instead: http.Response | None = None
    """What goes to the agent in place of the server's answer."""

    @property
    def sorted(self) -> Sorted:
        """How its request is treated."""
        return self.head.sorted

    @property
    def is_post_for_stream(self) -> bool:
        """Whether what it asks for is answered on an event stream of MCP 2024-11-05, and not here."""
        return self.stream is not None and not self.conversation.carries_other_answers


@slotted
class Exchanges:
    """The exchanges of all flows that still exist."""

    _by_flow: WeakKeyDictionary[http.HTTPFlow, Exchange] = field(default_factory=WeakKeyDictionary)

    def find(self, flow: http.HTTPFlow) -> Exchange | None:
        """Give the exchange of `flow`; None when it was never sorted."""
        return self._by_flow.get(flow)

    def rename_servers(self, names: Mapping[str, str]) -> None:
        """Have those that are open go on under the new names of servers."""
        for exchange in list(self._by_flow.values()):
            exchange.conversation.go_on_as(names)

    def open(self, flow: http.HTTPFlow, exchange: Exchange) -> None:
        """Keep `exchange` for as long as `flow` exists."""
        self._by_flow[flow] = exchange
