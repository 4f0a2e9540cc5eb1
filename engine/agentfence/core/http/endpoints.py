"""The URL patterns of `servers:`, compiled for requests, and which of them a request means.

A host written out wins over `*.h`, a path written out over a pattern, and then the longer literal
beginning. `/a/**` covers `/a` too, as it is an alias of `/a/`.

Not here: whether a pattern is legal and whether two tie; the policy's compiler tells its author.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING
from urllib.parse import unquote

from agentfence.core.constraints.globs import compile_glob, literal_pattern
from agentfence.core.http.hosts import HostPattern, parse_host_pattern
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from agentfence.core.policy.model import Server

DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[^\]]*\]|[^/:?#\[\]]+)(?::(?P<port>[0-9]+|\*))?(?P<path>/[^?#]*)?",
    re.IGNORECASE,
)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_SLASHES = re.compile(r"/{2,}")
_WILDCARD = re.compile(r"[*?\[\\]")


@frozen
class Endpoint:
    """Where one server of the policy listens."""

    server: str
    host: HostPattern
    port: int | None
    """None: any."""
    literal_beginning: str
    """The path up to its first wildcard."""
    is_literal: bool
    """Whether the path has no wildcard."""
    fits_path: Callable[[str], bool]
    """Whether a reading of a path, as `path_readings` gives it, is the endpoint's."""

    @property
    def precedence(self) -> tuple[bool, int, bool, int]:
        """What decides between two that fit; the greater wins."""
        return (not self.host.is_wild, len(self.host.name), self.is_literal, len(self.literal_beginning))

    def has_port(self, port: int) -> bool:
        """Whether the server listens there."""
        return self.port in (None, port)


def compile_endpoints(servers: Iterable[Server]) -> tuple[Endpoint, ...]:
    """Give the endpoints of all servers that have a URL, those that win first.

    Raises:
        ValueError: one of the URLs is not what the policy language has.

    """
    endpoints = (_compile(server.name, server.url) for server in servers if server.url)
    return tuple(sorted(endpoints, key=lambda endpoint: endpoint.precedence, reverse=True))


def find_endpoint(endpoints: Sequence[Endpoint], port: int, readings: frozenset[str]) -> Endpoint | None:
    """Give the first endpoint that some reading of a path fits; None when there is none."""
    at_port = (endpoint for endpoint in endpoints if endpoint.has_port(port))
    return next((endpoint for endpoint in at_port if any(map(endpoint.fits_path, readings))), None)


def nearest_endpoint(endpoints: Sequence[Endpoint], port: int, readings: frozenset[str]) -> Endpoint:
    """Give the endpoint by whose name other ports and paths of its host go.

    That is the one at the same port with the most leading segments in common, as `/a/messages`
    belongs to `/a/sse`.
    """

    def closeness(endpoint: Endpoint) -> tuple[bool, int]:
        beginning = endpoint.literal_beginning
        return endpoint.has_port(port), max(_common_segments(beginning, path) for path in readings)

    return max(endpoints, key=closeness)


def _compile(server: str, url: str) -> Endpoint:
    match = _URL.fullmatch(url)
    host = parse_host_pattern(match["host"]) if match else None
    if match is None or host is None:
        raise ValueError(f"the URL of the server `{server}` cannot be used: `{url}`")
    is_anything = match["host"] == "**"
    port = match["port"] or ("*" if is_anything else str(DEFAULT_PORTS[match["scheme"].lower()]))
    path = _decode(match["path"] or ("/**" if is_anything else "/"))
    wildcard = _WILDCARD.search(path)
    return Endpoint(
        server,
        host,
        None if port == "*" else int(port),
        path[: wildcard.start()] if wildcard else path,
        wildcard is None,
        _compile_path(path) if wildcard else path.__eq__,
    )


def _decode(path: str) -> str:
    decoded = _ESCAPES.sub(
        lambda escapes: literal_pattern(unquote(escapes[0], errors="surrogateescape")), path
    )
    return _SLASHES.sub("/", decoded.casefold()).rstrip("/") or "/"


def _compile_path(path: str) -> Callable[[str], bool]:
    matches = compile_glob(path).matches
    if not path.endswith("/**"):
        return matches
    folder = compile_glob(path.removesuffix("/**") or "/").matches
    return lambda text: matches(text) or folder(text)


def _common_segments(one: str, other: str) -> int:
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
