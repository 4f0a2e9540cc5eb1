"""mitmproxy's own options are held to what lets nothing pass unread."""

from __future__ import annotations

import pytest
from mitmproxy import exceptions, options
from mitmproxy.addons.proxyauth import ProxyAuth
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons
from mitmproxy.test.tflow import tclient_conn

from agentfence.mitm import host_options
from agentfence.mitm.addons import Armer


def forced(**given: object) -> options.Options:
    """The host's options, with those that its proxy server declares, as they are after the start."""
    with taddons.context(Proxyserver()) as host:
        host.options.update(**given)
        host_options.force(host.options)
        return host.options


@pytest.mark.parametrize(
    ("host", "user", "is_open"),
    [
        ("127.0.0.1", None, False),
        ("127.0.0.2", None, False),
        ("::1", None, False),
        ("localhost", None, False),
        ("0.0.0.0", None, True),
        ("::", None, True),
        ("192.0.2.7", None, True),
        ("fence.example.com", None, True),
        ("192.0.2.7", "me:secret", False),
    ],
)
def test_listener_that_others_can_use_without_a_word_is_open(
    host: str, user: str | None, is_open: bool
) -> None:
    with taddons.context(Proxyserver(), ProxyAuth()) as context:
        context.options.update(listen_host=host, proxyauth=user)

        assert host_options.is_open(context.options) is is_open


def test_a_plain_start_is_made_safe() -> None:
    made = forced()

    host_options.check(made)
    assert (made.rawtcp, made.http2, made.listen_host) == (False, False, "127.0.0.1")


@pytest.mark.parametrize(
    "mode",
    [
        "reverse:http://127.0.0.1:1",
        "reverse:https://mcp.example.com@8443",
        "reverse:mcp.example.com:443",
        "upstream:http://proxy.example.com:3128",
        "socks5@1080",
        "regular",
    ],
)
def test_a_mode_in_which_every_message_is_read_passes(mode: str) -> None:
    host_options.check(forced(mode=[mode]))


@pytest.mark.parametrize(
    ("mode", "passes"),
    [
        ("regular", True),
        ("upstream:http://proxy.example.com:3128", True),
        ("socks5", True),
        ("reverse:https://mcp.example.com", True),
        ("reverse:tcp://127.0.0.1:1", False),
        ("reverse:tls://127.0.0.1:1", False),
        ("dns", False),
        ("transparent", False),
    ],
)
def test_connection_by_a_mode_that_is_not_read_is_refused(mode: str, passes: bool) -> None:
    client = tclient_conn()
    client.proxy_mode = ProxyMode.parse(mode)

    Armer().client_connected(client)

    assert (client.error is None) is passes


def test_reverse_mode_goes_with_no_other() -> None:
    with pytest.raises(exceptions.OptionsError, match="no other mode"):
        host_options.check(forced(mode=["regular@1080", "reverse:http://127.0.0.1:1@1081"]))


def test_nobody_resets_all_options_at_once() -> None:
    """The host would not take back what that sets to values that let traffic pass unread."""
    made = forced()
    host_options.forbid_reset(made)

    with pytest.raises(exceptions.OptionsError, match="one after the other"):
        made.reset()

    host_options.check(made)


def test_reverse_mode_keeps_the_host_header() -> None:
    assert forced(mode=["reverse:http://127.0.0.1:1"]).keep_host_header is True


def test_an_address_that_was_chosen_stays() -> None:
    assert forced(listen_host="10.0.0.1").listen_host == "10.0.0.1"


@pytest.mark.parametrize(
    "given",
    [
        {"websocket": False},
        {"validate_inbound_headers": False},
        {"stream_large_bodies": "1m"},
        {"body_size_limit": "1m"},
        {"ignore_hosts": ["."]},
        {"allow_hosts": ["."]},
        {"tcp_hosts": ["."]},
        {"udp_hosts": ["."]},
        {"mode": ["dns"]},
        {"mode": ["wireguard"]},
        {"mode": ["local:curl"]},
        {"mode": ["transparent"]},
        {"mode": ["reverse:tcp://127.0.0.1:1"]},
        {"mode": ["reverse:tls://127.0.0.1:1"]},
        {"mode": ["reverse:udp://127.0.0.1:1"]},
        {"mode": ["reverse:dns://127.0.0.1:1@5353"]},
        {"mode": ["reverse:quic://127.0.0.1:1"]},
        {"mode": ["reverse:http3://127.0.0.1:1"]},
    ],
    ids=str,
)
def test_an_option_that_carries_traffic_past_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(exceptions.OptionsError):
        host_options.check(forced(**given))
