"""Problems of a policy, for people and for machines.

    policies/dev.yaml:5:5: unknown key `efect`
        efect: deny
        ^^^^^
    help: did you mean `effect`?

No colours here: those belong to the command line.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.constraints.interface import Json
    from agentfence.core.errors import Problem

_LONGEST_LINE = 120
_LONGEST_MESSAGE = 2_000
_KEPT_BEFORE = 40


def render_text(problems: Iterable[Problem]) -> str:
    """Give problems for people: each with its place, its line, what is meant in it, and help."""
    return "\n".join(line for problem in problems for line in _lines(problem))


def _lines(problem: Problem) -> list[str]:
    lines = [_cut(visible(f"{problem.place}: {problem.message}"))]
    if problem.source_line.strip():
        lines += _excerpt(problem.source_line, problem.place.column - 1, problem.width)
    if problem.help:
        lines.append(_cut(f"help: {visible(problem.help)}"))
    return lines


def _excerpt(line: str, start: int, width: int) -> list[str]:
    left = max(start - _KEPT_BEFORE, 0) if len(line) > _LONGEST_LINE else 0
    before, marked = _shown(line[left:start]), _shown(line[start : start + width])
    after = _shown(line[start + width :])
    shown = f"{'…' if left else ''}{before}{marked}{after}".rstrip()
    if len(shown) > _LONGEST_LINE:
        shown = f"{shown[:_LONGEST_LINE]}…"
    indent = _cells(before) + bool(left)
    carets = min(max(_cells(marked), 1), max(_LONGEST_LINE - indent, 1))
    return [shown, " " * indent + "^" * carets]


def _cut(text: str) -> str:
    """Give a text without the most of a pattern that fills a file."""
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"


def _shown(text: str) -> str:
    return visible(text.replace("\t", " "))


def _cells(text: str) -> int:
    """Give how many columns of a terminal a text takes."""
    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def problem_as_json(problem: Problem) -> dict[str, Json]:
    """Give one problem for machines."""
    place = problem.place
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "width": problem.width,
        "code": problem.code,
        "path": problem.path,
        "message": problem.message,
        "help": problem.help,
    }


def render_json(problems: Iterable[Problem]) -> str:
    """Give problems for machines, as a JSON list in order of place."""
    return json.dumps([problem_as_json(problem) for problem in problems], ensure_ascii=False, indent=2)
