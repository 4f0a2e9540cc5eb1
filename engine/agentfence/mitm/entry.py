"""How the fence gets into mitmproxy, and stays there.

As a script it would be one item of the host's chain together with all other scripts, and would go
when its file is edited, broken, deleted or unloaded; each of these was seen to let traffic pass. So
the script only calls `promote`, and the fence stands in the chain by itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Optional, cast

from mitmproxy import ctx, exceptions, hooks

from agentfence.core.errors import AgentFenceError, PolicyError
from agentfence.mitm import host_options
from agentfence.mitm.addons import Armer, Judge
from agentfence.mitm.dispatch import RememberingAddons
from agentfence.mitm.opening import open_surface, view_addons
from agentfence.mitm.sparing import spare_work
from agentfence.run_controls import LOOK_EVERY, RunControls
from agentfence.settings import OPTIONS, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy.addonmanager import AddonManager, Loader

type ReportMistake = Callable[[Exception], None]

_log = logging.getLogger("agentfence")
_TEXT_OR_NOTHING = cast("type", Optional[str])  # noqa: UP045 - the form that the host compares with
_OWN_OPTIONS = {option.host_option for option in OPTIONS if option.on_http}


class Guard:
    """Declares the fence's options, opens the fence when they are known, and guards the host's."""

    name = "agentfence-guard"

    def __init__(self, armer: Armer, judge: Judge, report_mistake: ReportMistake) -> None:
        """Take the addons that refuse everything until they are given a surface."""
        self._armer = armer
        self._judge = judge
        self._report_mistake = report_mistake
        self._is_running = False
        self._is_reverse = False
        self._misgiven: dict[str, str] = {}
        """What was given for options that take one value."""
        self._watching: asyncio.Task[None] | None = None

    def load(self, loader: Loader) -> None:
        """Declare the options: plain text all, as the host swallows a bad number without a word."""
        self._take_given()
        for option in OPTIONS:
            if option.on_http:
                shown = f"{option.help} (default: {option.default})" if option.default else option.help
                # None is "not given"; an empty text is a mistake that must be said.
                loader.add_option(option.host_option, _TEXT_OR_NOTHING, None, shown)
        host_options.force(ctx.options)
        host_options.forbid_reset(ctx.options)

    def _take_given(self) -> None:
        """Take what was given before the options were there as the text that it means.

        In the host's config.yaml numbers and truth values are YAML's. What has no value, as `--set NAME
        VALUE` without the `=`, the host would take for not given; on two it would crash.
        """
        deferred = ctx.options.deferred
        for name in _OWN_OPTIONS & deferred.keys():
            given = deferred[name]
            values = [] if given is None else getattr(given, "val", [given])
            match values:
                case [bool(value)]:
                    deferred[name] = str(value).lower()
                case [str() | int() | float() as value]:
                    deferred[name] = str(value)
                case _:
                    del deferred[name]
                    self._misgiven[name] = _described(values)

    def configure(self, updated: set[str]) -> None:
        """Hold the host's options; open the fence once, before a connection can be accepted.

        A mistake at start is reported, and everything is refused until the host has ended.

        Raises:
            OptionsError: At run time, for a change that would let traffic pass unread; the host
                then keeps the old value.

        """
        try:
            self._check(updated)
        except (AgentFenceError, exceptions.OptionsError) as error:
            if self._is_running:
                raise exceptions.OptionsError(str(error)) from error
            self._report_mistake(error)

    async def running(self) -> None:
        """Refuse bad options from now on, instead of ending the start; listen where it is safe."""
        self._is_running = True
        self._listen_to_people()
        proxyserver = ctx.master.addons.get("proxyserver")
        if proxyserver is not None and ctx.options.listen_host == host_options.LOOPBACK:
            await host_options.bind_to_loopback(proxyserver.servers)

    def _listen_to_people(self) -> None:
        surface = self._judge.surface
        if surface is None:
            return
        controls = RunControls(surface.fence, surface.prepare, ctx.master.shutdown)
        loop = asyncio.get_running_loop()
        with suppress(ValueError, RuntimeError):  # only the main thread of a program is told of signals
            loop.add_signal_handler(signal.SIGHUP, controls.hang_up)
            loop.add_signal_handler(signal.SIGUSR1, controls.summarize)
        if controls.watches:
            self._watching = asyncio.create_task(_watch(controls))

    def done(self) -> None:
        """End the audit log."""
        if self._watching is not None:
            self._watching.cancel()
        if self._judge.surface is not None:
            self._judge.surface.close()

    def _check(self, updated: set[str]) -> None:
        host_options.check(ctx.options)
        unknown = sorted(name for name in ctx.options.deferred if name.startswith("agentfence"))
        if unknown:
            raise exceptions.OptionsError(f"unknown option `{unknown[0]}`: {_advice_for(unknown[0])}")
        for name, got in self._misgiven.items():
            raise exceptions.OptionsError(f"expected one value for `{name}`, as `{name}=VALUE`, got {got}")
        if self._judge.surface is None:
            given = {o.name: getattr(ctx.options, o.host_option) for o in OPTIONS if o.on_http}
            self._judge.surface = self._armer.surface = open_surface(
                read_settings(given, os.environ), ctx.options
            )
            self._is_reverse = host_options.is_reverse(ctx.options.mode)
        elif self._is_reverse is not host_options.is_reverse(ctx.options.mode):
            raise exceptions.OptionsError(
                "reverse mode is entered and left at a start alone: start the proxy again"
            )
        elif self._is_running and updated & _OWN_OPTIONS:
            raise exceptions.OptionsError(
                "the fence's options cannot be changed while it runs: start it again"
            )


def _described(values: list[object]) -> str:
    match values:
        case []:
            return "none"
        case [dict()]:
            return "a mapping"
        case [_]:
            return "a list"
    return f"{len(values)} values"


def _advice_for(unknown: str) -> str:
    from difflib import get_close_matches  # only mistakes need it

    close = get_close_matches(unknown, _OWN_OPTIONS, 1, 0.9)
    return f"did you mean `{close[0]}`?" if close else "`--options` lists those there are"


async def _watch(controls: RunControls) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY)
        controls.look()


def log_mistake(error: Exception) -> None:
    """Log a mistake as an error: at start the host then exits with status 1, without a traceback."""
    if isinstance(error, PolicyError):
        from agentfence.core.policy.rendering import render_text

        _log.error(render_text(error.problems))
    else:
        _log.error("AgentFence cannot start: %s", error)


def promote(addons: AddonManager, report_mistake: ReportMistake = log_mistake) -> None:
    """Put the fence into the chain, once: first to arm, last to judge.

    `report_mistake` is told what keeps the fence from starting.

    Raises:
        RuntimeError: The host refuses our options; at load this ends the start.

    """
    if addons.get(Judge.name) is not None:
        return
    armer, judge = Armer(), Judge()
    guard = Guard(armer, judge, report_mistake)
    spare_work(addons)
    if isinstance(addons, RememberingAddons):
        addons.settle_request, armer.hides_refusals = judge.settle_request, True
    try:
        addons.register(armer)
        addons.chain.insert(0, armer)
        addons.add(guard, judge)
        # What is added while the host loads gets no `configure` of its own.
        addons.invoke_addon_sync(guard, hooks.ConfigureHook(set(ctx.options.keys())))
        if judge.surface is not None:
            addons.add(*view_addons(judge.surface))  # behind the judge, as they change no request
    except exceptions.OptionsError as error:  # the host would go on without us
        raise RuntimeError(str(error)) from error
