"""The addons of the fence: first in mitmproxy's chain to arm, last to judge.

Whatever raises or meddles in between, a request that could hold a message carries a refusal from
`requestheaders` on, and only a verdict at the end of the chain takes it away. Others are not shown it while
their hooks run, where it is put back however these end: they leave alone what was answered, as the host's
`block_list` and `map_remote` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.mitm.beginning import begin
from agentfence.mitm.host_options import is_read
from agentfence.mitm.layers import as_http, install
from agentfence.mitm.requests import NOT_JUDGED, json_response
from agentfence.mitm.turns import take_turns

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mitmproxy import http
    from mitmproxy.connection import Client
    from mitmproxy.proxy.layer import NextLayer
    from mitmproxy.proxy.server_hooks import ServerConnectionHookData
    from mitmproxy.tls import ClientHelloData

    from agentfence.mitm.surface import Surface


class Armer:
    """First in the chain: nothing passes that was not sorted."""

    name = "agentfence-armer"

    def __init__(self) -> None:
        """Start closed: without a surface every request is refused."""
        self.surface: Surface | None = None
        self.hides_refusals = False
        """Whether the refusals are put back behind the hooks about requests."""

    def client_connected(self, client: Client) -> None:
        """Refuse what comes by a mode that is refused, as the host listens for a moment all the same."""
        if not is_read(client.proxy_mode):
            client.error = "AgentFence reads HTTP alone"
        take_turns(client, client)

    def server_connected(self, data: ServerConnectionHookData) -> None:
        """Have a server's answers leave others their turn."""
        take_turns(data.client, data.server)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Refuse a request that may hold a message, until it is judged."""
        if flow.response is None:
            flow.response = json_response(503, NOT_JUDGED)  # before anything can go wrong
            if self.surface is not None:
                self.surface.arm(flow)
                self._hide(flow)

    def request(self, flow: http.HTTPFlow) -> None:
        """Show the other addons a request that nobody has answered."""
        self._hide(flow)

    def _hide(self, flow: http.HTTPFlow) -> None:
        if self.hides_refusals and self.surface is not None:
            self.surface.disarm(flow)


class Judge:
    """Last in the chain: what the others left is judged, and then goes out."""

    name = "agentfence"

    def __init__(self) -> None:
        """Start closed: without a surface every request is refused."""
        self.surface: Surface | None = None

    def next_layer(self, nextlayer: NextLayer) -> None:
        """Put the fence's limits into each HTTP layer before it starts."""
        if self.surface is not None:
            nextlayer.layer = as_http(nextlayer.layer)
            install(nextlayer.layer, self.surface)

    def tls_clienthello(self, data: ClientHelloData) -> None:
        """Pass TLS on undecrypted for a host that the policy tunnels, and nothing else."""
        if self.surface is not None:
            self.surface.tunnel(data)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Stream what is no business of the fence."""
        if self.surface is not None:
            self.surface.free(flow)

    def request(self, flow: http.HTTPFlow) -> Awaitable[None] | None:
        """Judge the request as it would go out; give what is to be awaited where a person is asked."""
        if self.surface is None:
            flow.response = json_response(503, NOT_JUDGED)
            return None
        return begin(self.surface.judge(flow))

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Decide how the answer is read."""
        if self.surface is not None:
            self.surface.answer_head(flow)

    def response(self, flow: http.HTTPFlow) -> None:
        """Judge an answer that was read whole."""
        if self.surface is not None:
            self.surface.answer(flow)
            self.surface.ended(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """Note that an exchange ended in the middle."""
        if self.surface is not None:
            self.surface.ended(flow)

    def settle_request(self, flow: http.HTTPFlow) -> None:
        """Put a refusal back that others were not shown."""
        if self.surface is not None:
            self.surface.rearm(flow)

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        """Drop an MCP message on a WebSocket, and end the socket."""
        if self.surface is not None:
            self.surface.read_socket(flow)
