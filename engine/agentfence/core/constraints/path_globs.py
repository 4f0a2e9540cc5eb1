"""Arguments that are patterns themselves: whether one may name something that a deny pattern covers.

Search tools take `s?crets/key` or `{src,secrets}/*`, and the tool expands it. The answer here is
generous: some pairs that never meet are taken to meet, no pair that meets is missed.

What expands to other paths (`{a,../b}`) or may stand for `..` (`.[.]`) is spelled out, to be judged
like any path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.folding import fold_text
from agentfence.core.constraints.globs import compile_glob
from agentfence.core.constraints.path_text import Refused
from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

type _Name = list[str | None] | None
"""Characters, with None for any one; as a whole None: any number of names."""
type Names = Sequence[_Name] | None
"""The names of a pattern; None where `**` stands inside a name, so that there are none to compare."""

_STAR = "**"  # in a name: a run of characters, told apart from the character `*` by its length
_OPEN = "\ue002"  # any text within a name; no `*`, as two of them would cross names
_BRACES = late_regex(r"\{[^{}/]*\}")
_GROUP = late_regex(r"[?*+@!]\([^()/]*\)|\([^()|/]*\|[^()/]*\)")  # ksh's `@(a|b)`, zsh's `(a|b)`
_STARS = late_regex(r"\*+")
_MOST_EXPANSIONS = 64
_MOST_NAMES = 64
_ALTERNATIVES = late_regex(r"\{([^{}]*,[^{}]*)\}")
_NO_ALTERNATIVES = late_regex(r"\{([^{},]*)\}")
_MASKED = str.maketrans("\ue000\ue001", "{}")
# Of what may stand for `..`: shells let no wildcard but these match a dot at the beginning of a name.
_DOTTED = late_regex(r"\.|\[(?![!^])|[?*+@!]\([^()]*\.")


def is_pattern(text: str) -> bool:
    """Whether some tool would expand the text."""
    return "{" in text or is_wild(text)


def is_wild(text: str) -> bool:
    """Whether a text may stand for names that it does not spell out; `{a,b}` spells out both."""
    return (
        "*" in text
        or "?" in text
        or "[" in text
        or ("{" in text and ".." in text and _BRACES.search(text) is not None)
        or ("(" in text and _GROUP.search(text) is not None)
    )


def deepen(text: str) -> str:
    """Give a pattern for some of what one with stars stands for: longer names, and a folder more for `**`."""
    return _STARS.sub(lambda stars: "*-*" if stars[0] == "*" else "*-*/*-*", text)


def read_names(text: str) -> Names:
    """Give what an argument means as a pattern, name by name; `expand_pattern` has its alternatives.

    Raises:
        Refused: it has more names than a pattern needs, and comparing them all would take long.

    """
    if text.count("/") > _MOST_NAMES:
        raise Refused("is a pattern with more folders than can be judged")
    return _read_names(_GROUP.sub(_OPEN, _BRACES.sub(_open, fold_text(text))))


def expand_pattern(text: str) -> tuple[str, ...]:
    """Give the paths or patterns that a tool may make of a pattern before it looks for files.

    Raises:
        Refused: there are too many to judge them all.

    """
    expanded = _expand_braces(text)
    climbing = ["/".join(map(_climb, each.split("/"))) for each in expanded]
    return tuple(dict.fromkeys(each for each in (*expanded, *climbing) if each and each != text))


def _expand_braces(text: str) -> list[str]:
    if "{" not in text or "," not in text:
        return [text]
    if text.count("{") > _MOST_EXPANSIONS:
        raise Refused("reads as a pattern with many braces")
    waiting, expanded = [text], []
    while waiting:
        each = waiting.pop()
        while each != (masked := _NO_ALTERNATIVES.sub("\ue000\\1\ue001", each)):
            each = masked
        braces = _ALTERNATIVES.search(each)
        if braces is None:
            expanded.append(each.translate(_MASKED))
        else:
            before, after = each[: braces.start()], each[braces.end() :]
            waiting += (before + alternative + after for alternative in braces[1].split(","))
        if len(waiting) + len(expanded) > _MOST_EXPANSIONS:
            raise Refused("reads as a pattern with many alternatives")
    return expanded


def _climb(name: str) -> str:
    """Give `..` for a name with wildcards that a shell may take for it, any other name as it is."""
    if not is_wild(name) or not _DOTTED.match(name):
        return name
    try:
        stands_for_parent = compile_glob(_GROUP.sub("*", name)).matches("..")
    except ValueError:  # no pattern, so it is itself
        return name
    return ".." if stands_for_parent else name


class NamePattern:
    """A deny pattern, name by name; read when an argument is a pattern, too."""

    __slots__ = ("_names", "_pattern")

    _names: Names

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Names:
        if name != "_names":
            raise AttributeError(name)
        self._names = _read_names(fold_text(self._pattern))
        return self._names

    def may_meet(self, names: Names) -> bool:
        """Whether some path matches both this and a text taken as a pattern."""
        own = self._names
        if own is None or names is None:
            return True
        # The usual table: row by row of ours, whether the first names of both can meet.
        reachable = [True] + [False] * len(names)
        for index, name in enumerate(names):
            reachable[index + 1] = reachable[index] and name is None
        for ours in own:
            below = [reachable[0] and ours is None]
            for index, theirs in enumerate(names):
                below.append(
                    (ours is None and (below[index] or reachable[index + 1]))
                    or (theirs is None and (below[index] or reachable[index + 1]))
                    or (ours is not None and theirs is not None and reachable[index] and _meet(ours, theirs))
                )
            reachable = below
        return reachable[-1]


def _open(braces: re.Match[str]) -> str:
    """Give any text for `{1..9}`; other braces are themselves."""
    return _OPEN if ".." in braces[0] else braces[0]


def _read_names(text: str) -> Names:
    names = text.split("/")
    if any("**" in name and name != "**" for name in names):
        return None
    return [_read_name(name) for name in names]


def _read_name(text: str) -> _Name:
    if text == "**":
        return None
    name: list[str | None] = []
    last_bracket = text.rfind("]")
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character == "\\":
            name.append(text[position : position + 1])
            position += 1
        elif character in ("*", _OPEN):
            name.append(_STAR)
        elif character == "?":
            name.append(None)
        elif character == "[" and position < last_bracket and (end := _find_bracket(text, position)) >= 0:
            name.append(None)
            position = end + 1
        else:
            name.append(character)
    return name


def _find_bracket(text: str, position: int) -> int:
    """Give where the brackets close that open before the position; their first member may be `]`."""
    return text.find("]", position + 1 + (text[position : position + 1] in ("!", "^")))


def _meet(left: list[str | None], right: list[str | None]) -> bool:
    """Whether two names can be one: their fixed beginnings, ends and lengths must agree."""
    fixed_left, fixed_right = left.count(_STAR) == 0, right.count(_STAR) == 0
    if fixed_left and fixed_right:
        return len(left) == len(right) and _agree(left, right)
    if (fixed_left and len(left) < _least(right)) or (fixed_right and len(right) < _least(left)):
        return False
    return _agree(_beginning(left), _beginning(right)) and _agree(
        _beginning(left[::-1]), _beginning(right[::-1])
    )


def _least(name: Sequence[str | None]) -> int:
    return len(name) - name.count(_STAR)


def _beginning(name: list[str | None]) -> list[str | None]:
    return name[: name.index(_STAR)] if _STAR in name else name


def _agree(left: Sequence[str | None], right: Sequence[str | None]) -> bool:
    return all(one is None or other is None or one == other for one, other in zip(left, right, strict=False))
