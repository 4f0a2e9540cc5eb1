"""What arrives in pieces, put together up to a limit: past it only the two ends are kept."""

from __future__ import annotations

from agentfence.core.values import frozen

_END = 4_096
_TRIMMED = 16 * _END
"""Length from which on an ending is cut again: not for each piece."""


@frozen
class Overlong:
    """A line or an event over the limit."""

    ends: bytes
    """Its first and its last bytes, of an event those of its data: an answer's id is in one of them."""

    @classmethod
    def of(cls, whole: bytes) -> Overlong:
        """Give what is kept of something too long."""
        return cls(whole[:_END] + whole[max(_END, len(whole) - _END) :])


class Pieces:
    """The pieces of one line or event so far.

    Invariant: hardly more than `limit` bytes are kept, and no byte is copied more than a few times,
    however small the pieces are.
    """

    __slots__ = ("_ending", "_kept", "_limit")

    def __init__(self, limit: int) -> None:
        """Take how many bytes are wanted whole."""
        self._limit = limit
        self._kept = bytearray()
        self._ending: bytearray | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing came since the last one was complete."""
        return not self._kept

    def add(self, piece: bytes) -> None:
        """Keep one more piece, or what is needed of it."""
        if self._ending is not None:
            self._ending += piece
            if len(self._ending) > _TRIMMED:
                del self._ending[:-_END]
            return
        self._kept += piece
        if len(self._kept) > max(self._limit, _END):
            self._ending = self._kept[_END:]
            del self._kept[_END:]

    def complete(self, last: bytes) -> bytes | Overlong:
        """Give everything up to and with `last`, and begin anew."""
        if self.is_empty and len(last) <= self._limit:
            return last
        self.add(last)
        is_cut = self._ending is not None
        whole = bytes(self._kept) + bytes(self._ending or b"")
        self._kept.clear()
        self._ending = None
        # Its two ends together may be within the limit, and even a message.
        return Overlong.of(whole) if is_cut or len(whole) > self._limit else whole
