"""The patterns of the `command` constraint: whole commands word by word, and texts that are denied.

    git status       exactly these two words
    git log **       any words behind it, but no options
    git log -n *     options are matched where they are written out
    git commit -m "a b*"   quotes hold a word together; within them `*` is itself

- A wildcard never stands for a word that begins with `-`, unless the pattern's word does too: an
  option can turn a harmless command into another (`git log --output=x`).
- `*` stays within a word and `**` is any number of words. In denied texts both cross everything, for
  there a gap is a hole: `rm -rf*` is meant to deny `rm -rf /`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.command_known import is_caseless
from agentfence.core.constraints.globs import Glob, compile_glob, literal_pattern
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    type WordMatches = Callable[[str], bool]

_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"[^"]*"|'[^']*')+""", re.DOTALL)
_PIECE = re.compile(r"""(?P<bare>(?:[^"'\\]|\\.)+)|"(?P<double>[^"]*)"|'(?P<single>[^']*)'""", re.DOTALL)
_PROGRAM = re.compile(r"[\w.-]+(?=[\s*]|\Z)", re.ASCII)
_BEGINNING = re.compile(r"[\w.-]*", re.ASCII)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_has_wildcard = re.compile(r"(?:[^\\]|\\.)*?[*?\[]", re.DOTALL).match
_has_control = re.compile(r"[\x00-\x1f\x7f]").search
_has_syntax = re.compile(r"[;&|<>()`$]").search
# PowerShell reads dashes as hyphens, and a code page may turn them into some.
_is_option = re.compile("[-\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d]").match


@frozen
class CommandPattern:
    """One entry of `allow` with a wildcard."""

    words: tuple[WordMatches | None, ...]
    """What matches each word; None for any number of words."""
    spelt: frozenset[int]
    """The positions of the words without wildcards, up to the first `**`."""

    def matches(self, words: Sequence[str]) -> bool:
        """Whether the pattern covers a whole command, in time linear in its length."""
        position = index = 0
        run_index = run_position = -1
        while position < len(words):
            expected = self.words[index] if index < len(self.words) else _nothing
            if expected is None:
                run_index, run_position = index, position
                index += 1
            elif expected(words[position]):
                position += 1
                index += 1
            elif run_index < 0 or _is_option(words[run_position]):
                return False
            else:  # the last run takes one word more
                run_position += 1
                position, index = run_position, run_index + 1
        return not any(self.words[index:])


@frozen
class AllowedCommands:
    """A compiled `allow` list."""

    lines: frozenset[str]
    """The entries without wildcards, as written."""
    commands: frozenset[tuple[str, ...]]
    """The same, as words."""
    patterns: tuple[CommandPattern, ...]

    def matches_pattern(self, words: Sequence[str]) -> bool:
        """Whether an entry with a wildcard covers the command."""
        return any(pattern.matches(words) for pattern in self.patterns)

    def find_spelt(self, words: Sequence[str]) -> frozenset[int]:
        """Give the positions of the words that an entry which covers the command spells out."""
        return frozenset[int]().union(*(each.spelt for each in self.patterns if each.matches(words)))


@frozen
class DeniedCommands:
    """A compiled `deny_patterns` list."""

    patterns: tuple[Glob, ...]
    anywhere: tuple[Glob, ...]
    """The same at any word of a line that has a blank before each word; without those that begin with `*`."""
    hints: re.Pattern[str]
    """Finds the beginning of one of the latter in any text that holds what it denies."""

    def may_hold(self, text: str) -> bool:
        """Whether a text may hold a command that is denied by its beginning; quick, as few do."""
        return "\\" in text or self.hints.search(text) is not None


def compile_allowed(entries: Iterable[str]) -> AllowedCommands:
    """Give the commands that `allow` covers.

    Raises:
        ValueError: an entry is no command; its `args` are the entry's position and the reason.

    """
    lines: set[str] = set()
    commands: set[tuple[str, ...]] = set()
    patterns: list[CommandPattern] = []
    for position, entry in enumerate(entries):
        try:
            words = [_read_word(word) for word in _split(entry)]
        except ValueError as error:
            raise ValueError(position, str(error)) from None
        literal = tuple(word for word in words if isinstance(word, str))
        if len(literal) == len(words):
            lines.add(entry)
            commands.add(literal)
        else:
            before_run = words[: words.index(None)] if None in words else words
            spelt = frozenset(index for index, word in enumerate(before_run) if isinstance(word, str))
            patterns.append(CommandPattern(tuple(_as_matcher(word) for word in words), spelt))
    return AllowedCommands(frozenset(lines), frozenset(commands), tuple(patterns))


