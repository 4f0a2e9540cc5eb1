"""How much looking for secrets one message is worth, so that none holds everything else up.

What is behind the last look is taken for a secret. Honest messages, also large logs, stay far below;
a text can be made of nothing but places that must be looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ALL = 200_000
"""Microseconds, on a slow machine: costs are counted, not measured, so that the same message is always shown
alike."""
MOST_LOOKS = 5_000
"""Of one detector in one text."""


class Work:
    """What is left of the looking that one message is worth."""

    __slots__ = ("_is_again", "_kept_for_later", "_left")

    def __init__(self) -> None:
        """Begin a message."""
        self._left = _ALL
        self._kept_for_later = 0
        self._is_again = False

    @property
    def is_done(self) -> bool:
        """Whether no more is worth it."""
        return self._left <= 0

    def begin_text(self) -> None:
        """Look through a text for the first time, with half of what is left: it may have to be done again."""
        self._kept_for_later = self._left // 2
        self._is_again = False

    def begin_again(self) -> None:
        """Look through the same text again, which costs no more than it did."""
        self._is_again = True

    def spend(self, cost: int) -> bool:
        """Do something that costs as much; whether it is still worth it."""
        self._left -= cost
        return self._left > 0

    def affords(self, most: int, cost: int) -> int:
        """Give how often something may be done: half of what is left for this text stays for others."""
        return max(0, min(most, (self._left - self._kept()) // cost))

    def looks(self, cost: int) -> Iterator[None]:
        """Give one turn for each look of a detector: half of what is left for this text stays for others."""
        kept = self._kept()
        for _ in range(MOST_LOOKS):
            if self._left <= kept:
                return
            self._left -= cost
            yield

    def _kept(self) -> int:
        return 0 if self._is_again else (self._left + self._kept_for_later) // 2
