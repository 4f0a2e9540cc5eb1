"""URL patterns of the Go AgentFence, which compared them with the raw text of a URL.

There `*` crossed anything but `/` and `**` anything at all, so `https://*.h/**` also covered
`https://evil#.h/`. Here an allow pattern is read as a URL pattern and covers the hosts that it
names; one that cannot be read so covers nothing. A deny pattern holds in both ways.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from agentfence.core.constraints.globs import Glob, compile_glob
from agentfence.core.constraints.original_globs import original_spellings
from agentfence.core.constraints.url_paths import decode_once, is_quick_to_fold
from agentfence.core.constraints.url_patterns import compile_url_pattern
from agentfence.core.values import frozen, replace

if TYPE_CHECKING:
    from agentfence.core.constraints.url_patterns import UrlPattern
    from agentfence.core.constraints.url_reading import Url

_EVERYTHING = ("", ".", "**")
_GLUED = re.compile(r"(\S*://[^/*?]+)\*\*")


class DenyPattern(Protocol):
    """Says whether a URL is denied."""

    @property
    def text(self) -> str:
        """As written in the policy."""
        ...

    def matches_url(self, url: Url) -> bool:
        """Whether the URL is covered."""
        ...


@frozen
class RawPattern:
    """A deny pattern for the text of a URL, as it came and as it is read."""

    text: str
    glob: Glob

    def matches_url(self, url: Url) -> bool:
        """Whether the URL is covered, without regard to case."""
        read = f"{url.scheme}://{url.host or ''}{url.path}{decode_once(url.query)}"
        return any(not is_quick_to_fold(text) or self.glob.matches(text) for text in (url.text, read))


def compile_original_allow(text: str) -> UrlPattern | None:
    """Give the pattern of an allow list; None for one that names no host and so allows nothing."""
    try:
        return compile_url_pattern(_modernise(text), deny=False)
    except ValueError:
        return None


def compile_original_deny(text: str) -> tuple[DenyPattern, ...]:
    """Give what a pattern of a deny list denies: the URLs that it names, and the texts that it covers."""
    raw = [
        RawPattern(text, compile_glob(spelling, fold=True)) for spelling in original_spellings(text or ".")
    ]
    try:
        return (replace(compile_url_pattern(_modernise(text), deny=True), text=text), *raw)
    except ValueError:
        return tuple(raw)


def _modernise(text: str) -> str:
    """Write a raw-text pattern as a URL pattern that covers no more."""
    text = text.removeprefix("./")
    if text in _EVERYTHING:
        return "*://**"
    if text.startswith("**") and "://" not in text:
        text = f"*://{text}"
    text = text.replace("http*://", "*://", 1).replace("://**.", "://*.", 1)
    glued = _GLUED.fullmatch(text)
    return f"{glued[1]}/**" if glued else text
