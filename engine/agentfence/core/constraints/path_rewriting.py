r"""What programs make of a text before it is a path to them, each of which has to be harmless, too.

- A list is taken apart: `a,b`, `a;b` and `['a', 'b']`.
- A shell, a splitter of command lines and most glob libraries drop quotes and escapes: `.\./x` is
  `../x`. Decoders of JSON and of programming languages read `\u002e`, those of HTML `&#46;`.
- A variable that is not set is nothing, or what `${X-this}` gives: `.${X}.${X}/x` is `../x`.
- Of a path that becomes part of a URL, what is behind `?` or `#` is left out: `.env?x` is `.env`; who
  knows folders like `C#` does so with the last name alone.
- What cannot be seen is trimmed by JavaScript (U+FEFF), and taken out of prompts by filters.
- Windows reads a yen or a won sign as a backslash in the code pages of Japan and Korea.

Honest names hold all of these, so rewriting only adds places to judge, and what it leaves at the end
of a name (`posts.$id` becomes `posts.`) is nothing to complain about: see `read_path`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.folding import without_invisible
from agentfence.core.constraints.path_globs import expand_pattern, is_pattern, is_wild
from agentfence.core.constraints.path_text import Host, Refused, is_absolute
from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MOST_PIECES = 256
_MOST_CHARACTERS = 262_144
_FOR_EACH = 512
"""What to judge a text costs beside its characters, counted in these."""

_REWRITTEN = late_regex(r"[,;\\'\"`^$%!&?#]|[^\x00-\x7f]|\A\[.*\]\Z", re.DOTALL)
_NAME_END = late_regex(r"(?<=[^./\\ ])[. ]+(?=[/\\]|\Z)")
_CLIMB = late_regex(r"(?:^|[/\\])\.\.[/\\]+[^/\\]")
_CLIMB_AT_END = late_regex(r"(?:^|[/\\])\.\.[/\\]*\Z")
_OF_A_LIST = late_regex(r"[,/\\'\"]")
# Of ASCII alone: `photos\001` and `\udead` are folders of a Windows client.
_ESCAPED = late_regex(r"\\(?:u00([0-7][0-9A-Fa-f])|x([0-7][0-9A-Fa-f])|(0[4-7][0-7]|1[0-7]{2}))")
_QUOTES = late_regex(r"['\"`^]")
_UNSET = late_regex(
    r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]|\{[^{}/]*\}|\([^()/]*\))|`[^`/]*`|%[A-Za-z_][^%/\\]*%|!\w+!"
)
_DEFAULT = late_regex(r"\$\{\w+[-=+]([^{}]*)\}")
_LAST_TAIL = late_regex(r"[?#][^?#/\\]*\Z")
_MONEY = str.maketrans("\u00a5\u20a9", "\\\\")


class OtherTexts:
    """All that programs may make of a text, of what others made of it, and so on; each text once."""

    __slots__ = ("_host", "_left", "_seen", "_waiting")

    def __init__(self, text: str, host: Host) -> None:
        self._host = host
        self._seen = {text}
        self._waiting: list[str] = []
        self._left = _MOST_CHARACTERS

    def __iter__(self) -> Iterator[str]:
        """Give the texts, also those that are added meanwhile."""
        while self._waiting:
            yield self._waiting.pop()

    def add_made_of(self, text: str) -> None:
        """Add what programs may make of a text.

        Raises:
            Refused: there is too much to judge it all.

        """
        expanded = expand_pattern(text) if is_pattern(text) else ()
        for other in (*expanded, *rewritings(text, self._host)):
            if other in self._seen:
                continue
            self._left -= len(other) + _FOR_EACH
            if self._left < 0:
                raise Refused("may be made into more paths than can be judged")
            self._seen.add(other)
            self._waiting.append(other)


def leads_elsewhere(other: str, text: str) -> bool:
    """Whether what was made of a text is for certain another place, which allow lists must cover, too.

    It climbs, or is a second path that begins at the top. Pieces of `Smith, J.pdf` are no places, and
    `it's.txt` is allowed by its own name; that old shells take `docs/.*` for `docs/..`, too, is no reason
    to refuse all dot files.
    """
    return (
        _CLIMB.search(other) is not None
        or (_CLIMB_AT_END.search(other) is not None and (".." in text or not is_wild(text)))
        or (is_absolute(other) and text.find(other) > 0)
    )


def rewritings(text: str, host: Host) -> tuple[str, ...]:
    """Give the other texts that some program may make of this one; none for most.

    Raises:
        Refused: there are too many to judge them all.

    """
    if _REWRITTEN.search(text) is None:
        return ()
    rewritten = [each.strip() for each in (*_pieces(text), *_rewrite(text, host))]
    rewritten += [_NAME_END.sub("", each) for each in rewritten]
    return tuple(dict.fromkeys(each for each in rewritten if each and each != text))


def _pieces(text: str) -> list[str]:
    """Give what a server finds that splits at commas or semicolons, or reads a list as Python writes it."""
    is_literal = text[0] == "[" and text[-1] == "]" and _OF_A_LIST.search(text) is not None
    pieces = re.split("[,;]", text[1:-1] if is_literal else text, maxsplit=_MOST_PIECES)
    if len(pieces) > _MOST_PIECES:
        raise Refused("reads as a long list of paths")
    if is_literal:
        return [piece.strip().strip("'\"") for piece in pieces]
    return pieces if len(pieces) > 1 else []


def _rewrite(text: str, host: Host) -> Iterator[str]:
    """Give what each program makes of the text, and what is left of it when one has it after the other."""
    together = text
    for rewrite in _WINDOWS_REWRITES if host is Host.WINDOWS else _REWRITES:
        yield rewrite(text)
        yield (together := rewrite(together))
    if host is not Host.POSIX and ".." in text:  # without it, `¥100.txt` is a name and no more
        yield text.translate(_MONEY)


def _unescape_html(text: str) -> str:
    from html import unescape  # few paths hold an ampersand

    try:
        return unescape(text)
    except ValueError:  # a number of thousands of digits
        raise Refused("holds an escape that cannot be read") from None


def _decode_escape(escape: re.Match[str]) -> str:
    return chr(int(escape[3], 8) if escape[3] else int(escape[1] or escape[2], 16))


_WINDOWS_REWRITES: tuple[Callable[[str], str], ...] = (
    lambda text: text.strip("\ufeff"),
    lambda text: _unescape_html(text) if "&" in text else text,
    lambda text: _DEFAULT.sub(r"\1", text),
    lambda text: _UNSET.sub("", text),
    without_invisible,
    lambda text: _QUOTES.sub("", text),
    lambda text: text.partition("?")[0],
    lambda text: text.partition("#")[0],
    lambda text: _LAST_TAIL.sub("", text),
)
_REWRITES: tuple[Callable[[str], str], ...] = (
    lambda text: _ESCAPED.sub(_decode_escape, text),
    *_WINDOWS_REWRITES,
    lambda text: _QUOTES.sub("", text).replace("\\", ""),
)
