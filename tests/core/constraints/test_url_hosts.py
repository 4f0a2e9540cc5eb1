from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_hosts import HostClass, embedded_ipv4, host_class, read_address


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("www.python.org", HostClass.NAMED),
        ("xn--bcher-kva.example", HostClass.NAMED),
        ("10.0.0.1.example.com", HostClass.NAMED),
        ("localhost", HostClass.LOCAL),
        ("a.localhost", HostClass.LOCAL),
        ("printer.local", HostClass.LOCAL),
        ("1.0.0.127.in-addr.arpa", HostClass.LOCAL),
        ("10.0.0.1.nip.io", HostClass.LOCAL),
        ("", HostClass.LOCAL),
        ("db1", HostClass.LOCAL),
        ("www.example.xn--3e0b707e1", HostClass.NAMED),
        ("metadata.google.internal", HostClass.METADATA),
        ("metadata.tencentyun.com", HostClass.METADATA),
        ("rancher-metadata.rancher.internal", HostClass.METADATA),
        ("metadata.example.com", HostClass.NAMED),
        ("169-254-169-254.default.pod.cluster.local", HostClass.METADATA),
        ("169-254-169-254.example.com", HostClass.NAMED),
        ("fd00-0ec2-0-0-0-0-0-254.sslip.io", HostClass.METADATA),
        ("a9fea9fe1.nip.io", HostClass.LOCAL),
        ("2852039166", HostClass.METADATA),
        ("0251.254.169.254", HostClass.METADATA),
        ("0xa9fea9fe", HostClass.METADATA),
        ("169%e3%80%82254%e3%80%82169%e3%80%82254", HostClass.METADATA),
        ("93.184.216.34", HostClass.PUBLIC),
        ("10.0.0.1", HostClass.LOCAL),
        ("169.254.0.1", HostClass.METADATA),
        ("[2606:2800::1]", HostClass.PUBLIC),
        ("[::1]", HostClass.LOCAL),
        ("[fd00:ec2::23]", HostClass.METADATA),
        ("[fd00:c1::a9fe:a9fe]", HostClass.METADATA),
        ("[2606:2800::a9fe:a9fe]", HostClass.PUBLIC),
        ("[64:ff9b::a9fe:a9fe]", HostClass.METADATA),
        ("[2606:2800::5efe:a00:1]", HostClass.LOCAL),
    ],
)
def test_host_is_of_its_class(host: str, expected: HostClass) -> None:
    assert expected is host_class(host)


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("[::ffff:1.2.3.4]", ["1.2.3.4"]),
        ("[::1.2.3.4]", ["1.2.3.4"]),
        ("[::ffff:0:102:304]", ["1.2.3.4"]),
        ("[64:ff9b::102:304]", ["1.2.3.4"]),
        ("[2002:102:304::1]", ["1.2.3.4"]),
        ("[2001:0:102:304:0:ffff:f9f8:f7f6]", ["1.2.3.4", "6.7.8.9"]),
        ("[2606::200:5efe:102:304]", ["1.2.3.4"]),
        ("[2606:2800::1]", []),
        ("1.2.3.4", []),
        ("a.example", []),
    ],
)
def test_ipv4_inside_ipv6_is_found(host: str, inside: list[str]) -> None:
    assert list(map(IPv4Address, inside)) == list(embedded_ipv4(host))


@pytest.mark.parametrize(
    "address",
    [
        *(
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
        ),
        *("fd00:ec2::254", "fd20:ce::254", "fd00:42::42", "fd00:100::100:200", "fe80::a9fe:a9fe"),
    ],
)
def test_metadata_address_is_known_where_a_local_name_spells_it(address: str) -> None:
    number = int(ip_address(address))
    spelled = [address.replace(".", "-").replace(":", "-"), f"x-{address.replace(':', '-')}"]
    if "." in address:
        spelled += [address, f"{number:08x}"]

    assert host_class(f"[{address}]" if ":" in address else address) is HostClass.METADATA
    for name in spelled:
        assert host_class(f"{name}.nip.io") is HostClass.METADATA


@settings(max_examples=200)
@given(st.ip_addresses(v=4))
def test_public_address_is_global_to_the_standard_library_too(address: IPv4Address) -> None:
    if host_class(str(address)) is HostClass.PUBLIC:
        assert address.is_global
        assert not address.is_multicast


@settings(max_examples=200)
@given(st.ip_addresses(v=6) | st.integers(0, 2**64).map(lambda low: IPv6Address((0x2001 << 112) + low)))
def test_public_ipv6_address_is_global_to_the_standard_library_too(address: IPv6Address) -> None:
    if host_class(f"[{address}]") is HostClass.PUBLIC:
        assert address.is_global


@settings(max_examples=200)
@given(st.text(alphabet="0123456789.x-af", max_size=20))
def test_any_name_has_a_class(host: str) -> None:
    assert host_class(host) in HostClass
    assert read_address(host) is None or host == str(read_address(host))
