"""Whether two shell patterns may fit the same text.

Used where a policy must say which of two patterns is meant. It errs to yes: a class counts as any one
character, `**/` as anything.
"""

from __future__ import annotations

import re

from agentfence.core.late_regex import late_regex

_TOKEN = late_regex(r"\*(?=\*\*/)|\*\*/?|\*|\?|\[[!^]?.[^]]*\]|\\?.", re.DOTALL)
_ANY, _STAR, _ONE = "**", "*/", "?/"  # longer than any character, so that none can be mistaken for one


def may_overlap(left: str, right: str) -> bool:
    """Whether some text may fit both patterns."""
    first, second = _tokens(left), _tokens(right)
    # A table from the end: cell [i][j] tells whether first[i:] and second[j:] may fit one text.
    row = [_fits_nothing(second[index:]) for index in range(len(second) + 1)]
    for start in range(len(first) - 1, -1, -1):
        below, row = row, [False] * len(row)
        row[-1] = _fits_nothing(first[start:])
        for index in range(len(second) - 1, -1, -1):
            row[index] = _cell(first[start], second[index], (below[index], row[index + 1], below[index + 1]))
    return row[0]


def _cell(left: str, right: str, beyond: tuple[bool, bool, bool]) -> bool:
    """Give a cell from those without the left token, without the right one, and without both."""
    without_left, without_right, without_both = beyond
    if left in (_ANY, _STAR):
        return without_left or (without_right and _takes(left, right))
    if right in (_ANY, _STAR):
        return without_right or (without_left and _takes(right, left))
    return without_both and (left == right or (_ONE in (left, right) and "/" not in (left, right)))


def _takes(run: str, taken: str) -> bool:
    return run == _ANY or taken != "/"


def _fits_nothing(tokens: list[str]) -> bool:
    return all(token in (_ANY, _STAR) for token in tokens)


def _tokens(pattern: str) -> list[str]:
    wild = {"**": _ANY, "**/": _ANY, "*": _STAR, "?": _ONE}
    return [
        wild.get(token) or (_ONE if len(token) > 1 and token[0] == "[" else token[-1])
        for token in _TOKEN.findall(pattern)
    ]
