"""The folders that a policy opens: where `roots` begin, and what is inside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import SpecError
from agentfence.core.constraints.path_text import Host, is_absolute, simplify
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agentfence.core.constraints.interface import BuildContext

_VARIABLE = late_regex(r"\$\{([^}]*)\}")
_WINDOWS = late_regex(r"[A-Za-z]:[\\/]|\\\\|//")
_UNUSABLE = late_regex("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@frozen
class Root:
    """One folder, in the one spelling of places."""

    place: str
    prefix: str
    """What the place of everything inside begins with."""
    length: int

    @classmethod
    def at(cls, place: str) -> Root:
        """Give the root at a place."""
        prefix = place if place.endswith("/") else f"{place}/"
        return cls(place, prefix, len(prefix))

    @property
    def is_plain(self) -> bool:
        """Whether it is seen at once that its names are no more than that, as those of most are."""
        names = self.place[1:].split("/") if self.length > 1 else []
        return self.place.isascii() and all(
            name[:1] != "-" and name.replace("-", "").replace("_", "").isalnum() for name in names
        )


def below_roots(roots: Iterable[Root], place: str) -> tuple[str, ...]:
    """Give what is left of a place below each root around it, empty for a root itself; none outside."""
    belows: tuple[str, ...] = ()
    for root in roots:
        if place.startswith(root.prefix):
            belows += (place[root.length :],)
        elif place == root.place:
            belows += ("",)
    return belows


def read_roots(texts: Sequence[str], context: BuildContext) -> tuple[Root, ...]:
    """Give the roots, with `~` and `${VAR}` expanded, relative ones taken from the policy's folder.

    Raises:
        SpecError: a root cannot be read, or the roots belong to two kinds of systems.

    """
    roots: list[Root] = []
    for index, text in enumerate(texts):
        try:
            roots.append(Root.at(_read_root(text, context)))
        except ValueError as error:
            raise SpecError(("roots", index), str(error)) from None
    if len({host_of((root,)) for root in roots}) > 1:
        raise SpecError(("roots",), "the roots mix Windows paths and others")
    return tuple(roots)


def host_of(roots: Sequence[Root]) -> Host:
    """Give the kind of system that has such roots."""
    if not roots:
        return Host.UNKNOWN
    return Host.WINDOWS if _WINDOWS.match(roots[0].place) else Host.POSIX


def place_of(path: str, host: Host) -> str | None:
    """Give the place of an absolute path that a system wrote; None when it is not absolute."""
    if host is Host.WINDOWS:
        path = re.sub(r"^\\\\\?\\(?:UNC\\)?", lambda long: "\\\\" if "UNC" in long[0] else "", path)
        path = path.replace("\\", "/")
    place = simplify(path)
    return place if place is not None and is_absolute(place) else None


def _read_root(text: str, context: BuildContext) -> str:
    path = _VARIABLE.sub(lambda variable: _value_of(variable[1], context), text)
    if path == "~" or path.startswith(("~/", "~\\")):
        if not context.home:
            raise ValueError(f"root `{text}` begins with `~`, but the home folder is not known")
        path = context.home + path[1:]
    if not path or path.startswith("~") or (not path.isprintable() and _UNUSABLE.search(path)):
        raise ValueError(f"expected a folder, got `{text}`")
    if not path.startswith("/") and not _WINDOWS.match(path):
        path = f"{context.folder}/{path}"
    host = Host.WINDOWS if _WINDOWS.match(path) else Host.POSIX
    place = place_of(path, host)
    if place is None or (host is Host.POSIX and "\\" in path):
        raise ValueError(f"expected a folder, got `{text}`")
    return place


def _value_of(name: str, context: BuildContext) -> str:
    value = context.environment.get(name)
    if not value:
        raise ValueError(f"`${{{name}}}` is not set")
    return value
