"""Which requests are MCP's, and how far each is held to its rules.

- held: an endpoint of a server that the policy names; every rule applies.
- watched: what could be a message all the same; judged if it is one.
- free: everything else an agent's proxy carries; nothing of it is touched.

Invariants
- A request is a server's only if its target, its SNI, its `Host` and an authority that goes out with its
  path name one host.
- An alias of an endpoint is that endpoint: a rule that holds goes by any reading of the path, a
  rule that frees by all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.http.endpoints import (
    DEFAULT_PORTS,
    compile_endpoints,
    find_endpoint,
    nearest_endpoint,
)
from agentfence.core.http.hosts import canonical_host, canonical_origin, parse_authority
from agentfence.core.http.media_types import declared_type
from agentfence.core.http.message import (
    METHOD_OVERRIDES,
    HttpRefusal,
    fold_name,
    list_members,
    mcp_headers,
    values,
)
from agentfence.core.http.oauth import Exchange, OAuthEndpoints
from agentfence.core.http.paths import path_readings
from agentfence.core.http.request_rules import check_host_and_origin, check_values
from agentfence.core.http.sse_endpoints import EndpointPaths
from agentfence.core.jsonrpc import INVALID_REQUEST
from agentfence.core.policy.model import Unlisted
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.http.endpoints import Endpoint
    from agentfence.core.http.hosts import Origin
    from agentfence.core.http.message import HttpRequest
    from agentfence.core.policy.model import Server

_BLOCKED_BY_POLICY = -32001


@frozen
class Held:
    """A request to an endpoint, which must be a strict message."""

    server: str | None
    """None for an upstream that the policy does not name."""


@frozen
class Watched:
    """A request that is judged if it turns out to be a message."""

    server: str | None
    is_listed: bool = True
    """False for a host that the policy does not name: there only MCP counts as a message, and
    `unlisted: block` refuses it."""


@frozen
class Free:
    """A request that passes untouched."""

    is_metadata: bool = False
    """The answer is OAuth metadata, for `Sorter.learn_oauth`."""


@frozen
class Refused:
    """A request that does not pass whatever its body is."""

    refusal: HttpRefusal


type Sorted = Held | Watched | Free | Refused


class Sorter:
    """Sorts the requests of one listener."""

    def __init__(
        self,
        servers: Sequence[Server],
        *,
        tunnel: Sequence[str] = (),
        unlisted: Unlisted = Unlisted.INSPECT,
        reverse: bool = False,
        allowed_hosts: Collection[str] = (),
        allowed_origins: Collection[str] = (),
        before: Sorter | None = None,
    ) -> None:
        """Take what the policy says, and what was set for a listener in front of one server (`reverse`).

        What `before` has learned, another sorter of this listener, stays known.

        Raises:
            ValueError: a server's URL is not what the policy language has.

        """
        self._endpoints = compile_endpoints(servers)
        self._tunnel = frozenset(map(canonical_host, tunnel)) - {None}
        self._unlisted = unlisted
        self._is_reverse = reverse
        self._allowed = (tuple(allowed_hosts), tuple(allowed_origins))
        self.oauth: OAuthEndpoints = OAuthEndpoints() if before is None else before.oauth
        """What OAuth metadata that passed has named."""
        self.announced: EndpointPaths = EndpointPaths() if before is None else before.announced
        """Where event streams have their agents post."""
        self.lessons = 0
        """How often something was learned: while it stays, the same request is sorted alike."""

    def sort(self, request: HttpRequest, sni: str | None = None) -> Sorted:
        """Give how a request is treated; `sni` is None where the client sent none, or no TLS."""
        if self._is_reverse:
            return self._sort_reverse(request)
        host, names = _names(request, sni)
        endpoints = [endpoint for endpoint in self._endpoints if any(map(endpoint.host.matches, names))]
        if not endpoints:
            return self._sort_unlisted(request)
        if host is None or names != {host} or not _has_port(request):
            return _refuse_host("the target, the SNI, the Host header and the URL must name the same server")
        refusal = check_values(request)
        return Refused(refusal) if refusal is not None else self._sort_listed(request, host, endpoints)

    def is_of_server(self, host: str) -> bool:
        """Whether a host is one of the servers', whatever its port."""
        named = canonical_host(host)
        return self._is_reverse or any(endpoint.host.matches(named) for endpoint in self._endpoints)

    def is_judged(self, host: str) -> bool:
        """Whether the policy has a say in MCP to a host."""
        return self._unlisted is not Unlisted.PASS or self.is_of_server(host)

    def may_tunnel(self, connect_host: str, sni: str | None) -> bool:
        """Whether TLS passes undecrypted: target and SNI are one host of `tunnel`, and no server's."""
        host = canonical_host(connect_host)
        return (
            host in self._tunnel and host == canonical_host(sni or "") and not self.is_of_server(connect_host)
        )

    def learn_oauth(self, metadata: Json, origin: Origin) -> None:
        """Remember the endpoints in metadata that `origin` served, for as long as this listener runs."""
        self.lessons += 1
        self.oauth.learn(metadata, canonical_origin(origin))

    def learn_endpoint(self, host: str, port: int, target: str) -> None:
        """Hold what is posted to a target that an event stream of that host has announced."""
        self.lessons += 1
        self.announced.learn(canonical_host(host) or "", port, target)

    def _sort_reverse(self, request: HttpRequest) -> Sorted:
        refusal = check_host_and_origin(request, *self._allowed) or check_values(request)
        if refusal is not None:
            return Refused(refusal)
        if request.authority:
            # The host would send it on in absolute form, and servers go by that.
            return Refused(_refusal(400, "the request target must be a path", "unparsed"))
        if _is_websocket(request):
            return _refuse_websocket()
        host, readings = canonical_host(request.host), path_readings(request.target)
        at_host = [endpoint for endpoint in self._endpoints if endpoint.host.matches(host)]
        endpoint = find_endpoint(at_host, request.port, readings)
        name = (endpoint or nearest_endpoint(at_host, request.port, readings)).server if at_host else None
        return self._sort_oauth(request, host or "", readings, endpoint, name) or Held(name)

    def _sort_listed(self, request: HttpRequest, host: str, endpoints: list[Endpoint]) -> Sorted:
        if not any(endpoint.has_port(request.port) for endpoint in endpoints):
            return self._sort_other_port(request, host, endpoints)
        if _is_websocket(request):
            return _refuse_websocket()
        readings = path_readings(request.target)
        endpoint = find_endpoint(endpoints, request.port, readings)
        name = (endpoint or nearest_endpoint(endpoints, request.port, readings)).server
        of_oauth = self._sort_oauth(request, host, readings, endpoint, name)
        if of_oauth is not None:
            return of_oauth
        if endpoint is not None or self._is_announced(request, host, readings):
            return Held(name)
        # Whatever type is declared: there are servers that do not look at it.
        return Watched(name) if _is_post(request) or any(mcp_headers(request.headers)) else Free()

    def _sort_other_port(self, request: HttpRequest, host: str, endpoints: list[Endpoint]) -> Sorted:
        if _speaks_mcp_over_websocket(request):
            return _refuse_websocket()
        readings = path_readings(request.target)
        is_announced = self._is_announced(request, host, readings)
        if not is_announced and not _may_be_message(request):
            return Free()
        name = nearest_endpoint(endpoints, request.port, readings).server
        return Held(name) if is_announced else Watched(name)

    def _is_announced(self, request: HttpRequest, host: str, readings: frozenset[str]) -> bool:
        return _is_post(request) and self.announced.has(host, request.port, readings)

    def _sort_oauth(
        self,
        request: HttpRequest,
        host: str,
        readings: frozenset[str],
        endpoint: Endpoint | None,
        name: str | None,
    ) -> Sorted | None:
        if endpoint is not None and endpoint.is_literal:
            return None  # metadata cannot take an endpoint out of the rules
        match self.oauth.exchange_of(request, host, readings):
            case Exchange.METADATA:
                return Free(is_metadata=True)
            case Exchange.KEYS:
                return Free()
            case Exchange.FORM | Exchange.REGISTRATION:
                return Watched(name)
            case _:
                return None

    def _sort_unlisted(self, request: HttpRequest) -> Sorted:
        if _speaks_mcp_over_websocket(request):
            return _refuse_websocket()
        if self._unlisted is Unlisted.PASS:
            return Free()
        host, readings = canonical_host(request.host) or "", path_readings(request.target)
        if self._is_announced(request, host, readings):
            is_blocked = self._unlisted is Unlisted.BLOCK
            return Watched(None, is_listed=False) if is_blocked else Held(None)
        if not _may_be_message(request):
            return Free()
        if self.oauth.exchange_of(request, host, readings) is Exchange.METADATA:
            return Free()  # MCP 2025-03-26: its version header comes with metadata requests to any host
        if self._unlisted is Unlisted.BLOCK and not _is_post(request):
            return Refused(unlisted_refusal())
        return Watched(None, is_listed=False)


