"""Text from peers, made safe to show: what cannot be seen is spelled out.

Terminals act on control characters, and bidirectional or zero-width ones make text read as
something that it is not.
"""

from __future__ import annotations

import unicodedata

from agentfence.core.late_regex import late_regex

_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
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
    r"""Give `text` with controls, bidirectional marks, zero-width and odd blanks as `\u{…}`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    if character == " " or not (unicodedata.category(character) in _INVISIBLE or _BLANK.match(character)):
        return character
    return f"\\u{{{ord(character):x}}}"
