"""mitmproxy's own options: those that the fence forces, and those that it refuses.

Each would otherwise carry bytes past the hooks. They are set at load, and refused at start and at
run time when somebody sets them otherwise; mitmweb's API then answers 400 and keeps the old value.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from mitmproxy import exceptions
from mitmproxy.proxy.mode_specs import ProxyMode, ReverseMode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mitmproxy.addons.proxyserver import Servers
    from mitmproxy.optmanager import OptManager

FORCED: Mapping[str, object] = {
    "rawtcp": False,  # a CONNECT that speaks no HTTP would become a pipe without hooks
    "websocket": True,  # without it a 101 is an unread pipe
    "http2": False,  # an HTTP/2 body without a length is smuggled into HTTP/1 upstreams
    "http3": False,
    "validate_inbound_headers": True,
    "connection_strategy": "lazy",  # eager loses our answer when the server is down
}
UNSET = (
    "stream_large_bodies",
    "body_size_limit",
    "ignore_hosts",
    "allow_hosts",
    "tcp_hosts",
    "udp_hosts",
)
"""They match on a name that the client chooses, or stream a body before it was judged."""
MODES = ("regular", "upstream", "socks5", "reverse")
REVERSE_SCHEMES = ("http", "https")
"""All others pass as raw bytes, or over HTTP/3."""
LOOPBACK = "127.0.0.1"
IDLE_SECONDS = 86_400
"""An event stream may be silent for hours; the host's 600 s would cut it."""


def is_reverse(modes: Sequence[str]) -> bool:
    """Whether one server stands behind the listener, and not whatever a request names."""
    return any(mode.startswith("reverse") for mode in modes)


def is_open(options: OptManager) -> bool:
    """Whether other machines can use the listener, and nobody is asked who they are."""
    host = options.listen_host
    try:
        is_here = ip_address(host).is_loopback
    except ValueError:
        is_here = host in {"", "localhost"}
    return not is_here and not getattr(options, "proxyauth", None)


def force(options: OptManager) -> None:
    """Set what the fence needs, unless somebody chose otherwise: then `check` says so."""
    wanted = dict(FORCED)
    if is_reverse(options.mode):
        wanted["keep_host_header"] = True
    untouched = {name: value for name, value in wanted.items() if not options.has_changed(name)}
    options.update(**{name: value for name, value in untouched.items() if getattr(options, name) != value})
    if not options.has_changed("tcp_timeout"):
        options.update(tcp_timeout=IDLE_SECONDS)
    if not options.has_changed("listen_host"):
        options.update(listen_host=LOOPBACK)


def forbid_reset(options: OptManager) -> None:
    """Have the host's command that resets all options refused: of what that sets, it takes nothing back."""

    def reset() -> None:
        raise exceptions.OptionsError(
            "all options at once cannot be reset while AgentFence runs: reset one after the other"
        )

    vars(options)["reset"] = reset  # to the host each other attribute is an option


async def bind_to_loopback(servers: Servers) -> None:
    """Move listeners to the loopback address that started before the fence was loaded.

    mitmproxy loads scripts while it starts to listen, and by default it listens on all interfaces.
    """
    for server in servers:
        is_elsewhere = any(address[0] in {"0.0.0.0", "::"} for address in server.listen_addrs)  # noqa: S104 - compared
        if is_elsewhere and server.mode.custom_listen_host is None:
            await server.stop()
            await server.start()


def check(options: OptManager) -> None:
    """Refuse options that would let traffic pass unread.

    Raises:
        OptionsError: Naming the option, what it must be and why.

    """
    for name, value in FORCED.items():
        if getattr(options, name) != value:
            raise exceptions.OptionsError(
                f"{name} must be {str(value).lower()} while AgentFence runs: leave it out"
            )
    for name in UNSET:
        if getattr(options, name):
            raise exceptions.OptionsError(
                f"{name} must stay unset while AgentFence runs: it carries traffic past the fence"
                + (" (for pinned apps the policy has `tunnel:`)" if name.endswith("hosts") else "")
            )
    if is_reverse(options.mode) and len(options.mode) > 1:  # a request would not say whose it is
        raise exceptions.OptionsError("reverse mode goes with no other mode: start one proxy for each server")
    for mode in options.mode:
        kind = mode.partition(":")[0].partition("@")[0]
        if kind not in MODES:
            raise exceptions.OptionsError(
                f"mode must be one of {', '.join(MODES)} while AgentFence runs, not `{mode}`"
            )
        if not _is_readable(mode):
            raise exceptions.OptionsError(
                "reverse mode needs an http or https URL while AgentFence runs, "
                f"as reverse:http://127.0.0.1:3000, not `{mode}`"
            )
        if kind == "reverse" and not options.keep_host_header:
            raise exceptions.OptionsError(
                "keep_host_header must be true while AgentFence runs in reverse mode: "
                "Host is checked as the agent sent it"
            )


def is_read(mode: ProxyMode) -> bool:
    """Whether all that comes in by a mode is HTTP to the host, and so passes the hooks."""
    if isinstance(mode, ReverseMode):
        return mode.scheme in REVERSE_SCHEMES
    return mode.type_name in MODES


def _is_readable(mode: str) -> bool:
    try:
        return is_read(ProxyMode.parse(mode))
    except ValueError:
        return False
