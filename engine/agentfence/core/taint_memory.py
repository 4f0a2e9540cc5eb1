"""What came back to an agent and what it said itself, as hashes: no text is kept.

A shingle is each run of `length` characters of a text's essence. A text that holds one run of that
length of another has a shingle of it, wherever it stands, so that one look-up a character finds it,
however much is remembered.

Invariants
- What an agent says is its own only if nothing in it had come back before: a copy never becomes own.
- Nothing grows without bound; the oldest goes first, of those that brought the most. A session that
  uses all of it takes some 13 MiB.
- What waits to be remembered is remembered before anything is looked for.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_FOREIGN_SIZES = (1 << 12, 1 << 16, 1 << 20)
_OWN_SIZES = (1 << 12, 1 << 16, 1 << 18)
"""Of tables, in places: little for an agent to which little comes back. All these, and the last once more."""
_LEAST_NEW = 4
"""Characters that a copied run must have besides the agent's own words: what follows those may be alike."""
_MOST_NAMES = 254
_MOST_WAITING = 2
"""Results of one agent."""
_KEPT_PART: Final = 8
"""Of a table that goes, as many shingles as this part of its places go on."""
AT_ONCE: Final = 1 << 15
"""Shingles that are remembered without holding anything up."""
_FINGERPRINT = 0xFFFF_FFFF
_PLACE = 27
"""How far up the bits begin that name a place: five of them are in the fingerprint as well."""
_FARTHEST = 31
"""Places from the one that is named, as far as those bits tell; almost none stands farther off."""
_OTHERS = "several tools"


class _Table:
    """Shingles at the place that their middle bits name, or the next free one; the low ones tell them apart.

    Some bits are in both, so that what is here can be put into another table. Python's own sets need six
    times the memory. Two shingles are taken for one in fewer than one of a hundred million looks, and
    `hash` differs in each process, so that nobody can aim at that.
    """

    __slots__ = ("_fingerprints", "_held", "_mask", "_names", "_sources", "room", "size")

    def __init__(self, size: int) -> None:
        self._fingerprints = array("I", bytes(4 * size))
        self._sources = bytearray(size)
        self._mask = size - 1
        self._names = {"": 0}
        self._held: Counter[int] = Counter()
        """How many shingles each source brought, by its number."""
        self.size = size
        self.room = size // 2
        """How many shingles are sure to fit: fuller tables are slow to search."""

    def put(self, source: str, shingles: Iterable[int]) -> None:
        """Keep shingles, no more than there is room for; what brought one last is its source."""
        fingerprints, sources, mask = self._fingerprints, self._sources, self._mask
        number, room = self._number(source), self.room
        for shingle in shingles:
            fingerprint, place = shingle & _FINGERPRINT or 1, shingle >> _PLACE & mask
            while (there := fingerprints[place]) != fingerprint and there:
                place = place + 1 & mask
            if not there:
                fingerprints[place] = fingerprint
                self.room -= 1
            sources[place] = number
        self._held[number] += room - self.room

    def take_over(self, older: _Table) -> None:
        """Keep, of a table of the same size that is to go, what those brought that brought less than others.

        So no source pushes out what others brought by bringing very much. Of one that is cut, shingles
        here and there are left, which is enough to find what was copied at some length.
        """
        left, names = self.size // _KEPT_PART, [*older._names]
        for known_as in older._smallest_first()[:-1]:
            number, at = self._number(names[known_as]), -1
            while left and (at := older._sources.find(known_as, at + 1)) >= 0:
                fingerprint = older._fingerprints[at]
                place = at - (at - (fingerprint >> _PLACE) & _FARTHEST) & self._mask
                while self._fingerprints[place]:
                    place = place + 1 & self._mask
                self._fingerprints[place], self._sources[place] = fingerprint, number
                self._held[number] += 1
                self.room -= 1
                left -= 1

    def _smallest_first(self) -> list[int]:
        """Give the numbers of the sources by what their servers brought, and then by what they brought."""
        held, of_server = self._held, Counter[str]()
        servers = {number: name.partition("/")[0] for name, number in self._names.items() if name}
        for number, server in servers.items():
            of_server[server] += held[number]
        return sorted(servers, key=lambda number: (of_server[servers[number]], held[number]))

    def find(self, shingles: Sequence[int], places: Sequence[int]) -> Iterable[tuple[int, str]]:
        """Give the positions of those among `shingles` that are here, each with its source.

        `places` has the bits of each that name places, which are the same for every table.
        """
        fingerprints, mask = self._fingerprints, self._mask
        names = [*self._names]
        for position in [at for at, place in enumerate(places) if fingerprints[place & mask]]:
            fingerprint, place = shingles[position] & _FINGERPRINT or 1, places[position] & mask
            while (there := fingerprints[place]) != fingerprint and there:
                place = place + 1 & mask
            if there:
                yield position, names[self._sources[place]]

    def _number(self, source: str) -> int:
        if source not in self._names and len(self._names) >= _MOST_NAMES:
            source = _OTHERS
        return self._names.setdefault(source, len(self._names))


