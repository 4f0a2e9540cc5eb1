"""`file:` URIs of resources, judged by the rules of paths.

A URI has one meaning, its path percent-decoded once (RFC 8089). What the rules of paths refuse has
none here: `check_file_uri` says so, and is asked before any pattern, as otherwise a URI that no
`deny` entry understands would fall to the default.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import literal_pattern
from agentfence.core.constraints.interface import Failure
from agentfence.core.constraints.path_patterns import compile_path_patterns
from agentfence.core.constraints.path_roots import place_of
from agentfence.core.constraints.path_text import Host, Refused, decode_once, read_path

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import BuildContext
    from agentfence.core.constraints.path_patterns import PathPatterns

_SCHEME = re.compile(r"file:(?://(?:localhost(?=/))?(?=/))?", re.IGNORECASE)
_DROPPED = re.compile(r"[\x00-\x20]+")
_DRIVE = re.compile(r"/(?=[A-Za-z]:(?:/|\Z))")


class FileUriPattern:
    """A pattern of `resources:` for `file:` URIs."""

    __slots__ = ("_is_deny", "_paths", "pattern")

    def __init__(self, pattern: str, paths: PathPatterns, *, is_deny: bool) -> None:
        self.pattern = pattern
        """As written in the policy."""
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


def check_file_uri(uri: str) -> Failure | None:
    """Give why a `file:` URI is refused whatever the policy says; None for a safe one."""
    try:
        _read_uri(uri)
    except Refused as refusal:
        return Failure(refusal.code, f"the resource's URI {refusal.reason}")
    return None


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
        path = _DRIVE.sub("", decode_once(path), count=1)
    except Refused as refusal:
        raise ValueError(f"pattern `{text}` {refusal.reason}") from None
    if not path.startswith("/") and path[1:3] != ":/":
        path = f"{literal_pattern(_read_folder(context))}/{path.removeprefix('./')}"
    paths = compile_path_patterns([path], "resources", deny=deny)
    return FileUriPattern(text, paths, is_deny=deny)


def _read_folder(context: BuildContext) -> str:
    host = Host.POSIX if context.folder.startswith("/") else Host.WINDOWS
    return (place_of(context.folder, host) or "").removesuffix("/")


def _read_uri(uri: str) -> list[str]:
    """Give the places that a `file:` URI may mean: as written, then decoded."""
    scheme = _SCHEME.match(uri)
    path = uri[scheme.end() :] if scheme else ""
    if not path.startswith("/") or re.search(r"[?#\\|]", path):
        raise Refused("is not of the form `file:///path`")
    path, drives = _DRIVE.subn("", path, count=1)
    return [place for place, _ in read_path(path, Host.WINDOWS if drives else Host.POSIX)]
