"""OAuth on an MCP server's own origin: requests that are part of it, whatever the endpoint's pattern.

MCP, basic/authorization: metadata at `/.well-known/`, then the endpoints that it names, or the ones
at the root that 2025-03-26 falls back to. What is posted here is still looked at for messages.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentfence.core.http.endpoints import DEFAULT_PORTS
from agentfence.core.http.hosts import canonical_host
from agentfence.core.http.media_types import FORM, JSON, declared_type
from agentfence.core.http.paths import plain_path

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json
    from agentfence.core.http.hosts import Origin
    from agentfence.core.http.message import HttpRequest

_MAX_LEARNED = 1_000

_METADATA = re.compile(
    r"/\.well-known/.+|/.+/\.well-known/(?:openid-configuration|oauth-authorization-server)", re.DOTALL
)
# RFC 6749, 7009, 7662, 9126, 8628
_DEFAULT_FORMS = re.compile(r"(?:/oauth|/oauth2)?/(?:token|revoke|introspect|par|device_authorization)")
_DEFAULT_REGISTRATION = re.compile(r"(?:/oauth|/oauth2)?/register")  # RFC 7591


class Exchange(Enum):
    """A request of OAuth's."""

    METADATA = "metadata"
    """A GET whose answer may name endpoints."""
    KEYS = "keys"
    """A GET of public keys."""
    FORM = "form"
    """A form that is posted."""
    REGISTRATION = "registration"
    """JSON that is posted to register a client."""


_ENDPOINTS = {
    "token_endpoint": Exchange.FORM,
    "revocation_endpoint": Exchange.FORM,
    "introspection_endpoint": Exchange.FORM,
    "pushed_authorization_request_endpoint": Exchange.FORM,
    "device_authorization_endpoint": Exchange.FORM,
    "registration_endpoint": Exchange.REGISTRATION,
    "jwks_uri": Exchange.KEYS,
}


class OAuthEndpoints:
    """The default endpoints, and those that metadata named so far."""

    def __init__(self) -> None:
        self._learned: dict[tuple[str, int, str], Exchange] = {}

    def learn(self, metadata: Json, origin: Origin) -> None:
        """Remember what metadata of an origin names on that origin; another's it cannot name."""
        if not isinstance(metadata, dict):
            return
        for member, exchange in _ENDPOINTS.items():
            path = _path_on(origin, metadata.get(member))
            if path is not None and len(self._learned) < _MAX_LEARNED:
                self._learned[origin.host, origin.port, path] = exchange

    def exchange_of(self, request: HttpRequest, host: str, readings: frozenset[str]) -> Exchange | None:
        """Give what a request is in OAuth, by every reading of its path; None when it is not."""
        kinds = {self._exchange_at(request, host, path) for path in readings}
        return kinds.pop() if len(kinds) == 1 else None

    def _exchange_at(self, request: HttpRequest, host: str, path: str) -> Exchange | None:
        learned = self._learned.get((host, request.port, path))
        match request.method, declared_type(request.headers).partition(";")[0].strip():
            case "GET" | "HEAD" | "OPTIONS", _ if not request.announces_body:
                if _METADATA.fullmatch(path):
                    return Exchange.METADATA
                return learned if learned is Exchange.KEYS else None
            case "POST", content_type if content_type == FORM:
                is_form = learned is Exchange.FORM or _DEFAULT_FORMS.fullmatch(path)
                return Exchange.FORM if is_form else None
            case "POST", content_type if content_type == JSON:
                is_registration = learned is Exchange.REGISTRATION or _DEFAULT_REGISTRATION.fullmatch(path)
                return Exchange.REGISTRATION if is_registration else None
        return None


def _path_on(origin: Origin, url: Json) -> str | None:
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    named = (parts.scheme, canonical_host(parts.hostname or ""), port)
    return plain_path(parts.path or "/") if named == (origin.scheme, origin.host, origin.port) else None
