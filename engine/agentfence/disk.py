"""The disk that the relay shares with its server."""

from __future__ import annotations

import os
from stat import S_ISLNK


def resolve_links(path: str) -> str:
    """Give `path` with every link in it resolved; what does not exist yet keeps its name.

    Raises:
        OSError: A part cannot be looked at, or the links go round in a circle.

    """
    if _has_no_links(path):
        return path
    resolved = os.path.realpath(path)
    # realpath leaves what it cannot follow as it is: what is then still a link goes in a circle.
    existing = resolved
    while not _exists(existing):
        existing = os.path.dirname(existing)
    if os.path.islink(existing):
        raise OSError(f"the links of {path} cannot be followed")
    return resolved


def _exists(path: str) -> bool:
    """Whether there is something, and be it a link; raises where nobody here may look, as the server may."""
    try:
        os.lstat(path)
    except PermissionError:
        raise
    except OSError:
        return False
    return True


def _has_no_links(path: str) -> bool:
    """Whether the part of `path` that exists is seen to have no link in it, as by far the most have none.

    `os.path.realpath` looks at the same, at several times the cost.
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
