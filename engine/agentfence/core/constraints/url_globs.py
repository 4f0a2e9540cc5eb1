"""What curl makes of a URL before it is one: `{a,b}` and `[1-3]` stand for several.

curl expands them in the whole text, and resolves dots after that: `/v1/{..}/x` is `/x`. Servers that
hand a URL to it do so mostly without `--globoff`. No other client does this, so what is made is
judged beside the text itself. Ranges have their step left out: more is judged than is made.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    import re

_MOST = 32
_MOST_CHARACTERS = 16_384
_WIDEST = 26
"""Letters from the first to the last of a range; curl refuses wider ones."""
_SET = late_regex(
    r"\{([^{}]*)\}|\[(?:([A-Za-z])-([^\]])|([0-9]{1,18})-([0-9]{1,18}))(?::[0-9]+)?\]",
)


def expansion_cost(text: str) -> int:
    """Give the microseconds that judging all may cost that curl makes of a text."""
    if "{" not in text and "[" not in text:
        return 0
    if _SET.search(text) is None:
        return len(text) // 16
    return 60 * (_MOST if "[" in text else min(_MOST, 1 << min(text.count(","), 8)))


def expand_globs(text: str) -> list[str] | None:
    """Give all that curl makes of a text; None when that is more than any honest URL has."""
    parts: list[list[str]] = []
    start, count = 0, 1
    for match in _SET.finditer(text):
        alternatives = _alternatives(match)
        count *= len(alternatives)
        if count > _MOST or count * len(text) > _MOST_CHARACTERS:
            return None
        parts += [[text[start : match.start()]], alternatives]
        start = match.end()
    return ["".join(chosen) for chosen in product(*parts, [text[start:]])]


def _alternatives(match: re.Match[str]) -> list[str]:
    names, first, last, low, high = match.groups()
    if names is not None:
        return names.split(",")
    if first is not None:
        codes = range(ord(first), ord(last) + 1)
        return list(map(chr, codes)) if 0 < len(codes) <= _WIDEST else [match[0]]
    numbers = range(int(low), min(int(high), int(low) + _MOST) + 1)
    width = len(low) if low.startswith("0") else 0
    return [str(number).zfill(width) for number in numbers] or [match[0]]
