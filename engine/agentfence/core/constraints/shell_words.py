r"""Words of the shell language: quotes, escapes, and the commands that stand inside expansions.

This is the lower half of `shell_reading`, which says what its results promise.

- Where shells disagree on the end of a quote, as for `$'\''` (dash) and `'\'` (fish), a text is refused.
- Nothing is expanded. What the shell would put in is kept as written, and the word marked.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from agentfence.core.values import frozen

MAX_DEPTH = 20
"""How many expansions may stand in one another."""

_match_simple = re.compile(r"[\w./:@%+-][\w./:@%+=,~-]*+(?=[ \t\n;&|)]|\Z)").match
_match_plain = re.compile(r"""[^ \t\n;&|()<>'"`\\$\[]++""").match
_match_double = re.compile(r'[^"\\$`]++').match
_match_parameter = re.compile(r"""[^\\$`'"{}<>]++""").match
_match_arithmetic = re.compile(r"[\w\s+*/%<>=!&|^~?:,#@.\[\]-]++", re.ASCII).match
_match_document = re.compile(r"(?:[^\\$`]|\\.)++", re.DOTALL).match
_match_backquoted = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL).match
_match_ansi = re.compile(r"\$'((?:[^'\\]|\\[^'])*+)'").match
_match_name = re.compile(r"\$[=~^+]*(?:[A-Za-z_]\w*|[0-9@*#?$!-])", re.ASCII).match  # `$=x` is zsh's
_holds_list = re.compile(r"\$\{?[@*]|\[[@*]\]|\$\{!|\$[=~^+]").search
"""What may be several words in quotes too, as `"$@"`, or `"$=x"` in zsh."""
_match_brace = re.compile(r"\$\{[\w#!@*?$-]", re.ASCII).match
_match_subscript = re.compile(r"""\[[^ \t\n;&|()<>'"`\\\]]*\]""").match
_is_identifier = re.compile(r"[A-Za-z_]\w*", re.ASCII).fullmatch
_unescape_backquoted = re.compile(r"\\([$`\\])").sub
_unescape_ansi = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|([0-7]{3})|(.))", re.DOTALL).sub
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "\\": "\\", '"': '"'}
# Bash runs the substitution in a subscript when it evaluates a text as a number: `x='a[$(id)]'; ((x))`.
_has_evaluated = re.compile(r"\w\[[^\[\]]*(?:\$\(|`)").search


@frozen
class Word:
    """A word of a command, without its quotes."""

    text: str
    """What the shell passes on; where it is not known, with the expansions as written."""
    is_known: bool = True
    """False when the shell puts something else in its place, or may make several words of it."""
    is_one: bool = False
    """True when it is not known, but in quotes, so that it stays one word."""


class UnreadableError(ValueError):
    """A text that shells read differently, or not at all; says what in it is the reason."""


