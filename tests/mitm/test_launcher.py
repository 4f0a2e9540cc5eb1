"""What the launcher makes of its command line."""

from __future__ import annotations

import pytest

from agentfence.core.errors import UsageError
from agentfence.mitm.launcher import Launch, _address, _origin, _refuse_forced, _settings


@pytest.mark.parametrize(
    ("listen", "parsed"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", "8080")),
        ("[::1]:1", ("::1", "1")),
        ("localhost:65535", ("localhost", "65535")),
    ],
)
def test_an_address_is_host_and_port(listen: str, parsed: tuple[str, str]) -> None:
    assert _address(listen) == parsed


@pytest.mark.parametrize("listen", ["", "8080", ":8080", "host", "host:", "host:x", "host:65536", "host:-1"])
def test_an_address_that_is_none(listen: str) -> None:
    with pytest.raises(UsageError, match="--listen"):
        _address(listen)


@pytest.mark.parametrize(
    ("upstream", "origin"),
    [
        ("http://127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("https://mcp.example.com/", "https://mcp.example.com"),
        ("http://[::1]:5", "http://[::1]:5"),
    ],
)
def test_an_upstream_is_an_origin(upstream: str, origin: str) -> None:
    assert _origin(upstream) == origin


@pytest.mark.parametrize(
    "upstream",
    [
        "",
        "x",
        "ftp://x",
        "http://",
        "http://x:99999",
        "http://u@x",
        "http://x/mcp",
        "http://x?y",
        "http://[x",
    ],
)
def test_an_upstream_that_is_none(upstream: str) -> None:
    with pytest.raises(UsageError, match="--upstream"):
        _origin(upstream)


def test_options_of_both_kinds_are_set() -> None:
    wanted = Launch(
        "http://x:1",
        "127.0.0.1:9",
        shows_web=False,
        is_quiet=True,
        own_options={"mode": "observe"},
        host_options=(),
    )

    assert dict(_settings(wanted)) == {
        "listen_host": "127.0.0.1",
        "listen_port": "9",
        "mode": "reverse:http://x:1",
        "termlog_verbosity": "error",
        "agentfence_mode": "observe",
    }


def test_a_forced_option_is_refused_even_as_the_hosts_default() -> None:
    _refuse_forced(("rawtcp=false", "block_global=true"))
    with pytest.raises(UsageError, match="rawtcp must be false"):
        _refuse_forced(("rawtcp=true",))
