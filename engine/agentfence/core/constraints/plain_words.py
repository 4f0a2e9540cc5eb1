r"""Command lines that every shell reads as the same words, and nothing else.

This is `syntax: none` and `syntax: pipes`. The fence does not know which shell, if any, a server
hands a line to, so a line passes only where sh, bash, zsh, fish, cmd.exe, PowerShell and libraries
like `shlex` agree on every word. That is a small regular language, and a regex for it is both faster
and stricter than a shell's grammar, which must know what the rest would have meant.

    word    plain characters, or text in double quotes, or the two joined by `=`
    quotes  hold any printable character that no shell reads inside them

What is left out, with the shell to blame, where it is not plain shell syntax:

- single quotes around blanks and operators: cmd.exe knows no single quotes
- a quote that opens or closes within a word, and empty quotes: PowerShell splits or drops them
- `!` in double quotes: history (bash, zsh); `%NAME%` anywhere: cmd.exe
- `,` and a leading `@`: PowerShell's arrays; a leading `=`: zsh; a leading `%`: fish
- a dot in an unquoted `-option`: PowerShell splits there (PowerShell/PowerShell#6291)
- tabs: completion, where the shell sits behind a terminal
- letters and signs that a conversion to an 8-bit code page, as Windows makes, turns into one of these

Where the policy says that the shell is one of the POSIX family (`shell: posix`), what only cmd.exe and
PowerShell read is let through: single quotes around anything, words of several pieces (`'it'\''s'`), empty
words, backslashes before punctuation and in double quotes (`"\w+"`), commas, `@` and `:` anywhere, `#` and
`^` within a word, braces without a comma (`{}`, `HEAD@{1}`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from agentfence.core.constraints.folding import fold_text
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@frozen
class _Grammar:
    """The lines that are read as the same words by some shells."""

    match_command: Callable[[str], re.Match[str] | None]
    match_pipeline: Callable[[str], re.Match[str] | None]
    match_beginning: Callable[[str], re.Match[str] | None]
    find_words: Callable[[str], Iterator[re.Match[str]]]

    @classmethod
    def of(cls, word: str) -> _Grammar:
        """Give the grammar with these words."""
        command = rf" *+{word}(?: ++{word})*+ *+"
        return cls(
            re.compile(command, re.ASCII).fullmatch,
            re.compile(rf"{command}(?:\|{command})*+", re.ASCII).fullmatch,
            re.compile(rf"(?:(?:{word})(?=[ |]|\Z)|[ |]++)*+", re.ASCII).match,
            re.compile(rf"{word}|\|", re.ASCII).finditer,
        )


_BARE = (
    r"(?!--%|-[A-Za-z_?][\w=:+-]*\.)"  # PowerShell: `--%` stops its parser
    r"[\w./+-][\w./:+@=%-]*+(?:(?<=[A-Za-z0-9])~[\w./:+@=%-]*+)*+"
)
_QUOTED = r""""[^"$`\\!\x00-\x1f\x7f]++"|'[\w./:@+=~#$*?\[\]{}!-]++'"""
_ANY_SHELL = _Grammar.of(f"(?:{_BARE}(?:(?<==)(?:{_QUOTED}))?+|{_QUOTED})")
_POSIX_QUOTED = (
    r'"(?:[^"$`\\!\x00-\x1f\x7f]|\\[^$`!\x00-\x1f\x7f])*+"'
    r"|'(?:[^'\\\x00-\x1f\x7f]|\\(?![\\']))*+'"  # fish has escapes in single quotes, but only these two
    r"|\\[ '\"\\();&|<>*?$#\[\]{}]"
    r"|\{\w*+\}"  # `{}` of find, `stash@{0}` of git: braces without a comma are themselves
)
_POSIX = _Grammar.of(
    rf"(?:[\w./:+@,-]|{_POSIX_QUOTED})"
    rf"(?:[\w./:+@=%,-]|(?<=[A-Za-z0-9])[~#]|(?<=[\w@^])\^|{_POSIX_QUOTED})*+"
)
_has_quote = re.compile(r"[\"'\\]").search
_find_pieces = re.compile(
    r"""(?P<plain>[^"'\\]+)|\\(?P<escaped>.)|"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>[^']*)'"""
).finditer
_unescape_double = re.compile(r"\\([\"\\])").sub
_find_cmd_variable = re.compile(r"%[\w=()]++(?::[^%]*)?%").search
_has_cmd_operator = re.compile(r"[&|<>^()%]").search
_has_look_alike = re.compile("[\x00-\x7f\u02b0-\u02ff]").search  # modifier letters pass for quotes
_QUOTED_ONLY = frozenset("–—…→←•·°×€£§©®«»¿¡、。，：；？（）「」『』【】")

UNSAFE_CHARACTER = "a control character, or one that programs take for another"
_REASONS = (
    ("\n\r", "a line break"),
    (";&", "a command separator"),
    ("|", "a pipe"),
    ("<>", "a redirection"),
    ("$`", "a variable or substitution"),
    ("*?[]", "a file pattern"),
    ("{}", "a brace"),
    ("()", "a group"),
    ("\\", "a backslash"),
    ("#", "a comment"),
    ("!", "a negation or history reference"),
    ("%^", "a character that cmd.exe reads"),
    ("\"'", "quotes that not every shell reads alike (double quotes around the whole word are fine)"),
    ("\x00", UNSAFE_CHARACTER),
)
_find_reason = re.compile(r"[\x00-\x1f\x7f;&|<>$`*?\[\]{}()\\#!%^\"']").search
_find_reason_in_quotes = re.compile(r"[\x00-\x1f\x7f$`\\!]").search
_match_quoted = re.compile('"[^"]*"').match


