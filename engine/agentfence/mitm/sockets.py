"""How much of a message a WebSocket keeps that is not whole yet: the host has no limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_MESSAGE: Final = 67_108_864
"""Bytes of one message."""
_FRAME: Final = 64
"""Bytes that keeping a frame takes besides its own."""


class Unfinished:
    """Counts the frames of one side's message, each once."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._frames: Sequence[bytes] = ()
        self._counted = self._size = 0

    def size(self, frames: Sequence[bytes]) -> int:
        """Give the size of the message whose `frames` the host has by now, of which the last may grow."""
        if frames is not self._frames:
            self._frames, self._counted, self._size = frames, 0, 0
        whole = len(frames) - 1
        self._size += sum(len(frame) + _FRAME for frame in frames[self._counted : whole])
        self._counted = whole
        return self._size + len(frames[-1])
