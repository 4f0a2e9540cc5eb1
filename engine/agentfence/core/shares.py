"""A bounded table in which nobody can push out what is somebody else's.

Past an owner's share its own least recently used entry goes, past the whole that of the owner with
the most: whoever makes up names by the thousand loses only names of its own.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from agentfence.core.values import slotted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


@slotted
class _Entry[Value]:
    owner: str
    value: Value
    used_at: float


class Shares[Key: Hashable, Value]:
    """Values by key, each with an owner; what was not used for `lifetime` seconds is gone."""

    __slots__ = ("_entries", "_lifetime", "_most", "_most_of_one", "_of_owner")

    def __init__(self, most: int, most_of_one: int, lifetime: float) -> None:
        """Take how many entries there may be, how many of one owner, and how long they live unused."""
        self._most = most
        self._most_of_one = most_of_one
        self._lifetime = lifetime
        self._entries: dict[Key, _Entry[Value]] = {}
        self._of_owner: dict[str, OrderedDict[Key, None]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, key: Key, time: float) -> Value | None:
        """Give the value under `key`, which counts as a use of it."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if time - entry.used_at > self._lifetime:
            self.forget(key)
            return None
        entry.used_at = time
        self._of_owner[entry.owner].move_to_end(key)
        return entry.value

    def values(self) -> Iterator[Value]:
        """Give all values; none of them counts as used."""
        return (entry.value for entry in self._entries.values())

    def keep(self, key: Key, value: Value, owner: str, time: float) -> None:
        """Put `value` under `key`, in the share of `owner`."""
        self.forget(key)
        share = self._of_owner.setdefault(owner, OrderedDict())
        share[key] = None
        self._entries[key] = _Entry(owner, value, time)
        if len(share) > self._most_of_one:
            self.forget(next(iter(share)))
        elif len(self._entries) > self._most:
            largest = max(self._of_owner.values(), key=len)
            self.forget(next(iter(largest)))

    def forget(self, key: Key) -> None:
        """Drop what is under `key`, if anything is."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        share = self._of_owner[entry.owner]
        del share[key]
        if not share:
            del self._of_owner[entry.owner]
