"""Whether one shell pattern covers all that another one fits, and texts that a pattern fits.

Both patterns are walked together as automata, over the few characters that tell them apart. So the
answer is exact, but for patterns so odd that the walk is given up: then it is no.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.values import slotted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TOKEN = re.compile(
    r"\*(?=\*\*/)|\*\*/?|\*|\?|\[[!^]?(?:\\.|[^\\])(?:\\.|[^\]\\])*\]|\\.|.",
    re.DOTALL,
)
_WILDCARD = re.compile(r"[*?\[\\]")
_LITERAL_END = re.compile(r"(?:(?<=\*\*)/)?([^*?\[\]\\]*)\Z")
_OTHER = "\U0010fffd"
"""A character that no pattern names."""
_MOST_STEPS = 20_000


@slotted
class _Automaton:
    """States 0 to `end`; `moves` by a character, `skips` by none."""

    moves: dict[int, list[tuple[Callable[[str], bool], int]]]
    skips: dict[int, list[int]]
    end: int

    def start(self) -> frozenset[int]:
        return self._with_skips({0})

    def after(self, states: frozenset[int], character: str) -> frozenset[int]:
        reached = {
            target for state in states for fits, target in self.moves.get(state, ()) if fits(character)
        }
        return self._with_skips(reached)

    def _with_skips(self, states: set[int]) -> frozenset[int]:
        waiting = [*states]
        while waiting:
            for target in self.skips.get(waiting.pop(), ()):
                if target not in states:
                    states.add(target)
                    waiting.append(target)
        return frozenset(states)


def covers(outer: str, inner: str, *, separator: str | None = "/") -> bool:
    """Whether every text that fits `inner` fits `outer`; both are patterns that compile."""
    if not inner.startswith(_beginning(outer)):
        return False
    ours, theirs = _automaton(outer, separator), _automaton(inner, separator)
    alphabet = _alphabet(outer + inner, separator)
    seen = {(theirs.start(), ours.start())}
    waiting = [*seen]
    while waiting:
        inside, covered = waiting.pop()
        if theirs.end in inside and ours.end not in covered:
            return False
        for character in alphabet:
            following = theirs.after(inside, character), ours.after(covered, character)
            if not following[0] or following in seen:
                continue
            if not following[1] or len(seen) >= _MOST_STEPS:
                return False
            seen.add(following)
            waiting.append(following)
    return True


def common(one: str, other: str, *, separator: str | None = "/") -> str | None:
    """Give a shortest text that fits both patterns, which compile; None where there is none to be found."""
    begun = sorted((_beginning(one), _beginning(other)), key=len)
    ended = sorted((_LITERAL_END.findall(one)[0], _LITERAL_END.findall(other)[0]), key=len)
    if not (begun[1].startswith(begun[0]) and ended[1].endswith(ended[0])):  # this tells nearly always
        return None
    ours, theirs = _automaton(one, separator), _automaton(other, separator)
    alphabet = _alphabet(one + other, separator)
    seen: set[tuple[frozenset[int], frozenset[int]]] = set()
    waiting = deque([((ours.start(), theirs.start()), "")])
    while waiting and len(seen) < _MOST_STEPS:
        states, text = waiting.popleft()
        if text and ours.end in states[0] and theirs.end in states[1]:
            return text
        for character in alphabet:
            following = ours.after(states[0], character), theirs.after(states[1], character)
            if all(following) and following not in seen:
                seen.add(following)
                waiting.append((following, text + character))
    return None


def samples(pattern: str, *, separator: str | None = "/") -> list[str]:
    """Give a few texts that fit a pattern that compiles, the plainest first."""
    tokens = _TOKEN.findall(pattern)
    fills = (
        {"*": "x", "**": "x", "**/": "", "?": "x"},
        {"*": "x", "**": "x/x", "**/": "x/", "?": "x"},
        {"*": "1", "**": "1", "**/": "", "?": "1"},
        {"*": "", "**": "", "**/": "", "?": "a"},
    )
    glob = compile_glob(pattern, separator=separator)
    texts = ("".join(_fill(token, fill, separator) for token in tokens) for fill in fills)
    return [text for text in dict.fromkeys(texts) if glob.matches(text)]


def _fill(token: str, fill: dict[str, str], separator: str | None) -> str:
    if token in fill:
        return fill[token]
    if token.startswith("[") and len(token) > 1:
        fits = compile_glob(token, separator=separator).matches
        return next((one for one in _alphabet(f"{token}ax1", separator) if fits(one)), "")
    return token[-1]


def _beginning(pattern: str) -> str:
    wildcard = _WILDCARD.search(pattern)
    return pattern[: wildcard.start()] if wildcard else pattern


def _alphabet(text: str, separator: str | None) -> list[str]:
    """Give a character of every kind that patterns with these characters tell apart."""
    kinds = {*text, _OTHER, separator or "/"}
    if "[" in text:  # the ends of a class, and what lies just outside of them
        kinds |= {chr(ord(one) + step) for one in text for step in (-1, 1) if 0 < ord(one) + step < 0xD800}
    return sorted(kinds)


def _automaton(pattern: str, separator: str | None) -> _Automaton:
    automaton = _Automaton({}, {}, 0)
    for token in _TOKEN.findall(pattern):
        edges = _edges(token, separator)
        for source, fits, target in edges:
            if fits is None:
                automaton.skips.setdefault(automaton.end + source, []).append(automaton.end + target)
            else:
                automaton.moves.setdefault(automaton.end + source, []).append((fits, automaton.end + target))
        automaton.end += max(target for _, _, target in edges)
    return automaton


def _edges(token: str, separator: str | None) -> Sequence[tuple[int, Callable[[str], bool] | None, int]]:
    """Give the moves of one token: from, by what (None: by nothing), to."""
    match token:
        case "*" if separator is not None:
            return ((0, separator.__ne__, 0), (0, None, 1))
        case "*" | "**":
            return ((0, _any, 0), (0, None, 1))
        case "**/":
            end = (separator or "/").__eq__
            return ((0, None, 2), (0, _any, 1), (1, _any, 1), (0, end, 2), (1, end, 2))
        case "?":
            return ((0, compile_glob("?", separator=separator).matches, 1),)
        case _ if token.startswith("[") and len(token) > 1:
            return ((0, compile_glob(token, separator=separator).matches, 1),)
        case _:
            return ((0, token[-1].__eq__, 1),)


def _any(_character: str) -> bool:
    return True
