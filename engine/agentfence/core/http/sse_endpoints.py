"""Where agents post under MCP 2024-11-05: a server says so in its event stream, at a path of its choice.

MCP 2024-11-05, basic/transports#http-with-sse: the first event of the stream is `endpoint`; some
clients follow later ones too. Both SDKs refuse one on another origin, and here it is not learned.
"""

from __future__ import annotations

import re
from math import inf
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from agentfence.core.http.endpoints import DEFAULT_PORTS
from agentfence.core.http.hosts import Origin, canonical_host
from agentfence.core.http.paths import plain_path
from agentfence.core.shares import Shares

NAME: Final = b"endpoint"
"""The event that names an endpoint."""

LONGEST: Final = 16_384
"""Bytes of an announcement."""
_NAMING: Final = re.compile(
    rb"event(?<=[\r\n \t\xbf]event)[ \t]{0,8}:[ \t]{0,8}endpoint[ \t]{0,8}[\r\n]"  # \xbf ends a BOM
)
"""A line in lower case that some reader takes for the one that names an announcement."""
_LONGEST_NAMING: Final = 64
_MAX_PATHS: Final = 10_000
_MAX_PATHS_OF_HOST: Final = 100


def announced_target(origin: Origin, base: str, announced: bytes) -> str | None:
    """Give path and query of the endpoint that an event announces; None for another origin's.

    `origin` served the stream, from the path `base`.
    """
    if len(announced) > LONGEST:
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


class NamesEndpoint:
    """Whether a text that comes in pieces names one of its events an announcement."""

    __slots__ = ("_before", "is_found")

    def __init__(self) -> None:
        self._before = b"\n"
        self.is_found = False

    def read(self, piece: bytes) -> None:
        """Look at one more piece."""
        if not self.is_found:
            text = self._before + piece.lower()
            self.is_found = _NAMING.search(text) is not None
            self._before = text[-_LONGEST_NAMING:]


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
