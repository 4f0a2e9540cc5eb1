"""Which kind of place a host is: a public name, a public address, a local one, a metadata service.

Hosts come reduced, as `url_reading` gives them: lower case, no trailing dot, punycode, IPv4 as four
decimal numbers, IPv6 in brackets. Nothing here asks a name server: a public name may well answer
with a private address, and only the server that connects can know.
"""

from __future__ import annotations

from enum import Enum
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from collections.abc import Iterator


class HostClass(Enum):
    """What a host is, from the outside."""

    NAMED = "named"
    """A name that the public DNS may hold."""
    PUBLIC = "public"
    """An address on the internet."""
    LOCAL = "local"
    """A name or an address that means something else in every network, or this machine."""
    METADATA = "metadata"
    """A cloud's metadata service, which hands credentials to whoever asks; also what may hide one."""


type _Ranges = tuple[tuple[int, int], ...]


def _ranges(*networks: str) -> _Ranges:
    parsed = map(ip_network, networks)
    return tuple((int(network.network_address), int(network.broadcast_address)) for network in parsed)


# IANA IPv4 Special-Purpose Address Registry (what is not globally reachable), multicast, class E.
_LOCAL_IPV4 = _ranges(
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
    *("203.0.113.0/24", "224.0.0.0/3"),
)
_GLOBAL_IPV6 = _ranges("2000::/3")
# Of those: IETF protocols with Teredo, documentation, 6to4.
_LOCAL_IPV6 = _ranges("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

# All of link-local is metadata: AWS, Azure and Google answer on 169.254.169.254, ECS and EKS on
# 169.254.170.2 and .23, Tencent on 169.254.0.23, Scaleway on 169.254.42.42. Then Alibaba, Azure's
# WireServer, Oracle.
_METADATA_IPV4 = _ranges("169.254.0.0/16", "100.100.100.200", "168.63.129.16", "192.0.0.192")
# AWS, Google, Scaleway, Alibaba; then NAT64 of a local network, which hides IPv4 anywhere (RFC 8215).
_METADATA_IPV6 = _ranges(
    *("fd00:ec2::/32", "fd20:ce::254", "fd00:42::42", "fd00:100::100:200", "64:ff9b:1::/48"),
)
# 169.254.169.254 in a local address: OpenStack, Oracle (fd00:c1::a9fe:a9fe), Akamai (fd00:a9fe:a9fe::1).
_METADATA_GROUPS = bytes.fromhex("a9fea9fe")
_METADATA_NAMES = frozenset(
    {
        "api.metadata.cloud.ibm.com",
        "metadata.exoscale.com",
        "metadata.goog",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "metadata.tencentyun.com",
    }
)

# In local names, as `metadata.google.internal`, `instance-data.ec2.internal` and `rancher-metadata`.
_METADATA_LABELS = frozenset({"metadata", "instance-data", "rancher-metadata"})

# IANA Special-Use Domain Names, RFC 6762 appendix G, ICANN's `internal`; then what clusters and clouds
# use, and what else is local in many networks, as far as the public DNS has none of that name.
# `example` is not here: RFC 6761 section 6.5 has programs treat it like any other name.
_LOCAL_TOP_LEVELS = frozenset(
    {
        *("alt", "arpa", "internal", "invalid", "local", "localhost", "onion", "test"),
        *("corp", "home", "intranet", "lan", "mail", "private", "workgroup"),
        *("localdomain", "localdomain4", "localdomain6"),  # the last two are in /etc/hosts of Fedora and RHEL
        *("cluster", "consul", "default", "docker", "kube", "mesos", "nomad", "novalocal"),
        *("openstacklocal", "pod", "svc"),
        *("belkin", "cpe", "dhcp", "dlink", "domain", "gateway", "hole", "intra", "localnet", "priv"),
        "router",
    }
)
# Public names that answer with loopback.
_ANSWERING_LOOPBACK = frozenset(
    {
        *("ddev.site", "fuf.me", "lacolhost.com", "lcl.host", "lndo.site", "local.gd", "localdev.me"),
        *("localh.st", "localho.st", "localhost.direct", "localtest.me", "lvh.me", "vcap.me"),
    }
)
# Those, and public names that answer with the address that is spelled in the name; those that routers
# answer themselves; those of private networks.
_ANSWERING_LOCALLY = frozenset(
    {
        *_ANSWERING_LOOPBACK,
        *("1u.ms", "backname.io", "ipv6-literal.net", "local-ip.co", "local-ip.sh", "nip.io"),
        *("localdomain.pw", "plex.direct", "rbndr.us", "rebind.it", "rebind.network", "sslip.io"),
        *("traefik.me", "xip.io", "xip.name"),
        *("asusrouter.com", "fritz.box", "mywifiext.net", "orbilogin.com", "orbilogin.net"),
        *("routerlogin.com", "routerlogin.net", "tendawifi.com", "tplinklogin.net", "tplinkmodem.net"),
        *("tplinkrepeater.net", "tplinkwifi.net", "tplogin.cn"),
        "ts.net",
    }
)
# Addresses of metadata services, as names of pods, of machines and below `nip.io` and its like spell them.
_SPELLED_METADATA = late_regex(
    r"(?<![0-9])169[.-]254[.-][0-9]"
    r"|(?<![0-9])(?:100[.-]100[.-]100[.-]200|168[.-]63[.-]129[.-]16|192[.-]0[.-]0[.-]192)(?![0-9])"
    r"|(?<![0-9a-f])(?:a9fe[0-9a-f]{4}|646464c8|a83f8110|c00000c0)(?![0-9a-f])"
    r"|a9fe-a9fe|fd[02]0-0{0,2}(?:ec2|ce|42|100)-"
)


def host_class(host: str) -> HostClass:
    """Give the class of a reduced host."""
    if host[-1:] == "]" or host[-1:].isdigit():
        address = read_address(host)
        if address is not None:
            return _address_class(address)
    _, dot, top = host.rpartition(".")
    if host in _METADATA_NAMES or top.isdigit() or top.startswith("0x") or "%" in host:
        return HostClass.METADATA  # all but the first are an address to some readers
    if not dot or top in _LOCAL_TOP_LEVELS or _last_two_labels(host) in _ANSWERING_LOCALLY:
        return HostClass.METADATA if _may_be_metadata(host) else HostClass.LOCAL
    return HostClass.NAMED


def answers_with_loopback(host: str) -> bool:
    """Whether a reduced host is a public name that the DNS answers with loopback."""
    return _last_two_labels(host) in _ANSWERING_LOOPBACK


def _last_two_labels(host: str) -> str:
    return host[host.rfind(".", 0, max(host.rfind("."), 0)) + 1 :]


def read_address(host: str) -> IPv4Address | IPv6Address | None:
    """Give the address that a reduced host is; None for a name."""
    if host.startswith("["):
        return IPv6Address(host[1:-1])
    if not host[-1:].isdigit():
        return None
    try:
        return IPv4Address(host)
    except ValueError:
        return None


def embedded_ipv4(host: str) -> tuple[IPv4Address, ...]:
    """Give each IPv4 address that a router or a translator may make of an IPv6 host."""
    return tuple(_hidden_in(IPv6Address(host[1:-1]))) if host.startswith("[") else ()


# Mapped and compatible (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052).
_BEFORE_IPV4 = (
    bytes.fromhex("00000000 00000000 0000ffff"),
    bytes.fromhex("00000000 00000000 00000000"),
    bytes.fromhex("00000000 00000000 ffff0000"),
    bytes.fromhex("0064ff9b 00000000 00000000"),
)
# RFC 5214 and RFC 3056.
_ISATAP = (bytes.fromhex("00005efe"), bytes.fromhex("02005efe"))
_6TO4 = bytes.fromhex("2002")


def _hidden_in(address: IPv6Address) -> Iterator[IPv4Address]:
    packed = address.packed
    if packed[:12] in _BEFORE_IPV4 or packed[8:12] in _ISATAP:
        yield IPv4Address(packed[12:])
    if packed.startswith(_6TO4):
        yield IPv4Address(packed[2:6])
    if address.teredo is not None:
        yield from address.teredo


def _may_be_metadata(local_name: str) -> bool:
    labels = local_name.split(".")
    return _SPELLED_METADATA.search(local_name) is not None or not _METADATA_LABELS.isdisjoint(labels)


def _address_class(address: IPv4Address | IPv6Address) -> HostClass:
    if isinstance(address, IPv4Address):
        if _is_within(address, _METADATA_IPV4):
            return HostClass.METADATA
        return HostClass.LOCAL if _is_within(address, _LOCAL_IPV4) else HostClass.PUBLIC
    hidden = {_address_class(inner) for inner in _hidden_in(address)}
    is_public = _is_within(address, _GLOBAL_IPV6) and not _is_within(address, _LOCAL_IPV6)
    if HostClass.METADATA in hidden or _is_within(address, _METADATA_IPV6):
        return HostClass.METADATA
    if not is_public and _METADATA_GROUPS in address.packed:
        return HostClass.METADATA
    return HostClass.PUBLIC if is_public and not hidden else HostClass.LOCAL


def _is_within(address: IPv4Address | IPv6Address, ranges: _Ranges) -> bool:
    number = int(address)
    for first, last in ranges:  # noqa: SIM110 - a generator costs more than the comparing
        if first <= number <= last:
            return True
    return False
