"""Spares mitmproxy the slow look at the types of a request's or an answer's parts, where a quick one will do.

Whenever the host makes a request or an answer it reads the annotations of each part again, which is an
eighth of its work for a message. Here parts of exactly the types that it reads from a connection are
seen by one comparison; all others go to the host's own check.

This leans on `MessageData`, so with another minor version than the one it was written for, nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mitmproxy import http, version

from agentfence.mitm.dispatch import KNOWN_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMON: Final = (bytes, http.Headers)
_USUAL: Final = frozenset(
    (*_COMMON, content, type(None), float, end, *own)
    for content in (bytes, type(None))
    for end in (float, type(None))
    for own in ((int, bytes), (str, int, bytes, bytes, bytes, bytes))
)
"""The types of the parts in their order: of an answer, and of a request."""


def spare_checks() -> None:
    """Have the host look quickly first, where this version of it is known."""
    check = getattr(http.MessageData, "__post_init__", None)
    if version.VERSION.startswith(KNOWN_VERSION) and check is not None and check.__module__ != __name__:
        http.MessageData.__post_init__ = _quick_before(check)  # type: ignore[method-assign]


def _quick_before(check: Callable[[http.MessageData], None]) -> Callable[[http.MessageData], None]:
    def quick(message: http.MessageData) -> None:
        """Raise `TypeError` for a part of a type that the host refuses."""
        if tuple(map(type, vars(message).values())) not in _USUAL:
            check(message)

    return quick
