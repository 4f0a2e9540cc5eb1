"""Where agents post under MCP 2024-11-05: a server says so in its event stream, at a path of its choice.

MCP 2024-11-05, basic/transports#http-with-sse: the first event of the stream is `endpoint`; some
clients follow later ones too. Both SDKs refuse one on another origin, and here it is not learned.
"""

from __future__ import annotations

from math import inf
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from agentfence.core.http.endpoints import DEFAULT_PORTS
from agentfence.core.http.hosts import Origin, canonical_host
from agentfence.core.http.paths import plain_path
from agentfence.core.shares import Shares

NAME: Final = b"endpoint"
"""The event that names an endpoint."""

_LONGEST: Final = 4_096
_MAX_PATHS: Final = 10_000
_MAX_PATHS_OF_HOST: Final = 100


def announced_target(origin: Origin, base: str, announced: bytes) -> str | None:
    """Give path and query of the endpoint that an event announces; None for another origin's.

    `origin` served the stream, from the path `base`.
    """
    if len(announced) > _LONGEST:
        return None
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    try:
        url = urlsplit(
            urljoin(f"{origin.scheme}://{host}:{origin.port}{base}", announced.decode("utf-8", "replace"))
        )
        port = url.port or DEFAULT_PORTS.get(url.scheme)
    except ValueError:
        return None
    named = (url.scheme, canonical_host(url.hostname or ""), port)
    if named != (origin.scheme, canonical_host(origin.host), origin.port):
        return None
    return (url.path or "/") + (f"?{url.query}" if url.query else "")


def plain_target(target: str) -> str:
    """Give the one spelling of a target by which the posts to an endpoint are found."""
    path, _, query = target.partition("?")
    return f"{plain_path(path)}?{unquote(query, errors='surrogateescape')}"


class EndpointPaths:
    """The paths that event streams have announced, by host and port; bounded for each host."""

    __slots__ = ("_paths",)

    def __init__(self) -> None:
        self._paths: Shares[tuple[str, int, str], bool] = Shares(_MAX_PATHS, _MAX_PATHS_OF_HOST, inf)

    def learn(self, host: str, port: int, target: str) -> None:
        """Remember the path of an announced target."""
        path = plain_path(target.partition("?")[0])
        self._paths.keep((host, port, path), True, f"{host}:{port}", 0)  # noqa: FBT003 - a set of keys

    def has(self, host: str, port: int, readings: frozenset[str]) -> bool:
        """Whether some reading of a path was announced."""
        return any(self._paths.find((host, port, path), 0) for path in readings)
