"""The disk that the relay shares with its server."""

from __future__ import annotations

import os
from stat import S_ISLNK
from typing import Final

_MOST_LINKS: Final = 40
"""On one way, as Linux has it."""
_OF_THIS_PROCESS: Final = frozenset({"/proc/self", "/proc/thread-self", "/proc/curproc"})
"""Links that lead the server elsewhere than the relay."""


def resolve_links(path: str) -> str:
    """Give `path` with every link in it resolved; what does not exist yet keeps its name.

    Raises:
        OSError: A part cannot be looked at, or the links go round in a circle or by way of this process.

    """
    if _has_no_links(path):
        return path
    if os.name != "posix":
        return os.path.realpath(path)
    # Not by `os.path.realpath`, which takes what it may not look at for no link.
    os.fsencode(path)
    resolved, parts = "", os.path.join(os.getcwd(), path).split("/")[::-1]
    links_left = _MOST_LINKS
    while parts:
        part = parts.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            resolved = resolved.rpartition("/")[0]
            continue
        target = _target_of(f"{resolved}/{part}")
        if target is None:
            resolved += f"/{part}"
        elif links_left:
            links_left -= 1
            resolved = "" if target.startswith("/") else resolved
            parts += target.split("/")[::-1]
        else:
            raise OSError(f"the links of {path} cannot be followed")
    return resolved or "/"


def _target_of(place: str) -> str | None:
    """Give where a link leads; None for what is none, or is not there."""
    try:
        if not S_ISLNK(os.lstat(place).st_mode):
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    if place in _OF_THIS_PROCESS:
        raise OSError(f"{place} is another place for the server")
    return os.readlink(place)


def _has_no_links(path: str) -> bool:
    """Whether the part of `path` that exists is seen to have no link in it, as by far the most have none.

    To resolve it looks at the same, at several times the cost.
    """
    if not path.startswith("/") or path.startswith("//") or "\0" in path or os.path.normpath(path) != path:
        return False
    try:
        os.fsencode(path)  # a text that is no name on this disk must not count as one that does not exist
        end = 0
        while end != len(path):
            end = path.find("/", end + 1) % (len(path) + 1)
            if S_ISLNK(os.lstat(path[:end]).st_mode):
                return False
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return True
