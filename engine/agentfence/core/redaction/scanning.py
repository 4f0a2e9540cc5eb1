"""RE2 over bytes: where the redactor's first look is done, in linear time and near memory speed."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from agentfence.core.redaction.spans import Span, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from agentfence.core.redaction.work import Work

_MEMORY = 32 << 20
"""For RE2's cache of states. When it overflows, RE2 stays linear but slows down."""
_COST = 4
_STRETCH = 8_192
_OVERLAP = 2_048


class Scanner:
    """A compiled RE2 expression.

    What `re2` itself wraps around a search takes three times as long as most searches here do.
    """

    __slots__ = ("_match", "_unanchored")

    def __init__(self, expression: bytes | str, options: Any) -> None:
        """Take an expression and the options of `re2`.

        Raises:
            re2.error: RE2 does not accept the expression.

        """
        import re2  # costs 20 ms: only when there is something to look through

        self._match = re2.compile(expression, options)._regexp.Match  # noqa: SLF001 - see above
        self._unanchored = re2._Anchor.UNANCHORED  # noqa: SLF001

    def search(self, text: bytes, position: int = 0) -> tuple[int, int] | None:
        """Give where the leftmost match at or after `position` starts and ends."""
        found: tuple[int, int] = self._match(self._unanchored, text, position, len(text))[0]
        return found if found[0] >= 0 else None

    def search_near(self, text: bytes, position: int) -> tuple[int, int] | None:
        """Do the same a stretch of the text at a time, which is all that one match may lie in.

        Where much is found, what has begun before and may end anywhere, as a command and its option, would
        else be followed to the end of the text each time.
        """
        while (limit := position + _STRETCH) < len(text):
            found = self._search(text, position, limit)
            if found:
                return found if found[1] < limit else self._search(text, found[0], len(text))
            position = limit - _OVERLAP
        return self._search(text, position, len(text))

    def _search(self, text: bytes, position: int, limit: int) -> tuple[int, int] | None:
        found: tuple[int, int] = self._match(self._unanchored, text, position, limit)[0]
        return found if found[0] >= 0 else None


def byte_scanner(expression: bytes) -> Scanner:
    """Give a scanner without groups whose characters are bytes."""
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture = True
    options.max_mem = _MEMORY
    options.log_errors = False
    return Scanner(expression, options)


def policy_scanner(expression: str) -> Scanner:
    """Give a scanner for a pattern of the policy, whose characters are characters.

    Raises:
        ValueError: RE2 does not accept the expression.

    """
    import re2

    options = re2.Options()
    options.never_capture = True
    options.log_errors = False
    try:
        return Scanner(expression, options)
    except re2.error as error:
        text = error.args[0]
        raise ValueError(text.decode(errors="replace") if isinstance(text, bytes) else str(text)) from None


def literal_scanner(literals: Iterable[bytes]) -> Scanner:
    """Give a scanner for texts as they stand; of two that begin at one place the first given counts."""
    import re2

    return byte_scanner(b"|".join(map(re2.escape, literals)))


def touched(scanner: Scanner, joined: bytes, texts: Sequence[str]) -> Iterator[int]:
    """Give the indexes of the texts that matches touch, in order; `joined` has them with a NUL between."""
    found = scanner.search(joined)
    if found is None:
        return
    starts = list(accumulate((len(encode(text)) + 1 for text in texts), initial=0))
    while found:
        first = bisect_right(starts, found[0]) - 1
        behind = min(bisect_right(starts, max(found[0], found[1] - 1), first), len(texts))
        yield from range(first, behind)
        found = scanner.search(joined, starts[behind] - 1) if behind < len(texts) else None


def found_by(
    scanner: Scanner, text: bytes, work: Work, names: Mapping[bytes, str], name: str = ""
) -> Iterator[Span]:
    """Give what a scanner finds, under its name in `names`, else under `name`."""
    done = 0
    for _ in work.looks(_COST):
        found = scanner.search(text, done) if done <= len(text) else None
        if found is None:
            return
        yield Span(*found, names.get(text[slice(*found)], name))
        done = max(found[1], done + 1)
    yield Span.unread(done)