def unlisted_refusal() -> HttpRefusal:
    """Give the refusal of MCP to a host that the policy does not name, under `unlisted: block`."""
    text = (
        "blocked by AgentFence policy: `servers` names no MCP server at this host, and the policy says "
        "`unlisted: block`. The same call will be refused again."
    )
    return HttpRefusal(403, _BLOCKED_BY_POLICY, text, "server_unlisted")


def _names(request: HttpRequest, sni: str | None) -> tuple[str | None, set[str | None]]:
    """Give the target's host, and all names that the request goes by; None stands for an unreadable one.

    Without SNI the host asks for the target's certificate, so that names the target too.
    """
    host = canonical_host(request.host)
    authorities = [parse_authority(value.strip(" \t")) for value in values(request.headers, "host")]
    if request.authority:  # RFC 9112, section 3.2.2: a server goes by it, whatever `Host` says
        authorities.append(parse_authority(request.authority))
    named = {authority[0] if authority else None for authority in authorities or [None]}
    return host, {host, canonical_host(sni) if sni else host, *named}


def _has_port(request: HttpRequest) -> bool:
    """Whether `Host` is there once, with the target's port or none, and no URL says another."""
    authorities = [parse_authority(value.strip(" \t")) for value in values(request.headers, "host")]
    is_one = (
        len(authorities) == 1 and authorities[0] is not None and authorities[0][1] in {None, request.port}
    )
    if not request.authority:
        return is_one
    authority = parse_authority(request.authority)
    port = None if authority is None else authority[1] or DEFAULT_PORTS.get(request.scheme)
    return is_one and port == request.port


