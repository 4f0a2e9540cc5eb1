"""Runs a coroutine up to where it waits, without a task: most end before that, and a task costs more.

What has begun so must not ask which task it is in before it waits.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator


class Rest:
    """What is left of a coroutine that waits, for a task to await."""

    def __init__(self, coroutine: Coroutine[Any, Any, None], waits_for: object) -> None:
        """Take a coroutine that has begun, and what it waits for."""
        self._coroutine = coroutine
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        """Go on as if the coroutine had begun in this task."""
        while True:
            try:
                came = yield self._waits_for
            except BaseException as error:  # noqa: BLE001 - all of it is the coroutine's: cancelling, too
                go_on: Callable[[], object] = partial(self._coroutine.throw, error)
            else:
                go_on = partial(self._coroutine.send, came)
            try:
                self._waits_for = go_on()
            except StopIteration:
                return


def begin(coroutine: Coroutine[Any, Any, None]) -> Rest | None:
    """Run a coroutine up to where it waits, and give what is left; None when it has ended."""
    try:
        return Rest(coroutine, coroutine.send(None))
    except StopIteration:
        return None