class WordReader(ABC):
    """A place in a text, and how to read the next word there.

    Every method of it raises `UnreadableError`.
    """

    __slots__ = ("depth", "position", "text")

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.position = 0
        self.depth = depth

    @property
    @abstractmethod
    def awaits_document(self) -> bool:
        """Whether a here-document begins on the next line."""

    @abstractmethod
    def read_list(self, closer: str) -> None:
        """Read commands up to the end of the text, or past the parenthesis that closes a substitution."""

    @abstractmethod
    def nest(self, text: str) -> WordReader:
        """Give a reader of a text that stands inside this one, one level deeper."""

    def read_word(self) -> Word:
        """Read up to the next blank or operator, which may be at once: then the word is empty."""
        if simple := _match_simple(self.text, self.position):  # by far most words
            self.position = simple.end()
            return Word(simple.group())
        parts: list[Word] = []
        bare: list[str] = []
        while self.position < len(self.text):
            if plain := _match_plain(self.text, self.position):
                self.position = plain.end()
                parts.append(Word(plain.group()))
                bare.append(plain.group())
            elif self.text[self.position] == "[":
                if len(bare) == 1 and _is_identifier(bare[0]):
                    self.check_subscript()
                self.position += 1
                parts.append(Word("["))
                bare.append("[")
            elif part := self._read_part():
                parts.append(part)
                bare.append("\0")
            else:
                break
        unquoted = "".join(bare)
        if "}" in unquoted and unquoted != "}":
            self._check_brace(unquoted)
        return _join(parts, unquoted)

    def read_required_word(self) -> Word:
        """Read a word that must be there."""
        start = self.position
        word = self.read_word()
        if self.position == start:
            raise UnreadableError("an operator where a word must stand")
        return word

    def read_arithmetic(self, separators: str = "") -> None:
        """Read past the `))` that ends an arithmetic expression; its text holds only plain terms."""
        start = self.position
        opened = 0
        while not (opened == 0 and self.text.startswith("))", self.position)):
            if plain := _match_arithmetic(self.text, self.position):
                self._move(plain.end())
                continue
            match self.text[self.position : self.position + 1]:
                case "(":
                    opened += 1
                case ")" if opened:
                    opened -= 1
                case "$":
                    self._read_expansion(quoted=True)
                    continue
                case separator if separator and separator in separators:
                    pass
                case _:
                    raise UnreadableError("an arithmetic expression that is not plain")
            self.position += 1
        if self.text.count("[", start, self.position) != self.text.count("]", start, self.position):
            raise UnreadableError("an arithmetic expression that is not plain")
        self.position += 2

    def read_document(self) -> None:
        """Read the whole text as a here-document: only expansions count."""
        while self.position < len(self.text):
            if plain := _match_document(self.text, self.position):
                self.position = plain.end()
            elif self.text[self.position] == "$":
                self._read_expansion(quoted=True)
            else:
                self._read_backquoted()

    def check_subscript(self) -> None:
        """Refuse `a[x y]=1`, which bash takes for one word and others for two."""
        if not _match_subscript(self.text, self.position):
            raise UnreadableError("a subscript that is not plain")

    def _check_brace(self, unquoted: str) -> None:
        """Refuse `{ a;b}`, which zsh takes for a whole group, and a brace before a redirection."""
        opens_first = -1 < unquoted.find("{") < unquoted.find("}")
        is_balanced = unquoted.count("{") >= unquoted.count("}")
        if not opens_first or not is_balanced or self.text.startswith(("<", ">"), self.position):
            raise UnreadableError("a brace that shells read differently")

    def _read_part(self) -> Word | None:
        match self.text[self.position]:
            case "'":
                return self._read_single()
            case '"':
                return self._read_double()
            case "\\":
                return self._read_escape()
            case "$":
                return self._read_expansion(quoted=False)
            case "`":
                return self._read_backquoted()
            case "<" | ">" if self.text.startswith("(", self.position + 1):
                return self._read_expansion(quoted=False)
            case _:
                return None

    def _read_escape(self) -> Word:
        escaped = self.text[self.position + 1 : self.position + 2]
        if escaped in ("", "\n"):
            raise UnreadableError("a line that is continued within a word")
        self.position += 2
        return Word(escaped)

    def _read_single(self) -> Word:
        end = self.text.find("'", self.position + 1)
        if end < 0:
            raise UnreadableError("a quote that is not closed")
        content = self.text[self.position + 1 : end]
        if (len(content) - len(content.rstrip("\\"))) % 2:
            raise UnreadableError("a backslash before a closing quote")
        self._move(end + 1)
        return Word(content)

    def _read_double(self) -> Word:
        parts: list[Word] = []
        self.position += 1
        while not self.text.startswith('"', self.position):
            if plain := _match_double(self.text, self.position):
                self._move(plain.end())
                parts.append(Word(plain.group()))
                continue
            match self.text[self.position : self.position + 2]:
                case "\\\n":
                    self._move(self.position + 2)
                case ("\\\\" | '\\"' | "\\$" | "\\`") as escape:
                    self.position += 2
                    parts.append(Word(escape[1]))
                case dollar if dollar.startswith("$"):
                    parts.append(self._read_expansion(quoted=True))
                case backquote if backquote.startswith("`"):
                    parts.append(self._read_backquoted())
                case "" | "\\":
                    raise UnreadableError("a quote that is not closed")
                case _:
                    self.position += 1
                    parts.append(Word("\\"))
        self.position += 1
        text = "".join(part.text for part in parts)
        is_known = all(part.is_known for part in parts)
        return Word(text, is_known, is_one=not (is_known or _holds_list(text)))

    def _read_expansion(self, *, quoted: bool) -> Word:
        if self.depth == MAX_DEPTH:
            raise UnreadableError("too deeply nested expansions")
        self.depth += 1
        word = self._read_expansion_here(quoted=quoted)
        self.depth -= 1
        return word

    def _read_expansion_here(self, *, quoted: bool) -> Word:
        start = self.position
        match self.text[start + 1 : start + 3]:
            case "((" if self.text[start] == "$":
                self.position += 3
                self.read_arithmetic()
            case command if command.startswith("("):
                return self._read_substitution()
            case braced if braced.startswith("{"):
                self._read_parameter(quoted=quoted)
            case old if old.startswith("["):
                raise UnreadableError("`$[`")
            case ansi if ansi.startswith("'") and not quoted:
                return self._read_ansi()
            case translated if translated.startswith('"') and not quoted:
                self.position += 1
                return Word(self._read_double().text, is_known=False)
            case _:
                name = _match_name(self.text, start)
                self.position = name.end() if name else start + 1
                return Word(self.text[start : self.position], is_known=name is None)
        return Word(self.text[start : self.position], is_known=False)

    def _read_parameter(self, *, quoted: bool) -> None:
        start = self.position
        if not _match_brace(self.text, start):  # `${ command; }` and `${|command;}` of bash 5.3 run one
            raise UnreadableError("`${` without a plain name")
        self.position += 3
        while not self.text.startswith("}", self.position):
            if plain := _match_parameter(self.text, self.position):
                self._move(plain.end())
                continue
            match self.text[self.position : self.position + 1]:
                case "\\":
                    self._move(self.position + 2)
                case "$":
                    self._read_expansion(quoted=quoted)
                case "`":
                    self._read_backquoted()
                case "'" | '"' if not quoted:
                    self._read_part()
                case "<" | ">" if not self.text.startswith("(", self.position + 1):
                    self.position += 1
                case _:
                    raise UnreadableError(
                        "`${` that is not closed, or with quotes or braces that shells read differently"
                    )
        self.position += 1
        if self.text.endswith("@P}", start, self.position):
            raise UnreadableError("`${NAME@P}`, which runs what the variable holds")

    def _read_ansi(self) -> Word:
        ansi = _match_ansi(self.text, self.position)
        if ansi is None:
            raise UnreadableError("`$'` that is not closed, or with an escaped quote")
        self._move(ansi.end())
        return Word(_unescape_ansi(_decode_ansi, ansi.group(1)), is_known=False)

    def _read_backquoted(self) -> Word:
        start = self.position
        quoted = _match_backquoted(self.text, start)
        if quoted is None or '\\"' in quoted.group(1) or "\\\n" in quoted.group(1):
            raise UnreadableError(
                "a backquote that is not closed, or with escapes that shells read differently"
            )
        self._check_documents()
        self.nest(_unescape_backquoted(r"\1", quoted.group(1))).read_list("")
        self.position = quoted.end()
        return Word(quoted.group(), is_known=False)

    def _read_substitution(self) -> Word:
        start = self.position
        self._check_documents()
        self.position += 2
        self.read_list(")")
        return Word(self.text[start : self.position], is_known=False)

    def _move(self, end: int) -> None:
        """Go on to `end`, over characters that may be line breaks."""
        if self.awaits_document and "\n" in self.text[self.position : end]:
            self._check_documents()
        self.position = end

    def _check_documents(self) -> None:
        """Refuse a line break inside a word when a here-document begins on the next line."""
        if self.awaits_document:
            raise UnreadableError("a here-document whose beginning shells look for in different places")


