"""Names of values that stand in a list apart: parameters of a statement of SQL, rows below their columns.

Invariant: of a statement only its beginning is read, in linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json

_STATEMENTS = ("sql", "query", "statement")
_PARAMETERS = ("params", "parameters", "args", "values", "bindings")
_HEADS = ("columns", "fields", "header", "headers")
_ROWS = ("rows", "values", "data")
_LONGEST_READ = 4096
_MOST_COLUMNS = 200
_INSERT = late_regex(r"\(([^()]{1,2000})\)\s*(?i:values)\s*\(([^()]{1,2000})\)")
_COMPARED = late_regex(
    r"([A-Za-z_][A-Za-z0-9_]{0,63})[\"`\]]?\s{0,9}(?:=|<>|!=|(?i:like\s))\s{0,9}(?:[A-Za-z0-9_]{1,32}\()?"
    r"(\?|\$[0-9]{1,3}|%s)"
)
_COLUMN = late_regex(r"[\w .-]{1,64}")
_MARK = late_regex(r"\?|\$[0-9]{1,3}|%s")


def named_lists(value: Mapping[str, Json]) -> dict[str, list[str]]:
    """Give which members of an object are lists whose items, or whose rows' items, have names, and these."""
    statement = next((text for key in _STATEMENTS if isinstance(text := value.get(key), str)), None)
    if statement is not None:
        names = _names_of_parameters(statement[:_LONGEST_READ])
        return {key: names for key in _PARAMETERS if names and isinstance(value.get(key), list)}
    head = next((found for key in _HEADS if isinstance(found := value.get(key), list)), None)
    if not head or len(head) > _MOST_COLUMNS:
        return {}
    columns = [name if isinstance(name, str) and _COLUMN.fullmatch(name) else "" for name in head]
    return {key: columns for key in _ROWS if isinstance(value.get(key), list)}


def _names_of_parameters(statement: str) -> list[str]:
    inserted = _INSERT.search(statement)
    if inserted:
        columns, marks = (text.split(",") for text in inserted.groups())
        pairs = [(name.strip(' "`[]\n\t'), mark.strip()) for name, mark in zip(columns, marks, strict=False)]
    else:
        pairs = [(found[1], found[2]) for found in _COMPARED.finditer(statement)]
    names: dict[int, str] = {}
    for name, text in pairs:
        mark = _MARK.search(text)
        if mark:
            names[int(mark[0][1:]) - 1 if mark[0][0] == "$" else len(names)] = name
    return [names.get(index, "") for index in range(max(names, default=-1) + 1)]