def _may_be_message(request: HttpRequest) -> bool:
    if any(mcp_headers(request.headers)):
        return True
    if not _is_post(request):
        return False
    declared = declared_type(request.headers)
    return not declared.strip(" \t,") or "json" in declared or "text/" in declared


def _is_post(request: HttpRequest) -> bool:
    """Whether some server takes the request for a POST."""
    overrides = (fold_name(name) in METHOD_OVERRIDES for name, _ in request.headers)
    letters = request.method if request.method.isalpha() else "".join(filter(str.isalpha, request.method))
    return letters.upper() == "POST" or any(overrides)


def _is_websocket(request: HttpRequest) -> bool:
    return any(member.partition("/")[0] == "websocket" for member in list_members(request.headers, "upgrade"))


def _speaks_mcp_over_websocket(request: HttpRequest) -> bool:
    return _is_websocket(request) and "mcp" in list_members(request.headers, "sec-websocket-protocol")


def _refusal(status: int, message: str, reason_code: str) -> HttpRefusal:
    return HttpRefusal(status, INVALID_REQUEST, message, reason_code)


def _refuse_host(message: str) -> Refused:
    return Refused(_refusal(403, message, "host_refused"))


def _refuse_websocket() -> Refused:
    return Refused(_refusal(403, "MCP over WebSocket cannot be judged; use Streamable HTTP", "unparsed"))
