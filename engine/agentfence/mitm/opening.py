"""Opens the fence for HTTP from what was set."""

from __future__ import annotations

import logging
import os
import sys
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from mitmproxy import ctx
from mitmproxy.log import ALERT

from agentfence.approval.choosing import has_terminal, http_approver, why_nobody_is_asked
from agentfence.core.errors import AgentFenceError, UsageError
from agentfence.core.http.traffic import Sorter
from agentfence.fence import open_fence
from agentfence.mitm.host_options import is_open, is_reverse
from agentfence.mitm.intercepting import InterceptApprover
from agentfence.mitm.surface import Surface
from agentfence.mitm.view.display import Display
from agentfence.reporting import LogFormat, LogLevel, Reporter, StandardError, is_colourful

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mitmproxy.optmanager import OptManager

    from agentfence.approval.interface import Approver
    from agentfence.core.policy.model import Policy
    from agentfence.settings import Settings

_log = logging.getLogger("agentfence")


def open_surface(settings: Settings, options: OptManager) -> Surface:
    """Give the surface, opened and announced.

    Raises:
        AgentFenceError: The policy or the audit log cannot be used.

    """
    approver = _approver(settings)
    try:
        fence = open_fence(settings, os.environ, _reporter(settings), surface="HTTP", approver=approver.name)
    except AgentFenceError:
        approver.close()
        raise
    unasked = why_nobody_is_asked(approver, settings)
    if unasked:
        fence.report(f"nobody can be asked, so what asks is denied: {unasked}")
    if is_open(options):
        fence.report(
            f"it listens at {options.listen_host}: other machines can use it, and none is asked who it is"
        )
    is_at_one_server, listen_host = is_reverse(options.mode), options.listen_host

    def make_sorter(policy: Policy, before: Sorter | None) -> Sorter:
        return Sorter(
            policy.servers,
            tunnel=policy.tunnel,
            unlisted=policy.unlisted,
            reverse=is_at_one_server,
            allowed_hosts=(*settings.allowed_hosts, *filter(None, [listen_host])),
            allowed_origins=settings.allowed_origins,
            before=before,
        )

    view = ctx.master.addons.get("view")
    is_console = ctx.master.addons.get("consoleaddon") is not None
    display = Display(
        update=None if view is None else lambda flow: view.update([flow]),
        is_seen=view is not None or bool(getattr(options, "save_stream_file", None)),
        hint=partial(_log.log, ALERT, "%s") if is_console and approver.name == "intercept" else None,
    )
    return Surface(fence, make_sorter, approver, display)


def view_addons(surface: Surface) -> Sequence[object]:
    """Give what shows the run to people in mitmweb and the console; nothing where there is no view."""
    view = ctx.master.addons.get("view")
    if view is None:
        return ()
    from mitmproxy import contentviews

    from agentfence.mitm.view.kept_flows import KeptFlows
    from agentfence.mitm.view.live_view import LiveView
    from agentfence.mitm.view.message_view import McpContentview

    contentviews.add(McpContentview(lambda: surface.fence.redactor))
    keep_flows = surface.fence.settings.keep_flows
    return (KeptFlows(view, keep_flows, surface.display.notes.is_ours), LiveView(surface))


def _approver(settings: Settings) -> Approver:
    """Give who is asked: what suits the program that the fence runs in."""
    has_view = ctx.master.addons.get("view") is not None
    is_console = ctx.master.addons.get("consoleaddon") is not None
    if is_console and settings.approver == "tty":
        raise UsageError("the approver `tty` cannot ask in the console: use `intercept` or `queue`")
    return http_approver(
        settings,
        os.environ,
        intercept=InterceptApprover if has_view else None,
        has_free_terminal=not is_console and has_terminal(),
    )


def _reporter(settings: Settings) -> Reporter:
    """Say things where the host does; JSON goes to stderr, as the host's own lines are none."""
    level, has_view = settings.log_level, ctx.master.addons.get("view") is not None
    if settings.log_format is LogFormat.JSON:
        return Reporter(StandardError(), level, settings.log_format)
    if ctx.master.addons.get("termlog") is None and not has_view:
        return Reporter(StandardError(), level, colours=is_colourful(os.environ, sys.stderr))
    problem = partial(_log.warning, "%s")
    if has_view:
        return Reporter(partial(_log.info, "%s"), level, write_problem=problem)
    if ctx.options.termlog_verbosity in {"error", "warn"}:
        level = LogLevel.QUIET
    # Past the host's log, which would call every addon about each line.
    colours = is_colourful(os.environ, sys.stdout)
    return Reporter(_print_as_the_host, level, write_problem=problem, colours=colours)


def _print_as_the_host(line: str) -> None:
    now = time.time()
    clock = f"{time.strftime('%H:%M:%S', time.localtime(now))}.{int(now * 1000) % 1000:03}"
    with suppress(OSError):  # nobody reads it
        print(f"[{clock}] {line}", flush=True)  # noqa: T201 - the host prints there, too
