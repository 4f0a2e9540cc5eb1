from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_aliases import aliases_of, is_this_machine

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "a.localhost", "localhost6.localdomain6", "ip6-loopback", "x.lvh.me", "localtest.me"),
        *("127.0.0.1", "127.255.255.254", "0.0.0.0", "[::1]", "[::]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
        *("127.0.0.1.nip.io", "a-127-0-0-1.sslip.io", "7f000001.nip.io", "0--1.ipv6-literal.net"),
    ],
)
def test_host_is_this_machine(host: str) -> None:
    aliases = aliases_of(host)

    assert is_this_machine(host)
    assert aliases is not None
    assert aliases.cover("localhost")
    assert aliases.cover("127.0.0.1")
    assert not aliases.cover("10.0.0.1")
    assert not aliases.cover("a.example")


@pytest.mark.parametrize(
    "host",
    [
        *("", "db", "localhost.example.com", "127.0.0.1.example.com", "localdomain", "xlvh.me", "1.0.0.1"),
        *("1127.0.0.1.nip.io", "7f0000011.nip.io", "fd00--1.sslip.io", "[::2]", "[2606::7f00:1]"),
    ],
)
def test_host_is_another_machine(host: str) -> None:
    assert not is_this_machine(host)


def test_name_as_any_other_has_no_aliases() -> None:
    assert aliases_of("a.example") is None


@settings(max_examples=100)
@given(st.ip_addresses(v=4))
def test_ipv4_address_is_found_where_a_local_name_spells_it(address: IPv4Address) -> None:
    aliases = aliases_of(str(address))

    assert aliases is not None
    for spelling in (str(address), str(address).replace(".", "-"), f"{int(address):08x}"):
        assert aliases.cover(f"{spelling}.nip.io")
        assert aliases.cover(f"x-{spelling}.nip.io")
        assert not aliases.cover(f"{spelling}.example.com")
        assert aliases.is_this_machine or not aliases.cover(f"9{spelling}.nip.io")


@settings(max_examples=100)
@given(st.ip_addresses(v=6))
def test_ipv6_address_is_found_where_a_local_name_spells_it(address: IPv6Address) -> None:
    aliases = aliases_of(f"[{address}]")

    assert aliases is not None
    for spelling in (str(address), address.exploded):
        assert aliases.cover(f"{spelling.replace(':', '-')}.sslip.io")
