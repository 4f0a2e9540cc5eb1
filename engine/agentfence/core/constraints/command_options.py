"""The options that stand before the command that a program runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.shell_words import UnreadableError
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentfence.core.constraints.shell_words import Word

HIDDEN = "a program that runs another one, which cannot be seen"
_is_no_option = re.compile(r"[A-Za-z0-9_./]").match
_MAX_STARTS = 4  # each may hold a command that has as many in turn
_MAX_WORDS = 256


def check_known(words: Iterable[Word]) -> None:
    """Refuse words that the shell puts together.

    Raises:
        UnreadableError: one of them is not known.

    """
    if not all(word.is_known for word in words):
        raise UnreadableError(HIDDEN)


def check_whole(words: Iterable[Word]) -> None:
    """Refuse words that may become several, so that nobody knows where the command begins.

    Raises:
        UnreadableError: one of them may.

    """
    if not all(word.is_known or word.is_one for word in words):
        raise UnreadableError(HIDDEN)


def known_text(word: Word) -> str:
    """Give the text of a word that must be known.

    Raises:
        UnreadableError: it is not.

    """
    check_known([word])
    return word.text


@frozen
class Options:
    """The options of a program, and the operands before the command that it runs."""

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int = 0

    def skip(self, words: Sequence[Word]) -> int:
        """Give the position of the first operand.

        Raises:
            UnreadableError: an option is not known, or is put together by the shell.

        """
        position = 0
        while position < len(words):
            if words[position].is_one and _is_no_option(words[position].text):
                return position
            text = known_text(words[position])
            if text == "--":
                return position + 1
            if not text.startswith("-") or (text == "-" and "-" not in self.flags):
                return position
            position += 1
            if self._takes_next(text):
                check_whole(words[position : position + 1])
                position += 1
        return min(position, len(words))

    def find_starts(self, words: Sequence[Word]) -> list[int]:
        """Give the positions where the operands may begin: several where an option or a word is not known.

        Raises:
            UnreadableError: there are too many.

        """
        starts: list[int] = []
        waiting = [0]
        for position in waiting:
            if position >= len(words):
                continue
            text = words[position].text
            if text == "--":
                starts.append(position + 1)
            elif text.startswith("-") and words[position].is_known:
                waiting += (position + step for step in self._steps(text) if position + step not in waiting)
            else:
                starts.append(position)
                if not words[position].is_known and position + 1 not in waiting:
                    waiting.append(position + 1)
            if len(starts) > _MAX_STARTS or len(waiting) > _MAX_WORDS:
                raise UnreadableError(HIDDEN)
        return starts

    def _steps(self, option: str) -> tuple[int, ...]:
        try:
            return (2,) if self._takes_next(option) else (1,)
        except UnreadableError:
            return (1,) if option.startswith("--") and "=" in option else (1, 2)

    def _takes_next(self, option: str) -> bool:
        if option.startswith("--"):
            name, is_given, _ = option[2:].partition("=")
            if name in self.long_valued:
                return not is_given
            if name in self.long_flags or option in ("--help", "--version"):
                return False
        for position, letter in enumerate(option[1:], start=2):
            if letter in self.valued:
                return position == len(option)
            if letter not in self.flags:
                raise UnreadableError("an option that may hide which program is run")
        return False


def options(short: str = "", long: str = "", operands: int = 0) -> Options:
    """Make options from letters and names, where `:` and `=` follow those that take a value."""
    names = long.split()
    return Options(
        flags=re.sub("[^:]:", "", short),
        valued="".join(re.findall("([^:]):", short)),
        long_flags=frozenset(name for name in names if not name.endswith("=")),
        long_valued=frozenset(name[:-1] for name in names if name.endswith("=")),
        operands=operands,
    )
