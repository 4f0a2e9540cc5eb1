"""What all agents of a run may remember for taint together.

Invariant: whoever comes under many names pushes out memories of its own before those of anybody else.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from agentfence.core.taint_memory import TaintMemory

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_PLACES = 1 << 25
"""In all tables: 160 MiB, as much as twelve agents use that got very much."""


_MOST_BEHIND = 8
"""Memories at a time, each with some megabytes that wait."""


class TaintPool:
    """The memories of agents, the one that last grew at the end."""

    __slots__ = ("_behind", "_most", "_owners")

    def __init__(self, most: int = _MOST_PLACES) -> None:
        """Take how many places all memories may have."""
        self._most = most
        self._owners: WeakKeyDictionary[TaintMemory, str] = WeakKeyDictionary()
        self._behind: WeakSet[TaintMemory] = WeakSet()

    def memory_for(self, owner: str) -> TaintMemory:
        """Give a memory for an agent of this owner; it counts as long as somebody holds it."""
        return TaintMemory(self._grown(owner), self._may_wait)

    def _may_wait(self, memory: TaintMemory) -> bool:
        """Whether this memory may have a result wait: what waits takes room, too."""
        self._behind = WeakSet(other for other in self._behind if other.is_behind)
        if len(self._behind) < _MOST_BEHIND:
            self._behind.add(memory)
        return memory in self._behind

    def _grown(self, owner: str) -> Callable[[TaintMemory], None]:
        def grown(memory: TaintMemory) -> None:
            self._owners.pop(memory, None)
            self._owners[memory] = owner
            while sum(kept.places for kept in self._owners) > self._most:
                self._forget_one(memory)

        return grown

    def _forget_one(self, growing: TaintMemory) -> None:
        """Forget what the owner with the most remembers and did not add to for longest."""
        held: Counter[str] = Counter()
        for memory, owner in self._owners.items():
            held[owner] += memory.places
        others = [memory for memory in self._owners if memory is not growing] or [growing]
        oldest = max(others, key=lambda memory: held[self._owners[memory]])
        oldest.forget()
        del self._owners[oldest]
