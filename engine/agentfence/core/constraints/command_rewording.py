"""What a shell may make of the words that it puts together, as far as the line itself says it.

    f=--force; git push $f              git push --force
    a=(--force x); git push "${a[@]}"   git push --force x
    git push ${x:---force}              git push --force, as a variable that is not set
    git push --fo${x}rce                the same
    git push {--force,origin}           git push --force origin

For deny lists alone: what is given here is looked at beside the words as they are written.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.shell_words import UnreadableError, Word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    type Values = Mapping[str, Sequence[str]]

_MOST_VALUES = 8
_MOST_WORDS = 1_000
_MOST_ALTERNATIVES = 64
_EXPANSION = re.compile(
    r"\$(?:\{(?P<braced>\w+|[@*])(?:\[[\w@*]+\])?(?P<default>:?[-=+][^{}$`]*)?\}|(?P<plain>[A-Za-z_]\w*|[0-9@*]))",
    re.ASCII,
)
_ALTERNATIVES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")


def reword(words: Sequence[Word], values: Values) -> list[tuple[Word, ...]]:
    """Give a command with the values that its variables are given in the line, or none.

    The program itself stays: one that is put together is refused anyway.

    Raises:
        UnreadableError: there are too many words to look at them all.

    """
    rest = words[1:]
    if all(word.is_known for word in rest):
        return []
    if len(rest) > _MOST_WORDS:
        raise UnreadableError("a very long command with words that the shell puts together")
    names = {found["braced"] or found["plain"] for word in rest for found in _EXPANSION.finditer(word.text)}
    most = max((len(values[name]) for name in names if name in values), default=1)
    reworded = {
        (words[0], *(each for word in rest for each in _reword(word, values, index, is_dropped=is_dropped)))
        for index in range(min(most, _MOST_VALUES))
        for is_dropped in (False, True)
    }
    return [each for each in reworded if each != tuple(words)]


def _reword(word: Word, values: Values, index: int, *, is_dropped: bool) -> list[Word]:
    if word.is_known:
        return [word]

    def expand(found: re.Match[str]) -> str:
        name = found["braced"] or found["plain"]
        if given := values.get(name):
            return given[min(index, len(given) - 1)]
        if found["default"]:
            return found["default"].lstrip(":")[1:]
        # `$DIR/x` is no path from the top, and `$x` may be anything.
        is_path = found.start() == 0 and word.text.startswith("/", found.end())
        return "" if is_dropped and not is_path else found.group()

    text = _EXPANSION.sub(expand, word.text)
    return [Word(each, word.is_known) for each in _expand_braces(text) if each]


def _expand_braces(text: str) -> list[str]:
    """Give the words that a shell makes of `a{b,c}`; not all, where they are many."""
    expanded: list[str] = []
    waiting = [text]
    while waiting:
        each = waiting.pop()
        braces = _ALTERNATIVES.search(each)
        if braces is None or len(expanded) + len(waiting) >= _MOST_ALTERNATIVES:
            expanded.append(each)
        else:
            before, after = each[: braces.start()], each[braces.end() :]
            waiting += (before + alternative + after for alternative in reversed(braces[1].split(",")))
    return expanded