def read_plain_commands(
    text: str, *, pipes: bool = False, posix: bool = False
) -> list[tuple[str, ...]] | str:
    """Give the words of a line, one tuple for each command of a pipeline; or what stands in the way."""
    grammar = _POSIX if posix else _ANY_SHELL
    skeleton = text if text.isascii() else text.translate({ord(sign): _stand_in(sign) for sign in set(text)})
    if (grammar.match_pipeline if pipes else grammar.match_command)(skeleton) is None:
        return _explain(skeleton, grammar)
    if not posix and (problem := _find_reading_of_cmd(text)):
        return problem
    commands = _split(text, skeleton, grammar)
    if any("=" in words[0] for words in commands):
        return "an assignment"
    return commands


def _find_reading_of_cmd(text: str) -> str | None:
    if "%" in text and _find_cmd_variable(text):
        return "a character that cmd.exe reads"
    if text.lstrip(" ")[0] in "\"'" and _has_cmd_operator(text):
        return "an operator behind a quoted program name, whose quotes cmd.exe may strip"
    return None


def _split(text: str, skeleton: str, grammar: _Grammar) -> list[tuple[str, ...]]:
    if skeleton is text and not _has_quote(text):
        return [tuple(command.split()) for command in text.split("|")]
    commands: list[list[str]] = [[]]
    for found in grammar.find_words(skeleton):
        piece = text[found.start() : found.end()]
        if piece == "|":
            commands.append([])
        else:
            commands[-1].append(_unquote(piece))
    return [tuple(words) for words in commands]


def _unquote(word: str) -> str:
    return "".join(map(_unquote_piece, _find_pieces(word)))


def _unquote_piece(piece: re.Match[str]) -> str:
    if piece["double"]:
        return _unescape_double(r"\1", piece["double"])
    return piece["plain"] or piece["escaped"] or piece["single"] or ""


def _stand_in(character: str) -> str:
    """Give an ASCII character of the same standing: a letter, a sign for double quotes only, or NUL."""
    if character.isascii():
        return character
    if character in _QUOTED_ONLY:
        return ","
    if not fold_text(character) or _has_look_alike(normalize("NFKC", character)):
        return "\x00"
    match category(character):
        case "Lu" | "Ll" | "Lt" | "Lm" | "Lo" | "Mn" | "Mc" | "Nd":
            return "x"
        case "So":
            return ","
        case _:
            return "\x00"


def _explain(skeleton: str, grammar: _Grammar) -> str:
    beginning = grammar.match_beginning(skeleton)
    rest = skeleton[beginning.end() if beginning else 0 :]
    if not rest:
        return "a pipe" if "|" in skeleton else "no command"
    quoted = _match_quoted(rest)
    inside = quoted.end() - 1 if quoted else 0
    culprit = _find_reason_in_quotes(rest, 1, inside) or _find_reason(rest, inside + 1 if quoted else 0)
    if culprit is None:
        return "a character that some shell reads (double quotes around the word help)"
    for characters, reason in _REASONS:
        if culprit.group() in characters:
            return reason
    return UNSAFE_CHARACTER
