"""The disk that the relay shares with its server."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

_OPENS_NOTHING: Final = getattr(os, "O_PATH", None)
"""Linux: a descriptor that only names a place, and lets its path be read."""


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
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if os.path.islink(existing):
        raise OSError(f"the links of {path} cannot be followed")
    return resolved


def _has_no_links(path: str) -> bool:
    """Whether the system itself says that the part of `path` that exists is where its name says.

    By far the most are, and asking once costs a fraction of looking at each folder on the way.
    """
    if _OPENS_NOTHING is None or not path.startswith("/") or "\0" in path or os.path.normpath(path) != path:
        return False
    with suppress(OSError, ValueError):
        os.fsencode(path)  # a text that is no name on this disk must not count as one that does not exist
        existing = path
        while not os.path.lexists(existing):
            existing = existing.rpartition("/")[0] or "/"
        descriptor = os.open(existing, _OPENS_NOTHING | os.O_CLOEXEC)
        try:
            return os.readlink(f"/proc/self/fd/{descriptor}") == existing
        finally:
            os.close(descriptor)
    return False
