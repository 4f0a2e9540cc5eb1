"""JSON values as lines to look at: indented, and with everything in them visible."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.constraints.interface import Json

_INDENT = "  "


def json_lines(
    value: Json, longest_text: int, indent: str = "", label: str = "", end: str = ""
) -> Iterator[str]:
    """Give the lines of `value`; of a longer text than `longest_text` its two ends, and how much is missing.

    `label` stands before the value, and `end` behind it.
    """
    match value:
        case dict() if value:
            yield f"{indent}{label}{{"
            for left, (name, item) in zip(range(len(value) - 1, -1, -1), value.items(), strict=True):
                name_label = f"{_quoted(name, longest_text)}: "
                yield from json_lines(item, longest_text, indent + _INDENT, name_label, "," if left else "")
            yield f"{indent}}}{end}"
        case list() if value:
            yield f"{indent}{label}["
            for left, item in zip(range(len(value) - 1, -1, -1), value, strict=True):
                yield from json_lines(item, longest_text, indent + _INDENT, "", "," if left else "")
            yield f"{indent}]{end}"
        case str():
            yield f"{indent}{label}{_quoted(value, longest_text)}{end}"
        case _:
            yield f"{indent}{label}{json.dumps(value)}{end}"


def _quoted(text: str, longest: int) -> str:
    left_out = len(text) - longest
    if left_out <= 0:
        return visible(json.dumps(text, ensure_ascii=False))
    end = longest // 4  # what a command does is as often said at its end
    ends = text[: longest - end], text[len(text) - end :]
    return f"… {left_out:,} more characters …".join(visible(json.dumps(e, ensure_ascii=False)) for e in ends)
