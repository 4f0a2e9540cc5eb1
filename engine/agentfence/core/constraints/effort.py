"""How much judging one message may cost, so that none holds all others up.

A message may hold a hundred thousand texts, and of some each has dozens of readings. Honest ones stay far
below the limit; what is behind it is refused.
"""

from __future__ import annotations

from typing import Final

_ALL: Final = 50_000
"""Microseconds, on a machine of 2025: costs are counted, not measured, so that the same message is always
judged alike."""

_MOST_LETTERS: Final = 1 << 18
"""Half a microsecond each, and no model writes as many."""

TOO_MUCH: Final = "has more to look through than one message may have"
"""Completes `argument … `."""


class Effort:
    """What is left of the looking that one message is worth; members of a batch share it."""

    __slots__ = ("left", "letters")

    def __init__(self, most: int = _ALL, letters: int = _MOST_LETTERS) -> None:
        """Begin a message."""
        self.left = most
        self.letters = letters
        """Characters, in all readings, that may still be compared with what tools returned."""

    def spend(self, cost: int) -> bool:
        """Do something that costs as much; whether it is still worth it."""
        self.left -= cost
        return self.left >= 0
