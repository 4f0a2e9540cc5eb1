"""Bounds the flows that mitmweb and the console keep: by themselves they keep every one for ever."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http
    from mitmproxy.addons.view import View
    from mitmproxy.flow import Flow

MAX_BYTES: Final = 268_435_456
"""Of bodies in all flows that are kept."""


class KeptFlows:
    """Removes the oldest flows that have ended, unless a person marked them."""

    name = "agentfence-kept-flows"

    def __init__(self, view: View, limit: int, is_ours: Callable[[Flow], bool]) -> None:
        """Take how many flows `view` keeps, and what tells a mark of the fence from a person's."""
        self._view = view
        self._limit = limit
        self._is_ours = is_ours
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """By id, oldest first: a flow that a person clears must be free to go."""
        self._bytes = 0

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Take a new flow in, and let old ones go."""
        self._sizes.setdefault(flow.id, 0)
        self._bound()

    def response(self, flow: http.HTTPFlow) -> None:
        """Count what a flow holds, now that it is whole."""
        self._count(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        """Count what a flow holds that broke off."""
        self._count(flow)

    def _count(self, flow: http.HTTPFlow) -> None:
        if flow.id in self._sizes:
            self._bytes -= self._sizes[flow.id]
            self._sizes[flow.id] = _size(flow)
            self._bytes += self._sizes[flow.id]
            self._bound()

    def _bound(self) -> None:
        for id_ in () if self._is_within() else tuple(self._sizes):
            flow = self._view.get_by_id(id_)
            if flow is not None and (flow.live or flow.intercepted or not self._is_ours(flow)):
                continue
            self._bytes -= self._sizes.pop(id_)
            if flow is not None:
                self._view.remove([flow])
            if self._is_within():
                return

    def _is_within(self) -> bool:
        return len(self._sizes) <= self._limit and self._bytes <= MAX_BYTES


def _size(flow: http.HTTPFlow) -> int:
    messages = (flow.request, flow.response)
    return sum(len(message.raw_content or b"") for message in messages if message is not None)
