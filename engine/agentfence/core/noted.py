"""What was noted of a session already, so that the log is told each thing once; bounded."""

from __future__ import annotations

from collections import OrderedDict

_MOST = 10_000


class Noted:
    """A set that forgets its oldest members."""

    __slots__ = ("_members",)

    def __init__(self) -> None:
        self._members: OrderedDict[int, None] = OrderedDict()

    def is_new(self, *what: str) -> bool:
        """Whether this was not noted before; from now on it was."""
        noted = hash(what)  # of texts that a peer may choose as long as it likes
        if noted in self._members:
            return False
        self._members[noted] = None
        if len(self._members) > _MOST:
            self._members.popitem(last=False)
        return True
