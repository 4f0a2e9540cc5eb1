"""Regular expressions in linear time: RE2, whoever wrote them and whatever they meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_MEMORY: Final = 8 << 20
"""Bytes that an expression may take, unless it shares them with others; RE2's own limit."""


class Regex(NamedTuple):
    """A compiled expression."""

    matches: Callable[[str], bool]
    weight: int
    """Instructions of the program: a hostile one looks at each for every character of a text."""


def compile_regex(expression: str, *, whole: bool) -> Callable[[str], bool]:
    """Give the function that says whether a text matches as a whole, or else somewhere.

    Raises:
        ValueError: the expression is not RE2's, or needs too much memory.

    """
    return read_regex(expression, whole=whole).matches


def read_regex(expression: str, *, whole: bool, memory: int = MOST_MEMORY) -> Regex:
    """Give the compiled expression, which takes at most so much memory, and time in proportion.

    Raises:
        ValueError: the expression is not RE2's, or needs too much memory.

    """
    import re2  # costs 20 ms, and few policies need it

    options = re2.Options()
    options.log_errors = False
    options.max_mem = memory
    # Bytes: the wrapper translates no offsets then. A lone surrogate is any other character.
    try:
        compiled = re2.compile(expression.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0].decode() if isinstance(error, re2.error) else "it holds half a character"
        raise ValueError(f"expected an RE2 expression, got `{expression}`: {reason}") from None
    match = compiled.fullmatch if whole else compiled.search
    return Regex(lambda text: match(text.encode("utf-8", "replace")) is not None, compiled.programsize)
