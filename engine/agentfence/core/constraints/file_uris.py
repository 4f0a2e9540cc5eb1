"""`file:` URIs of resources, judged by the rules of paths.

A URI has one meaning, its path percent-decoded once (RFC 8089). What the rules of paths refuse has
none here, and is covered by patterns that deny alone. Where the surface shares a disk with the server,
the place that links lead to is held to the patterns, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from agentfence.core.constraints.globs import literal_pattern
from agentfence.core.constraints.path_patterns import compile_path_patterns
from agentfence.core.constraints.path_roots import place_of
from agentfence.core.constraints.path_text import Host, Refused, decode_once, read_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.constraints.interface import BuildContext, LinkResolver
    from agentfence.core.constraints.path_patterns import PathPatterns
    from agentfence.core.constraints.path_text import Reading

_SCHEME = re.compile(r"file:(?://(?:localhost(?=/))?(?=/))?", re.IGNORECASE)
_DROPPED = re.compile(r"[\x00-\x20]+")
_DRIVE = re.compile(r"/(?=[A-Za-z]:(?:/|\Z))")
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
_LITERAL_FOLDER = re.compile(r"(/[^*?\[\\]*)/", re.DOTALL)


class FileUriPattern:
    """A pattern of `resources:` for `file:` URIs."""

    __slots__ = ("_is_deny", "_paths", "folder", "pattern")

    def __init__(self, pattern: str, folder: str, paths: PathPatterns, *, is_deny: bool) -> None:
        self.pattern = pattern
        """As written in the policy."""
        self.folder = folder
        """What all places begin with that it covers, empty for none."""
        self._paths = paths
        self._is_deny = is_deny

    def matches(self, uri: str) -> bool:
        """Whether the pattern covers the URI; of an unsafe `file:` URI only a deny pattern says yes."""
        if not is_file_uri(uri):
            return False
        try:
            places = _read_uri(uri)
        except Refused:
            return self._is_deny
        if self._is_deny:
            return any(self._paths.find(place, ()) is not None for place in places)
        decoded = places[min(1, len(places) - 1)]
        return self._paths.find(decoded, ()) is not None


def is_file_uri(uri: str) -> bool:
    """Whether a URI has the scheme `file`, also to parsers that drop blanks and control characters."""
    return _SCHEME.match(_DROPPED.sub("", uri)) is not None


def linked_uris(uri: str, folders: Iterable[str], resolve_links: LinkResolver) -> list[tuple[str, ...]]:
    """Give the URIs of where links on the way lead: each time all names of one place, none for itself.

    The place below a folder that is a link has a name with the folder as it is written, too.

    Raises:
        OSError, ValueError, RuntimeError: a link cannot be followed.

    """
    try:
        readings = _readings_of(uri)
    except Refused:
        return []

    def follow(path: str) -> str:
        return place_of(resolve_links(path), Host.POSIX if path.startswith("/") else Host.WINDOWS) or ""

    found: list[tuple[str, ...]] = []
    for place, path in dict.fromkeys((reading[0], path) for reading in readings for path in reading):
        target = follow(path)
        if target != place:
            inside = ((folder, follow(folder)) for folder in folders if folder)
            names = [
                folder + target[len(real) :] for folder, real in inside if f"{target}/".startswith(f"{real}/")
            ]
            found.append(tuple(f"file:///{quote(name.lstrip('/'), safe='/:')}" for name in (target, *names)))
    return found


def compile_file_uri_pattern(text: str, context: BuildContext, *, deny: bool = False) -> FileUriPattern:
    """Give the matcher of a pattern like `file:///work/**`; `file:docs/**` begins at the policy's folder.

    Raises:
        ValueError: the pattern is malformed, or names another host.

    """
    scheme = _SCHEME.match(text)
    path = text[scheme.end() :] if scheme else ""
    if not path or path.startswith("//"):
        raise ValueError(f"expected a pattern like `file:///work/**`, got `{text}`")
    try:
        # `%5Bid%5D` is a folder of this name, and no class.
        decoded = _ESCAPES.sub(lambda escapes: literal_pattern(decode_once(escapes[0])), path)
        path = _DRIVE.sub("", decoded, count=1)
    except Refused as refusal:
        raise ValueError(f"pattern `{text}` {refusal.reason}") from None
    if not path.startswith("/") and path[1:3] != ":/":
        path = f"{literal_pattern(_read_folder(context))}/{path.removeprefix('./')}"
    paths = compile_path_patterns([path], "resources", deny=deny)
    folder = _LITERAL_FOLDER.match(path)
    return FileUriPattern(text, folder[1] if folder else "", paths, is_deny=deny)


def _read_folder(context: BuildContext) -> str:
    host = Host.POSIX if context.folder.startswith("/") else Host.WINDOWS
    return (place_of(context.folder, host) or "").removesuffix("/")


def _read_uri(uri: str) -> list[str]:
    """Give the places that a `file:` URI may mean: as written, then decoded."""
    return [place for place, _ in _readings_of(uri)]


def _readings_of(uri: str) -> tuple[Reading, ...]:
    scheme = _SCHEME.match(uri)
    path = uri[scheme.end() :] if scheme else ""
    if not path.startswith("/") or re.search(r"[?#\\|]", path):
        raise Refused("is not of the form `file:///path`")
    path, drives = _DRIVE.subn("", path, count=1)
    return read_path(path, Host.WINDOWS if drives else Host.POSIX)
