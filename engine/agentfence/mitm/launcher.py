"""Runs mitmproxy in this process, with the fence and few other addons.

Each request makes the host call every addon eight times, which is most of its work: with these few
it serves about twice as many requests as `mitmdump`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mitmproxy import exceptions, master, options
from mitmproxy.addons import (
    block,
    core,
    disable_h2c,
    errorcheck,
    next_layer,
    proxyauth,
    proxyserver,
    tlsconfig,
    upstream_auth,
)

from agentfence.core.errors import AgentFenceError, UsageError
from agentfence.core.values import frozen
from agentfence.mitm import host_options as host_options_table
from agentfence.mitm.agent import PROXY_FAILED
from agentfence.mitm.entry import promote
from agentfence.mitm.sparing import spare_work
from agentfence.settings import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    type Beside = Callable[[master.Master], Awaitable[int]]
    """Runs the host and something beside it; gives the exit status."""

_HOST_FAILED = 1
_HIGHEST_PORT = 65_535


@frozen
class Launch:
    """What a person asked for."""

    upstream: str | None
    listen: str
    shows_web: bool
    is_quiet: bool
    own_options: Mapping[str, str | None]
    """The fence's own, by name."""
    host_options: tuple[str, ...]
    """mitmproxy's, as `name=value`."""
    beside: Beside | None = None
    """What runs beside it, and ends it; it has stdout to itself."""


class SmallMaster(master.Master):
    """mitmproxy with what a proxy needs, and no more."""

    def __init__(self, opts: options.Options, *, with_termlog: bool) -> None:
        """Take the options."""
        super().__init__(opts, with_termlog=with_termlog)
        spare_work(self.addons)
        self.addons.add(
            core.Core(),
            block.Block(),
            disable_h2c.DisableH2C(),
            proxyauth.ProxyAuth(),
            proxyserver.Proxyserver(),
            next_layer.NextLayer(),
            tlsconfig.TlsConfig(),
            upstream_auth.UpstreamAuth(),
            errorcheck.ErrorCheck(),
        )


def launch(wanted: Launch) -> int:
    """Run the proxy until it is told to end; give the exit status.

    Raises:
        AgentFenceError: An option, the policy or the audit log cannot be used.

    """
    try:
        return asyncio.run(_serve(wanted))
    except SystemExit:  # the host's own way to say that it did not start
        return _HOST_FAILED if wanted.beside is None else PROXY_FAILED


async def _serve(wanted: Launch) -> int:
    logging.getLogger().setLevel(logging.INFO)
    _refuse_forced(wanted.host_options)
    opts = options.Options()
    host = _make_master(opts, wanted)
    try:
        # Before the fence is put in, so that it opens with what was asked for. mitmproxy's own
        # config.yaml is not read: it may hold options that carry traffic past the fence.
        _check_folder(_last_of(wanted.host_options, "confdir") or opts.confdir)
        opts.set(*(f"{name}={value}" for name, value in _settings(wanted)), *wanted.host_options, defer=True)
        if wanted.beside is None:
            _check_listening(opts, shows_web=wanted.shows_web)
        mistakes: list[Exception] = []
        promote(host.addons, mistakes.append)
        if mistakes:
            raise mistakes[0]
    except (exceptions.OptionsError, RuntimeError) as error:
        raise UsageError(str(error)) from error
    unknown = sorted(opts.deferred)
    if unknown:
        raise UsageError(f"unknown option of mitmproxy `{unknown[0]}`")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, host.shutdown)
    if wanted.beside is not None:
        return await wanted.beside(host)
    await host.run()
    return 0


def _refuse_forced(host_options: tuple[str, ...]) -> None:
    """Say so when an option is given that the fence sets itself, even to the host's default."""
    for option in host_options:
        name, _, value = option.partition("=")
        forced = host_options_table.FORCED.get(name)
        if forced is not None and value.lower() != str(forced).lower():
            raise UsageError(f"{name} must be {str(forced).lower()} while AgentFence runs: leave it out")


def _last_of(host_options: tuple[str, ...], name: str) -> str | None:
    given = (option.partition("=") for option in host_options)
    return next((value for key, _, value in reversed([*given]) if key == name), None)


def _check_listening(opts: options.Options, *, shows_web: bool) -> None:
    """Say so before anything begins when an address is taken: the host's advice is for its own commands."""
    if not any("@" in mode for mode in opts.mode):
        _check_free(opts.listen_host, opts.listen_port, "`--listen HOST:PORT`")
    if shows_web:
        _check_free(opts.web_host, opts.web_port, "`--set web_port=PORT`")


def _check_free(host: str, port: int, option: str) -> None:
    try:
        places = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, address = places[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise AgentFenceError(f"cannot listen at {host}:{port}: {reason}; {option} names another") from error


def _check_folder(confdir: str) -> None:
    """Say so when there is no place for the proxy's authority, which the host shows as a crash of its own."""
    folder = os.path.expanduser(confdir)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"the folder {folder} for the proxy's authority cannot be made: {reason}; "
            "`--set confdir=DIR` names another"
        ) from error


def _make_master(opts: options.Options, wanted: Launch) -> master.Master:
    with_termlog = wanted.beside is None
    if not wanted.shows_web:
        return SmallMaster(opts, with_termlog=with_termlog)
    from mitmproxy.tools.web.master import WebMaster

    return WebMaster(opts, with_termlog=with_termlog)


def _settings(wanted: Launch) -> list[tuple[str, str]]:
    """Give the options of the host and of the fence that the command line sets."""
    host, port = _address(wanted.listen)
    settings = [("listen_host", host), ("listen_port", port)]
    if wanted.upstream is not None:
        settings.append(("mode", f"reverse:{_origin(wanted.upstream)}"))
    if wanted.is_quiet:
        settings.append(("termlog_verbosity", "error"))
    for option in OPTIONS:
        value = wanted.own_options.get(option.name)
        if option.on_http and value is not None:
            settings.append((option.host_option, value))
    return settings


def _address(listen: str) -> tuple[str, str]:
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port.isdigit() or int(port) > _HIGHEST_PORT:
        raise UsageError(f"--listen must be HOST:PORT, as 127.0.0.1:8080, not `{listen}`")
    return host.removeprefix("[").removesuffix("]"), port


def _origin(upstream: str) -> str:
    try:
        parts = urlsplit(upstream)
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError as error:
        raise UsageError(f"--upstream must be a URL, as http://127.0.0.1:3000, not `{upstream}`") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise UsageError(
            f"--upstream must be an http or https URL, as http://127.0.0.1:3000, not `{upstream}`"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    origin = f"{parts.scheme}://{host}{port}"
    if parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise UsageError(
            f"--upstream takes no path, as the agent's own goes on to the server: write `{origin}`"
        )
    return origin
