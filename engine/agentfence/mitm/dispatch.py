"""Calls the hooks of mitmproxy's addons without looking for them each time.

For each event the host asks every addon of the chain whether it has such a hook, eight times a request
and each time a second one beside it. Here what an event calls is remembered until the addons change.
And where the fence's layers ask for it, hooks are called in the middle of the host's work on a connection
(`begin`): the host takes a task, a lock and a turn of its loop for each, though hardly any waits.

This leans on the host's `AddonManager`, so with another minor version than the one it was written for, the
host's own is left.

Invariants, as in the host
- Hooks run in the order of the chain; one that raises is logged, and the next item of the chain is called.
- `AddonHalt` ends the event.
"""

from __future__ import annotations

import asyncio
import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from mitmproxy import exceptions, flow, hooks, version
from mitmproxy.addonmanager import AddonManager, safecall, traverse

from agentfence.mitm.beginning import begin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentfence.mitm.beginning import Rest

    type _Hooks = list[list[Callable[..., object]]]
    """What one event calls: for each item of the chain that has any, those of it and of what it holds."""

KNOWN_VERSION = "12.3."
_OF_REQUESTS = frozenset({"requestheaders", "request"})
_UPDATE = hooks.UpdateHook([])


class RememberingAddons(AddonManager):
    """A chain of addons that remembers what each event calls; `remember` makes one."""

    _seen: Sequence[object] = ()
    _holders: Sequence[tuple[Any, list[object]]] = ()
    """The addons that hold others, as scripts and their loader do, with what they held."""
    _hooks: dict[str, _Hooks]
    settle_request: Callable[[Any], None] | None = None
    """Told of each flow behind the hooks about its request, however these ended."""
    _begun: dict[hooks.Hook, Rest | None]
    """The events that were begun and that the host is to start, with what is left of each."""
    _is_in_task = True

    def begin(self, event: hooks.Hook) -> bool:
        """Call what the addons have for an event about a flow; False where the host is to start the event.

        It does that where others wait for their turn: many connections at once share the processor's caches
        step by step. It goes on with what waits, and waits itself while somebody holds the flow.
        """
        if _do_others_wait():
            return False
        self._is_in_task = False
        try:
            rest = begin(self._call(event))
        finally:
            self._is_in_task = True
        if rest is None and not event.args()[0].intercepted:
            return True
        self._begun[event] = rest
        return False

    async def handle_lifecycle(self, event: hooks.Hook) -> None:
        """Call what the addons have for `event`, or what is left of it."""
        if event not in self._begun:
            await self._call(event)
        elif (rest := self._begun.pop(event)) is not None:
            await rest

    async def _call(self, event: hooks.Hook) -> None:
        """Call what the addons have for `event`, and tell them of the flow that it was about."""
        about = event.args()[0]
        if self.settle_request is None or event.name not in _OF_REQUESTS:
            await self.trigger_event(event)
        else:
            try:
                await self.trigger_event(event)
            finally:
                self.settle_request(about)
        if isinstance(about, flow.Flow) and self._hooks_for(_UPDATE):
            await self.trigger_event(hooks.UpdateHook([about]))

    async def trigger_event(self, event: hooks.Hook) -> None:
        """Call what the addons have for `event`."""
        found = self._hooks_for(event)
        arguments = event.args() if found else ()
        for of_one_item in found:
            try:
                for hook in of_one_item:
                    result = hook(*arguments)
                    if result is not None and inspect.isawaitable(result):
                        if not self._is_in_task:  # it may well ask which one it is in
                            await asyncio.sleep(0)
                        await result
            except exceptions.AddonHalt:
                return
            except Exception:  # raised again, for the host to log
                with safecall():
                    raise

    def _hooks_for(self, event: hooks.Hook) -> _Hooks:
        if self._seen != self.chain or self._have_changed():
            self._seen, self._hooks = list(self.chain), {}
            holders = (addon for addon in traverse(self.chain) if hasattr(addon, "addons"))
            self._holders = [(holder, list(holder.addons)) for holder in holders]
        found = self._hooks.get(event.name)
        if found is None:
            by_item = [self._hooks_of(item, event) for item in self.chain]
            found = self._hooks[event.name] = [of_one_item for of_one_item in by_item if of_one_item]
        return found

    def _have_changed(self) -> bool:
        for holder, held in self._holders:  # noqa: SIM110 - a generator costs more than the looks
            if holder.addons != held:
                return True
        return False

    def _hooks_of(self, item: object, event: hooks.Hook) -> list[Callable[..., object]]:
        try:
            return [hook for _, hook in self._iter_hooks(item, event)]
        except exceptions.AddonManagerError as error:
            return [partial(_fail, error)]


def _do_others_wait() -> bool:
    """Whether the loop has something else to do; another loop than Python's own does not tell."""
    return bool(getattr(asyncio.get_running_loop(), "_ready", True))


def _fail(error: Exception, *_: object) -> None:
    """Raise what looking for a hook raised when it is to be called, so that it is logged as ever."""
    raise error


def remember(addons: AddonManager) -> None:
    """Have `addons` remember what events call, where this version of the host is known.

    The class of the object is swapped because the host holds on to the object.
    """
    if type(addons) is AddonManager and version.VERSION.startswith(KNOWN_VERSION):
        addons.__class__ = RememberingAddons
        addons._begun = {}  # type: ignore[attr-defined]  # noqa: SLF001 - it was made as one of the host's
