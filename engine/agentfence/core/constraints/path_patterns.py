"""The `allow` and `deny` lists of paths.

A pattern sees the path below its root; one that begins with `/` (or a drive) sees the whole path.
`.` and `./` mean the root and all below it. Deny lists are generous, as what they miss is lost:

- they compare folded, for disks that are case-blind or normalise names;
- `X/**`, `X/**/*` and `X/` cover X too, and where the last name of X holds no wildcard, X covers what is
  below it, as it may be a folder.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import GlobSet, compile_glob, compile_globs
from agentfence.core.constraints.interface import SpecError
from agentfence.core.constraints.original_globs import original_spellings
from agentfence.core.constraints.path_globs import NamePattern, read_names
from agentfence.core.constraints.path_text import Host
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_DRIVE = late_regex(r"[A-Za-z]:/")
_WINDOWS_SEPARATOR = late_regex(r"\\(?![\[\]])")
_MAYBE_SEPARATOR = late_regex(r"\\(?=[\w.*])")
_UNREACHABLE = late_regex(r"~(?:/|$)|\$\{|(?:.*/)?\.{1,2}(?:/|$)|.+//", re.DOTALL)


@frozen
class PathPatterns:
    """A compiled list."""

    below: GlobSet
    whole: GlobSet | None
    names: tuple[tuple[str, NamePattern], ...]
    """For deny lists: each pattern again, to hold against arguments that are patterns."""

    def find(self, place: str, belows: Iterable[str]) -> str | None:
        """Give the first pattern that covers the place, or what is left of it below one of its roots."""
        for below in belows:
            pattern = self.below.find(below)
            if pattern is not None:
                return pattern
        return None if self.whole is None else self.whole.find(place)

    def find_meeting(self, place: str, belows: Iterable[str]) -> str | None:
        """Give the first pattern that covers something which the place, as a pattern, may name.

        Raises:
            Refused: the place has more names than a pattern needs.

        """
        if not self.names:
            return None
        texts = [read_names(text) for text in (place, *belows)]
        return next((shown for shown, names in self.names if any(map(names.may_meet, texts))), None)


def compile_path_patterns(
    texts: Sequence[str], key: str, *, deny: bool, original: bool = False, host: Host = Host.POSIX
) -> PathPatterns:
    """Give the compiled list under `key`.

    `original`: as the Go AgentFence reads patterns, `?`, `[` and a backslash may also be themselves.
    `host`: on Windows a backslash parts folders and escapes brackets alone; a deny list for an unknown
    system reads it both ways.

    Raises:
        SpecError: a pattern is empty or malformed, or of a form that no path ever has.

    """
    below: list[tuple[str, str]] = []
    whole: list[tuple[str, str]] = []
    for index, text in enumerate(texts):
        for slashed in _with_separators(text, host, deny=deny):
            try:
                patterns = _spellings(slashed, original=original)
                for pattern in patterns:
                    compile_glob(pattern)
            except ValueError as error:
                raise SpecError((key, index), str(error)) from None
            target = whole if slashed.startswith("/") or _DRIVE.match(slashed) else below
            target += ((text, variant) for pattern in patterns for variant in _cover(pattern, deny=deny))
    return PathPatterns(
        below=compile_globs(below, fold=deny),
        whole=compile_globs(whole, fold=deny) if whole else None,
        names=tuple((shown, NamePattern(pattern)) for shown, pattern in below + whole) if deny else (),
    )


def _with_separators(text: str, host: Host, *, deny: bool) -> tuple[str, ...]:
    if host is Host.WINDOWS:
        return (_WINDOWS_SEPARATOR.sub("/", text),)
    if host is Host.UNKNOWN and deny and "\\" in text:
        return tuple(dict.fromkeys((text, _MAYBE_SEPARATOR.sub("/", text))))
    return (text,)


def _spellings(text: str, *, original: bool) -> tuple[str, ...]:
    if original or text in (".", "./"):
        return original_spellings(text)
    pattern = text.removeprefix("./")
    if _UNREACHABLE.match(pattern):
        raise ValueError(
            f"no path has the form of the pattern `{text}`: patterns begin below a root or with `/`"
        )
    return (pattern[0].lower() + pattern[1:] if _DRIVE.match(pattern) else pattern,)


def _cover(pattern: str, *, deny: bool) -> tuple[str, ...]:
    if pattern.endswith("/") and pattern != "/":
        return (f"{pattern}**", pattern[:-1]) if deny else (f"{pattern}**",)
    if not deny:
        return (pattern,)
    folder = _folder_of(pattern)
    if folder != pattern:
        return (pattern, folder) if folder and not folder.endswith("\\") else (pattern,)
    last_name = re.sub(r"\\.", "", pattern.rpartition("/")[2])
    return (pattern,) if re.search(r"[*?\[]", last_name) else (pattern, f"{pattern}/**")


def _folder_of(pattern: str) -> str:
    """Give the folder of which a pattern names all that is in it; the pattern itself where it names else."""
    folder = pattern.removesuffix("/*") if pattern.endswith("/**/*") else pattern
    while folder.endswith("/**"):
        folder = folder.removesuffix("/**")
    return folder
