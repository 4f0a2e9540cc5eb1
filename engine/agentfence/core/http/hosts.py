"""Host names in one spelling, so that two names of one host compare equal.

Invariant: what cannot be read as a host is None, which equals no host.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

import can_ada

from agentfence.core.values import frozen, replace

LOOPBACK = "localhost"
"""The one spelling of every name for this machine: a local server answers to all of them."""

# No `%`: the parser would decode it, and the host that connects does not. No surrogates: it takes none.
_HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[^\x00-\x20%/@:?#\\\[\]<>^|\x7f\ud800-\udfff]+")
_AUTHORITY = re.compile(r"(?P<host>\[[^\]]*\]|[^:]*)(?::(?P<port>[0-9]{1,5}))?")


@frozen
class Origin:
    """A scheme, a host and a port."""

    scheme: str
    host: str
    port: int


@frozen
class HostPattern:
    """One host, with `*.` before it every host below it, with `*` alone every host."""

    name: str
    """Canonical; empty for every host."""
    is_wild: bool = False

    def matches(self, host: str | None) -> bool:
        """Whether a canonical host is meant; never for None."""
        if host is None or not self.is_wild:
            return host == self.name
        return not self.name or host.endswith("." + self.name)


@lru_cache(maxsize=1024)
def canonical_host(text: str) -> str | None:
    """Give the one spelling of a host: lower case, punycode, plain IP address; None for what is none.

    IPv6 addresses come without brackets, and take none or both.
    """
    if text.count(":") > 1 and not text.startswith("["):
        text = f"[{text}]"
    if not _HOST.fullmatch(text):
        return None
    try:
        name = can_ada.parse(f"http://{text}/").hostname
    except ValueError:
        return None
    name = name.removesuffix(".")
    if not all(name.split(".")):
        return None
    return _canonical_address(name.strip("[]"))


def _canonical_address(name: str) -> str:
    try:
        address: IPv4Address | IPv6Address = ip_address(name)
    except ValueError:
        return LOOPBACK if name.endswith(".localhost") else name
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    # Connecting to the unspecified address reaches this machine too.
    return LOOPBACK if address.is_loopback or address.is_unspecified else str(address)


def canonical_origin(origin: Origin) -> Origin:
    """Give the origin with its host in the one spelling; as it is when that is no host."""
    return replace(origin, host=canonical_host(origin.host) or origin.host)


def parse_host_pattern(text: str) -> HostPattern | None:
    """Give the pattern that `h`, `*.h`, `*` or `**` is; None for anything else."""
    if text in ("*", "**"):
        return HostPattern("", is_wild=True)
    name = canonical_host(text.removeprefix("*."))
    return None if name is None or "*" in name else HostPattern(name, is_wild=text.startswith("*."))


def parse_authority(text: str) -> tuple[str, int | None] | None:
    """Give canonical host and port of `host[:port]`; None for what is no authority."""
    match = _AUTHORITY.fullmatch(text)
    host = canonical_host(match["host"]) if match else None
    if match is None or host is None:
        return None
    port = int(match["port"]) if match["port"] else None
    return None if port is not None and port > 65_535 else (host, port)
