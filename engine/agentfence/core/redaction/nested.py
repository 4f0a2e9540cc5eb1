"""JSON that a text holds: read to be redacted as a value, and written as it was spelled."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json

_LONGEST = 1 << 18
_FRAMES = frozenset({"{}", "[]", '""'})


def looks_nested(text: str) -> bool:
    """Whether the whole text may stand for an object, a list or a string."""
    stripped = text.strip()
    return stripped[:1] + stripped[-1:] in _FRAMES and len(stripped) <= _LONGEST


def read_nested(text: str) -> Json:
    """Give what a text that looks nested stands for; None when it stands for nothing."""
    try:
        value: Json = json.loads(text.strip(), object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    return value


def write_nested(value: Json, like: str) -> str:
    """Give the value as JSON, with blanks and escapes as the text `like` has them."""
    indent = 2 if "{\n" in like else None
    separators = ("," if indent else ", ", ": ") if '": ' in like else (",", ":")
    return json.dumps(value, ensure_ascii=like.isascii(), indent=indent, separators=separators)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice, and both must be shown")
    return members
