"""Roots whose own names are signs to some program: `it's`, `C#`, `Smith, J`, `Inc.`, `RUNNER~1`.

Who opens such a folder means it, whatever else its name could be taken for. So while a text is read,
the names of these roots stand behind plain ones, which the text cannot hold itself.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.constraints.path_globs import is_pattern
from agentfence.core.constraints.path_rewriting import rewritings
from agentfence.core.constraints.path_text import Host, Refused, read_path, split_beginning

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentfence.core.constraints.path_roots import Root
    from agentfence.core.constraints.path_text import Reading


class Hidden(NamedTuple):
    """A text in which names of roots may stand behind others."""

    text: str
    names: Mapping[str, str]
    """What stands behind each."""

    def show(self, reading: Reading) -> Reading:
        """Give a reading of the text with the names of the roots again."""
        if not self.names:
            return reading
        place, spelling = reading
        return self._show(place), self._show(spelling)

    def _show(self, path: str) -> str:
        return "/".join(self.names.get(name, name) for name in path.split("/"))


def is_odd(root: Root, host: Host) -> bool:
    """Whether some program would make something else of the root's own names."""
    place = root.place
    try:
        return (
            read_path(place, host) != ((place, place),) or rewritings(place, host) != () or is_pattern(place)
        )
    except Refused:
        return True


def hide_roots(text: str, roots: Iterable[Root], host: Host) -> Hidden:
    """Give the text with other names for those of the roots, where a path in it begins with one."""
    names: dict[str, str] = {}
    digest = ""
    hidden = text
    for root in roots:
        beginning, rest = split_beginning(root.place)
        own = rest.strip("/").split("/")
        pattern = _pattern_of(beginning, own, host)
        if pattern.search(hidden) is None:
            continue
        digest = digest or sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        others = {f"{digest}x{index}": name for index, name in enumerate(own, len(names))}
        hidden = pattern.sub(beginning + "/".join(others), hidden)
        names |= others
    return Hidden(hidden, names)


def _pattern_of(beginning: str, names: Iterable[str], host: Host) -> re.Pattern[str]:
    separator = r"[\\/]" if host is Host.WINDOWS else "/"
    start = re.escape(beginning).replace("/", separator)
    path = separator.join(map(re.escape, names))
    return re.compile(rf"(?:(?<=[,;\[\"' ])|\A)(?i:{start}){path}(?={separator}|\Z)")
