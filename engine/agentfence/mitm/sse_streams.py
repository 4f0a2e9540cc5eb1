"""The open event streams of MCP 2024-11-05, found again by what is posted for them.

Answers travel on the stream, also ours: a refused request is answered there, and its POST with 202.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import ref

from agentfence.core.calls_in_flight import CallsInFlight
from agentfence.core.http.sse_endpoints import plain_target
from agentfence.core.http_sessions import HttpSession
from agentfence.mitm.requests import reads_events

if TYPE_CHECKING:
    from mitmproxy import http

    from agentfence.core.session import Conversation

_MAX_ENDPOINTS: Final = 16
"""Of one stream; a server may move its endpoint while the stream runs."""

type EndpointKey = tuple[str, str, int, str]
"""The agent, host and port, and the target."""


class SseStream:
    """One open stream."""

    def __init__(self, flow: http.HTTPFlow) -> None:
        """Take the flow of the GET, which this does not keep alive: exchanges live as long as their flows."""
        self._flow = ref(flow)
        self.target = plain_target(flow.request.path)
        self.session = HttpSession(is_known_whole=True)
        self.from_client = CallsInFlight()
        """The agent's requests that the stream has yet to answer."""
        self.endpoints: list[EndpointKey] = []

    @property
    def flow(self) -> http.HTTPFlow | None:
        """The flow of the GET, while it exists."""
        return self._flow()

    def carry(self, conversation: Conversation) -> None:
        """Make `conversation` the stream's own, or that of a POST for it."""
        conversation.join(self.session, self.from_client)


class SseStreams:
    """The open streams, by the endpoints that they announced."""

    def __init__(self) -> None:
        """Begin with none."""
        self._by_endpoint: dict[EndpointKey, list[SseStream]] = {}

    def announce(self, stream: SseStream, flow: http.HTTPFlow, client: str, target: str) -> None:
        """Have what `client` posts to `target`, at the origin of `flow`, belong to `stream`."""
        key = _key(flow, client, target)
        if key not in stream.endpoints and len(stream.endpoints) < _MAX_ENDPOINTS:
            stream.endpoints.append(key)
            self._by_endpoint.setdefault(key, []).append(stream)

    def of_post(self, flow: http.HTTPFlow, client: str) -> SseStream | None:
        """Give the stream for which a request is posted; None where it is not certain.

        A client of Streamable HTTP posts to the address that it reads streams from, and says that it
        reads one as the answer.
        """
        request = flow.request
        if not self._by_endpoint or request.method != "POST":
            return None
        key = _key(flow, client, request.path)
        found = self._by_endpoint.get(key, [])
        if len(found) != 1 or (key[3] == found[0].target and reads_events(request)):
            return None
        return found[0]

    def close(self, stream: SseStream) -> None:
        """Forget a stream that has ended."""
        for key in stream.endpoints:
            streams = self._by_endpoint[key]
            streams.remove(stream)
            if not streams:
                del self._by_endpoint[key]
        stream.endpoints.clear()


def _key(flow: http.HTTPFlow, client: str, target: str) -> EndpointKey:
    return client, flow.request.host, flow.request.port, plain_target(target)