def compile_denied(patterns: Sequence[str], *, original: bool) -> DeniedCommands:
    """Give what `deny_patterns` denies.

    Raises:
        ValueError: a pattern is malformed; its `args` are the pattern's position and the reason.

    """
    compiled: list[Glob] = []
    for position, pattern in enumerate(patterns):
        try:
            compiled += _compile_original(pattern) if original else _compile_denied(pattern)
        except ValueError as error:
            raise ValueError(position, str(error)) from None
    begun = [] if original else [each for each in map(_lower_program, patterns) if not each.startswith("*")]
    anywhere = [_shown_as(each, compile_glob(f"*[ /=:]{each}", separator=None)) for each in begun]
    beginnings = "|".join(re.escape(_BEGINNING.match(each)[0]) for each in begun)  # type: ignore[index]
    hints = late_regex(beginnings or "(?!)", re.IGNORECASE)
    return DeniedCommands(tuple(compiled), tuple(anywhere), hints)


def _compile_denied(pattern: str) -> list[Glob]:
    # Programs are compared by their names in small letters too, as Windows has no other.
    spellings = dict.fromkeys([pattern, lowered := _lower_program(pattern)])
    if is_caseless(lowered.partition(" ")[0]):
        spellings[lowered.lower()] = None
    return [_shown_as(pattern, compile_glob(spelling, separator=None)) for spelling in spellings]


def _compile_original(pattern: str) -> list[Glob]:
    """Give the two readings of a pattern in policies of the Go AgentFence.

    The one with `**` took `?`, `[` and a backslash for themselves; a malformed one held only there; and
    `.` meant anything.
    """
    pattern = pattern.removeprefix("./")
    if pattern in ("", "."):
        return [compile_glob("**", separator=None)]
    readings = [re.sub(r"([?\[\\])", r"\\\1", pattern)]
    try:
        return [compile_glob(reading, separator=None) for reading in (pattern, *readings)]
    except ValueError:
        return [compile_glob(reading, separator=None) for reading in readings]


def _shown_as(pattern: str, glob: Glob) -> Glob:
    return Glob(pattern, lambda: glob.matches)


def _lower_program(pattern: str) -> str:
    program = _PROGRAM.match(pattern)
    return pattern if program is None else program[0].lower() + pattern[program.end() :]


def _split(entry: str) -> list[str]:
    if _has_control(entry):
        raise ValueError("an entry is one line, and this one holds a line break or another control character")
    if _WORD.sub("", entry).strip():
        raise ValueError(f"`{entry}` has a quote that is not closed, or ends in a backslash")
    words = _WORD.findall(entry)
    if not words:
        raise ValueError("an empty entry allows no command")
    return words


def _read_word(word: str) -> str | Glob | None:
    """Give a word of an entry: its text, its pattern, or None for `**`."""
    if word == "**":
        return None
    pattern = ""
    is_wild = False
    for piece in _PIECE.finditer(word):
        bare = piece["bare"]
        if bare is None:
            pattern += literal_pattern(piece["double"] or piece["single"] or "")
            continue
        if syntax := _has_syntax(_ESCAPED.sub("", bare)):
            raise ValueError(
                f"`{syntax.group()}` is shell syntax, and an entry is one command; in quotes it is itself"
            )
        is_wild = is_wild or _has_wildcard(bare) is not None
        pattern += bare
    return compile_glob(pattern, separator=None) if is_wild else _ESCAPED.sub(r"\1", pattern)


def _as_matcher(word: str | Glob | None) -> WordMatches | None:
    match word:
        case None:
            return None
        case str(text):
            return text.__eq__
        case _ if word.pattern.startswith("-"):
            return word.matches
        case _:
            matches = word.matches
            return lambda text: _is_option(text) is None and matches(text)


def _nothing(_: str) -> bool:
    return False