def _join(parts: list[Word], bare: str) -> Word:
    """Give the word of several parts; `bare` is its unquoted text, with NUL for each other part."""
    text = "".join(part.text for part in parts)
    if _has_evaluated("".join(part.text if part.is_known else "\0" for part in parts)):
        raise UnreadableError("a substitution that bash runs when it takes the text for a number")
    if _is_pattern(bare) or not all(part.is_known or part.is_one for part in parts):
        return Word(text, is_known=False)
    is_known = all(part.is_known for part in parts)
    return Word(text, is_known, is_one=not is_known)


def _is_pattern(bare: str) -> bool:
    return (
        "*" in bare
        or "?" in bare
        or ("[" in bare and "]" in bare)
        or ("{" in bare and ("," in bare or ".." in bare))
        or (bare.startswith("=") and bare.strip("=") != "")  # zsh: the path of a program
    )


def _decode_ansi(escape: re.Match[str]) -> str:
    byte, point, octal, character = escape.groups()
    if character is not None and character not in _ANSI_ESCAPES:
        raise UnreadableError("an escape in `$'…'` that shells read differently")
    decoded = _ANSI_ESCAPES[character] if character else chr(int(byte or point or octal, 8 if octal else 16))
    if decoded == "\0":
        raise UnreadableError("an escape in `$'…'` that ends the text")
    return decoded
