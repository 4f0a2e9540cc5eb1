"""`servers:` and `tunnel:`: which traffic belongs to whom, and which is let through unread.

The servers of a policy stand in order of precedence, the longer literal beginning first: the first that
covers a URL is meant. Two that could cover the same URL with equal beginnings are an error.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.policy.building import optional_text, text_of, texts
from agentfence.core.policy.globs_overlap import may_overlap
from agentfence.core.policy.model import Server
from agentfence.core.policy.nodes import Table
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.constraints.url_patterns import HostPattern, UrlPattern
    from agentfence.core.policy.building import Building
    from agentfence.core.policy.nodes import Node

_WILDCARD = late_regex(r"[*?\[\\]")
_ENDPOINT = late_regex(r"(https?)://(\[[^]]*\]|[^/:?]+)(:[^/?]*)?(/[^?]*)?", re.IGNORECASE)
_DEFAULT_PORTS = {("http", ":80"), ("https", ":443")}
_HOST_NAME = late_regex(r"[a-z0-9_][a-z0-9_-]{0,62}(?:\.[a-z0-9_][a-z0-9_-]{0,62}){0,126}")


@frozen
class _Endpoint:
    """A server's URL pattern, as two can be compared."""

    server: str
    url: Node
    pattern: UrlPattern
    port: str
    """`:*` for any, empty for the scheme's default."""
    path: str
    beginning: int
    """How many characters stand before the first wildcard, the default port left out."""

    def ties_with(self, other: _Endpoint) -> bool:
        """Whether some URL may belong to both, and neither pattern is the more particular."""
        ports = {self.port, other.port}
        return (
            self.beginning == other.beginning
            and self.pattern.schemes == other.pattern.schemes
            and (len(ports) == 1 or ":*" in ports)
            and _share_a_host(self.pattern.host, other.pattern.host)
            and may_overlap(self.path, other.path)
        )


def compile_servers(document: Table, building: Building) -> tuple[tuple[Server, ...], tuple[str, ...]]:
    """Give the servers, in order of precedence, and the hosts of `tunnel:`."""
    endpoints: list[_Endpoint] = []
    servers: list[tuple[int, str, Server]] = []
    for name, entry in document.table("servers").entries.items():
        body = entry.value if isinstance(entry.value, Table) else Table({}, entry.value.position)
        words = building.globs(body.items("command"), ("servers", name, "command"), separator=None)
        beginning = sum(_beginning(word) for word, _ in words)
        url = body.get("url")
        endpoint = _endpoint(name, url, building) if url else None
        if endpoint:
            endpoints.append(endpoint)
            beginning = endpoint.beginning
        server = Server(name, optional_text(body, "url"), texts(body, "command") or None, entry.key.place)
        servers.append((-beginning, name, server))
    _note_ties(endpoints, building)
    in_order = tuple(server for _, _, server in sorted(servers, key=lambda ranked: ranked[:2]))
    return in_order, _compile_tunnel(document.items("tunnel"), endpoints, building)


def _endpoint(name: str, url: Node, building: Building) -> _Endpoint | None:
    from agentfence.core.constraints.url_patterns import compile_url_pattern  # brings a URL parser along

    path = ("servers", name, "url")
    parts = _ENDPOINT.fullmatch(text_of(url))
    if parts is None:
        message = f"expected a URL as `https://mcp.example.com/mcp`, got `{text_of(url)}`"
        advice = "leave the query out" if "?" in text_of(url) else None
        building.note(url.position, "wrong_pattern", message, path, advice)
        return None
    try:
        pattern = compile_url_pattern(text_of(url), deny=False)
    except ValueError as error:
        building.note(url.position, "wrong_pattern", str(error), path)
        return None
    scheme, host, port, way = parts[1].lower(), parts[2].lower(), parts[3] or "", parts[4] or "/"
    shown_port = "" if (scheme, port) in _DEFAULT_PORTS else port
    return _Endpoint(
        name, url, pattern, shown_port, way.lower(), _beginning(f"{scheme}://{host}{shown_port}{way}")
    )


def _beginning(pattern: str) -> int:
    wildcard = _WILDCARD.search(pattern)
    return wildcard.start() if wildcard else len(pattern)


def _share_a_host(left: HostPattern | None, right: HostPattern | None) -> bool:
    if left is None or right is None:
        return False
    if left.name is not None:
        return right.matches(left.name)
    if right.name is not None:
        return left.matches(right.name)
    one, other = left.suffix or "", right.suffix or ""
    return one.endswith(other) or other.endswith(one)


def _note_ties(endpoints: Iterable[_Endpoint], building: Building) -> None:
    for first, second in combinations(endpoints, 2):
        if first.ties_with(second):
            message = f"the servers `{first.server}` and `{second.server}` may both be meant by one URL"
            advice = "begin one of the patterns more particularly"
            building.note(
                second.url.position, "server_tie", message, ("servers", second.server, "url"), advice
            )


def _compile_tunnel(
    nodes: Iterable[Node], endpoints: Iterable[_Endpoint], building: Building
) -> tuple[str, ...]:
    hosts: list[str] = []
    for index, node in enumerate(nodes):
        host = text_of(node).lower().removesuffix(".")
        if not _HOST_NAME.fullmatch(host):
            message = f"expected the name of one host, got `{text_of(node)}`"
            building.note(node.position, "wrong_host", message, ("tunnel", index))
        listed = [
            one.server for one in endpoints if one.pattern.host is None or one.pattern.host.matches(host)
        ]
        if listed:
            message = f"`{host}` belongs to the server `{listed[0]}`, whose traffic must be read"
            building.note(node.position, "tunnelled_server", message, ("tunnel", index))
        hosts.append(host)
    return tuple(hosts)
