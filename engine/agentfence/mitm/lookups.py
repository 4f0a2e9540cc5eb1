"""Spares mitmproxy lookups that have the same outcome each time.

For each request the host asks twelve times which fields a hook has, copies a dozen options that are text,
numbers or switches, looks four times whether its own tests run, and misses headers through six functions
and an exception. Here fields are remembered, what cannot change is not copied, and a header that is not
there is missed at one look; all else goes to the host's own functions.

This leans on where the host looks those up, so with another minor version than the one it was written for,
nothing changes.
"""

from __future__ import annotations

import time
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from mitmproxy import hooks, http, optmanager, version
from mitmproxy.utils import asyncio_utils

from agentfence.mitm.dispatch import KNOWN_VERSION

if TYPE_CHECKING:
    import asyncio

_Option: Final = optmanager._Option  # noqa: SLF001 - the host has no other name for it
_NEVER_CHANGES: Final = frozenset((str, int, bool, float, type(None)))
_host_value: Final = _Option.current
_host_header: Final[Any] = http.Headers.get


def spare_lookups() -> None:
    """Have the host look once, where this version of it is known."""
    if version.VERSION.startswith(KNOWN_VERSION):
        hooks.Hook.args = hook_arguments  # type: ignore[method-assign, assignment]
        _Option.current = option_value  # type: ignore[method-assign, assignment]
        http.Headers.get = header  # type: ignore[method-assign, assignment]
        asyncio_utils.set_task_debug_info = label_task


def hook_arguments(hook: hooks.Hook) -> list[Any]:
    """Give what the host gives: what a hook is about, as its fields have it."""
    kind: Any = type(hook)  # that it can be a key is lost on mypy, as the host sets its hash later
    return [getattr(hook, name) for name in _fields_of(kind)]


@cache
def _fields_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def option_value(option: optmanager._Option) -> Any:
    """Give what the host gives: an option's value, and a copy of one that could be changed."""
    value = option._default if option.value is optmanager.unset else option.value  # noqa: SLF001 - as `_Option` itself
    return value if type(value) in _NEVER_CHANGES else _host_value(option)


def header(headers: http.Headers, name: str | bytes, default: Any = None) -> Any:
    """Give what the host gives: the values of a header as one, or `default`."""
    if type(name) is str:
        wanted = name.encode("utf-8", "surrogateescape").lower()
        if all(given.lower() != wanted for given, _ in headers.fields):
            return default
    return _host_header(headers, name, default)


def label_task(task: asyncio.Task[Any], *, name: str, client: tuple[Any, ...] | None = None) -> None:
    """Note what the host notes on a task, but for the host's own test that began it."""
    task.created = time.time()  # type: ignore[attr-defined]
    task.set_name(name)
    if client:
        task.client = client  # type: ignore[attr-defined]
