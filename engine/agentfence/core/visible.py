"""Text from peers, made safe to show: what cannot be seen is spelled out.

Terminals act on control characters, and bidirectional or zero-width ones make text read as
something that it is not.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from collections.abc import Iterator

_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 4
"""On one letter, more than any script needs; piled up they cover the lines above and below."""
# Letters, marks and symbols that show nothing, or change how their neighbour looks.
_BLANK = late_regex(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)

# Emoji and several scripts need joiners and variation selectors, so those are not among them.
_HIDING = late_regex(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)


def hides_something(text: str) -> bool:
    """Whether `text` holds what a person cannot see and a model reads: controls, tags, marks of direction."""
    return _HIDING.search(text) is not None


def visible(text: str) -> str:
    r"""Give `text` with controls, bidirectional marks, zero-width, odd blanks, piled-up marks as `\u{…}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible_characters(text))


def _visible_characters(text: str) -> Iterator[str]:
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in _MARKS else 0
        is_hidden = category in _INVISIBLE or marks > _MOST_MARKS or _BLANK.match(character) is not None
        yield f"\\u{{{ord(character):x}}}" if is_hidden and character != " " else character
