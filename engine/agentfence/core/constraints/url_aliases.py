"""The other hosts that reach what one does, as far as they tell without a name server.

A deny pattern for an address also holds for the names that spell it (`10.0.0.5.nip.io`) and for the
IPv6 addresses that hold it; one for this machine holds for each of its names and addresses. Only
local names are looked at: `10-0-0-5.example.com` is a name like any other.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address

from agentfence.core.constraints.url_hosts import (
    HostClass,
    answers_with_loopback,
    embedded_ipv4,
    host_class,
    read_address,
)
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

_NAMES = frozenset(
    {
        *("localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "loopback"),
        *("localhost.localdomain", "localhost4.localdomain4", "localhost6.localdomain6"),
    }
)
_SPELLED_LOOPBACK = late_regex(
    r"(?<![0-9])(?:127(?:[.-][0-9]{1,3}){3}|0(?:[.-]0){3})(?![0-9])|(?<![0-9a-f])7f[0-9a-f]{6}(?![0-9a-f])"
    r"|(?<![0-9a-f-])(?:0?--1|(?:0{1,4}-){7}0{0,3}1)(?![0-9a-f-])"
)


@frozen
class Aliases:
    """The other hosts of one."""

    is_this_machine: bool
    address: str | None = None
    spelled: re.Pattern[str] | None = None
    """The address as names spell it."""

    def cover(self, host: str) -> bool:
        """Whether a reduced host is one of them."""
        if self.is_this_machine and is_this_machine(host):
            return True
        if self.spelled is None:
            return False
        if host.startswith("["):
            return any(str(inner) == self.address for inner in embedded_ipv4(host))
        return _is_spelled_in(host, self.spelled)


def aliases_of(host: str) -> Aliases | None:
    """Give the aliases of a reduced host; None for a name as any other."""
    address = read_address(host)
    if address is not None:
        return Aliases(is_this_machine(host), host, _spelling(address))
    return Aliases(is_this_machine=True) if is_this_machine(host) else None


def is_this_machine(host: str) -> bool:
    """Whether a reduced host means the machine itself, wherever it is used."""
    address = read_address(host)
    if address is None:
        return (
            host in _NAMES
            or host.endswith(".localhost")
            or answers_with_loopback(host)
            or _is_spelled_in(host, _SPELLED_LOOPBACK)
        )
    # What is unspecified is this machine, too.
    return any(each.is_loopback or each.is_unspecified for each in (address, *embedded_ipv4(host)))


def _is_spelled_in(host: str, spelling: re.Pattern[str]) -> bool:
    return spelling.search(host) is not None and host_class(host) is not HostClass.NAMED


def _spelling(address: IPv4Address | IPv6Address) -> re.Pattern[str]:
    if isinstance(address, IPv6Address):
        short, long = (text.replace(":", "-") for text in (str(address), address.exploded))
        return re.compile(rf"(?<![0-9a-f-])(?:{short}|{long})(?![0-9a-f-])")
    dotted = str(address).replace(".", "[.-]")
    return re.compile(rf"(?<![0-9]){dotted}(?![0-9])|(?<![0-9a-f]){int(address):08x}(?![0-9a-f])")