class _Shingles:
    """Shingles in tables, the newest last."""

    __slots__ = ("_most", "_sizes", "_tables", "places")

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._sizes = sizes
        self.places = 0
        """In all tables together."""
        self._most = sum(sizes) + sizes[-1]
        self._tables: deque[_Table] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._tables

    def add(self, source: str, shingles: Sequence[int]) -> bool:
        """Keep the shingles of a text; whether older ones, or some of its own, were forgotten for it."""
        done, has_forgotten = 0, False
        while done < len(shingles):
            if not self._tables or not self._tables[-1].room:
                has_forgotten |= self._open_table()
            room = self._tables[-1].room
            self._tables[-1].put(source, shingles[done : done + room])
            done += room
        return has_forgotten

    def find(self, shingles: Sequence[int]) -> dict[int, str]:
        """Give the positions of those that are here, in order, each with its last source."""
        places = [shingle >> _PLACE for shingle in shingles]
        found = chain.from_iterable(table.find(shingles, places) for table in self._tables)
        return dict(sorted(dict(found).items()))

    def _open_table(self) -> bool:
        """Begin a new table; whether the oldest were forgotten for it."""
        tables, sizes = self._tables, self._sizes
        tables.append(_Table(sizes[min(len(tables), len(sizes) - 1)]))
        self.places += tables[-1].size
        if self.places <= self._most:
            return False
        # The small ones stay: there is room for them, and what a session began with.
        oldest = next(table for table in tables if table.size == tables[-1].size)
        tables.remove(oldest)
        self.places -= oldest.size
        tables[-1].take_over(oldest)
        return True


class TaintMemory:
    """What one agent got, across all servers, and what it said."""

    __slots__ = (
        "__weakref__",
        "_foreign",
        "_grown",
        "_may_wait",
        "_own",
        "_waiting",
        "_was_pushed_out",
        "has_failed",
        "lengths",
    )

    def __init__(
        self,
        grown: Callable[[TaintMemory], None] | None = None,
        may_wait: Callable[[TaintMemory], bool] | None = None,
    ) -> None:
        """Take what is told when it takes up more than before, and who says whether a result may wait."""
        self._foreign = _Shingles(_FOREIGN_SIZES)
        self._own = _Shingles(_OWN_SIZES)
        self._grown = grown
        self._may_wait = may_wait
        self._waiting: deque[tuple[str, Iterator[Sequence[int]]]] = deque()
        self._was_pushed_out = False
        self.has_failed = False
        """Whether something came back that could not be remembered."""
        self.lengths: tuple[int, ...] = ()
        """Of the shingles of what came back: more than one where the policy was changed in between."""

    @property
    def places(self) -> int:
        """How much it takes up: each place has five bytes."""
        return self._foreign.places + self._own.places

    def forget(self) -> None:
        """Forget everything, own words too, as others need the room."""
        self._foreign = _Shingles(_FOREIGN_SIZES)
        self._own = _Shingles(_OWN_SIZES)
        self._waiting.clear()
        self._was_pushed_out = True

    @property
    def is_empty(self) -> bool:
        """Whether nothing came back yet."""
        return self._foreign.is_empty and not self._waiting

    @property
    def is_behind(self) -> bool:
        """Whether something that came back waits: `catch_up` before the agent's next message is judged."""
        return bool(self._waiting)

    def remember(self, source: str, shingles: Sequence[int]) -> bool:
        """Keep what came back; whether something older was forgotten for it."""
        if self._waiting:
            return self.remember_later(source, iter((shingles,)))
        has_forgotten, self._was_pushed_out = self._was_pushed_out, False
        return self._add(self._foreign, source, shingles) or has_forgotten

    def remember_later(self, source: str, pieces: Iterator[Sequence[int]]) -> bool:
        """Have a large result wait, or another one behind that; whether something older was forgotten.

        What is forgotten for this one is told of with the next.
        """
        has_forgotten, self._was_pushed_out = self._was_pushed_out, False
        may_wait = len(self._waiting) < _MOST_WAITING and (self._may_wait is None or self._may_wait(self))
        self._waiting.append((source, pieces))
        if not may_wait:
            self.catch_up()
        return has_forgotten

    def catch_up(self, most: int | None = None) -> None:
        """Keep what waits, `most` shingles of it or a few more, or up to an empty piece; None: all."""
        done = 0
        while self._waiting and (most is None or done < most):
            source, pieces = self._waiting[0]
            try:
                piece = next(pieces, None)
            except Exception:
                self.has_failed = True
                raise
            if piece is None:
                self._waiting.popleft()
            elif self._add(self._foreign, source, piece):
                self._was_pushed_out = True
            if piece == [] and most is not None:
                return
            done += len(piece or ()) + 1

    def own(self, shingles: Sequence[int]) -> None:
        """Keep what the agent said of itself, once nothing in it was found to have come back."""
        self._add(self._own, "", shingles)

    def _add(self, kept: _Shingles, source: str, shingles: Sequence[int]) -> bool:
        before = kept.places
        has_forgotten = kept.add(source, shingles)
        if self._grown is not None and kept.places > before:
            self._grown(self)
        return has_forgotten

    def source_of(self, shingles: Sequence[int], length: int) -> str | None:
        """Give whence a run in a text came, by the text's shingles in order; None when it is not foreign."""
        if self._waiting:
            self.catch_up()
        found = self._foreign.find(shingles) if shingles else None
        if not found:
            return None
        covered = _characters(self._own.find(shingles), length)
        new, done, last = 0, 0, -1
        for position, source in found.items():
            if position > last + 1:
                new = 0
            new += sum(at not in covered for at in range(max(done, position), position + length))
            done, last = position + length, position
            if new >= min(_LEAST_NEW, length):
                return source
        return None


def shingles_of(text: str, length: int) -> list[int]:
    """Give the hash of each run of `length` characters, in order."""
    return [hash(text[start : start + length]) for start in range(len(text) - length + 1)]


def pieces_of(text: str, length: int) -> Iterator[list[int]]:
    """Give the same, some at a time."""
    for start in range(0, len(text) - length + 1, AT_ONCE):
        yield shingles_of(text[start : start + AT_ONCE + length - 1], length)


def _characters(positions: Iterable[int], length: int) -> set[int]:
    """Give the places of all characters in the shingles at `positions`, which are in order."""
    characters: set[int] = set()
    done = 0
    for position in positions:
        characters.update(range(max(done, position), position + length))
        done = position + length
    return characters
