r"""The simple commands in a shell script, wherever they stand: also in substitutions and here-documents.

This is no shell grammar but a reader that finds every place where a command can begin. Words, quotes
and expansions (`shell_words`) and what stands between them (`shell_lines`) are read exactly; `if`,
loops and functions only as far as they move that place. So a script that is not even valid still
yields its commands.

- Every command that sh, bash or zsh would run is among those found, or the text is refused. Where
  they split a text differently it is refused, or read in both ways.
- Nothing is expanded: a word that the shell would change is marked as not known.
- Each character is read once per level of nesting, and nesting is bounded: linear time.

Tried and left: tree-sitter-bash takes CR, FF, no-break spaces and escaped blanks for blanks, does not
join continued words or look into backquotes in here-documents, and needs quadratic time on texts made
for that, with no way to stop it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.constraints.shell_lines import LineReader
from agentfence.core.constraints.shell_words import MAX_DEPTH, UnreadableError, Word
from agentfence.core.values import field, frozen, replace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_find_unsafe = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff]"
).search
_match_operator = re.compile(r";;&|;;|;&|&&|\|\||\|&|&(?!>)|[;|()]").match
_match_redirection = re.compile(r"&>>?|>>|>\||>&|<<<|<<-|<<|<&|<>|[<>]").match
_match_descriptor = re.compile(r"(?:\d+|\{[^}\s]*\})(?=[<>])").match
_match_assignment = re.compile(r"[A-Za-z_]\w*(?:\[[^\[\]]*\])?\+?=", re.ASCII).match
_match_variable = re.compile(r"[A-Za-z_]\w*(?=[\s;]|\Z)", re.ASCII).match
_match_in = re.compile(r"in(?=[\s;]|\Z)").match
_match_esac = re.compile(r"esac(?=[\s;&|()<>]|\Z)").match
_match_compound = re.compile(r"\(|(?:\{|if|while|until|for|select|case|!)(?=[ \t\n(])").match
_match_time_option = re.compile(r"(?:-p|--)(?=[ \t])").match
_is_stream = re.compile(r"[<>]&(?!-\Z)|[<>|]*(?:<\(|/dev/(?:tcp|udp|fd)/|/proc/self/fd/)").match
"""What comes from elsewhere than a file."""
_is_no_file = re.compile("-|/dev/|/proc/").match
_is_function_name = re.compile(r"[\w.:+@-]+").fullmatch
_match_evaluated_list = re.compile(r"[A-Za-z_]\w*\+?=\(.*?(?:\$\(|`).*\)", re.ASCII | re.DOTALL).fullmatch
_match_list_option = re.compile("-[A-Za-z]*[aA]").match
_match_arithmetic_term = re.compile(r"[()]|[\w\s$+*/%<>=!&|^~?:,.\[\]-]++", re.ASCII).match


_MAX_COMMANDS = 2000
_NO_VALUES: Mapping[str, Sequence[str]] = MappingProxyType({})
_CONTINUE = frozenset(["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "{", "}", "!"])
"""Reserved words behind which a command can begin."""
_DECLARING = frozenset(["export", "declare", "local", "readonly", "typeset"])
_WRITERS = frozenset(["cat", "echo"])
"""Programs of which the line says what they write."""
_COMMAND_ENDS = frozenset(["", *"\n;&|)"])
_WORD_ENDS = _COMMAND_ENDS | frozenset(" \t<>")


@frozen
class SimpleCommand:
    """A program and its arguments; no words where a line only redirects or assigns."""

    words: tuple[Word, ...]
    assigns: bool = False
    """True when it sets a variable, for itself or for the rest of the script."""
    inputs: Sequence[Word] = ()
    """Its here-documents and here-strings; known when the whole text is read."""
    is_piped: bool = False
    """True when another command writes its standard input."""
    fed: Sequence[Word] | None = None
    """What that command writes, where the line says it: nothing for the text of a file."""
    settings: Sequence[str] = ()
    """The variables that it sets, as `NAME=VALUE`; without a program only those whose values are known."""
    redirections: Sequence[str] = ()
    """Its redirections, as `> FILE`."""
    values: Mapping[str, Sequence[str]] = _NO_VALUES
    """What the script sets variables to, as far as it is written out; known when the whole text is read."""


@frozen
class Script:
    """What was found in a text."""

    commands: list[SimpleCommand] = field(default_factory=list)
    pipelines: list[str] = field(default_factory=list)
    """Whole pipelines, and each two neighbours in them, with ` | ` between the commands."""
    values: dict[str, list[str]] = field(default_factory=dict)
    """What variables are set to, as far as it is written out."""

    feeding: list[Sequence[Word]] = field(default_factory=list)
    """What is given to a group, a loop or the shell itself, so that any command in the text may read it."""

    def set_value(self, assignment: str) -> None:
        """Note what a variable is set to by `NAME=VALUE`."""
        name, _, value = assignment.partition("=")
        self.values.setdefault(name.rstrip("+"), []).append(value)


def read_shell(text: str) -> Script | str:
    """Give the commands in a script; or, as a text, what in it cannot be read for certain."""
    if _find_unsafe(text):
        return "a control character, or a blank that some shells take for a letter"
    script = Script()
    try:
        _Reader(text, 0, script).read_list("")
    except UnreadableError as problem:
        return str(problem)
    if any(script.feeding):
        script.commands[:] = [replace(each, is_piped=True, fed=None) for each in script.commands]
    return script


class _Reader(LineReader):
    """A place in a text, and what was found up to there."""

    __slots__ = ("fed", "is_fed", "opened", "piped", "redirections", "script")

    def __init__(self, text: str, depth: int, script: Script) -> None:
        super().__init__(text, depth)
        self.script = script
        self.opened: list[str] = []
        """Parentheses and `case`s of the list at hand that are not yet closed."""
        self.piped: list[str] = []
        """The commands so far of the pipeline at hand."""
        self.redirections: list[str] = []
        """Those of the command at hand."""
        self.fed: Sequence[Word] | None = None
        """What the command before in the pipeline at hand writes, where the line says it."""
        self.is_fed = False
        """Whether another command may write the standard input of all commands in the list at hand."""

    def nest(self, text: str) -> _Reader:
        if self.depth == MAX_DEPTH:
            raise UnreadableError("too deeply nested substitutions")
        reader = _Reader(text, self.depth + 1, self.script)
        reader.is_fed = self.is_fed
        return reader

    # --- lists of commands -----------------------------------------------------------------------

    def read_list(self, closer: str) -> None:
        outer = self.opened, self.piped, self.fed, self.is_fed
        self.opened, self.piped, self.fed = [], [], None
        self.is_fed = self.is_fed or (closer != "" and self.text.startswith(">(", self.position - 2))
        while self._read_item(closer):
            pass
        if self.documents:
            raise UnreadableError("a here-document without its end")
        self._end_pipeline()
        self.opened, self.piped, self.fed, self.is_fed = outer

    def _read_item(self, closer: str) -> bool:
        """Read one operator, line break or command; False at the end of the list."""
        self.skip_blanks()
        if self.position == len(self.text):
            if closer or self.opened:
                raise UnreadableError("a parenthesis or `case` that is not closed")
            return False
        if self.text[self.position] == "\n":
            self.take_line_break()
            self._end_pipeline()
            return True
        operator = _match_operator(self.text, self.position)
        if operator is None:
            self._read_command()
            return True
        self.position = operator.end()
        if operator.group() in ("|", "|&"):
            self.skip_lines()
            self.is_fed = self.is_fed or _match_compound(self.text, self.position) is not None
            self.piped = self.piped or [""]  # a group or a loop writes into it
            self.fed = self.fed if operator.group() == "|" else None
            return True
        self._end_pipeline()
        return self._take_operator(operator.group(), closer)

    def _take_operator(self, operator: str, closer: str) -> bool:
        match operator:
            case "(":
                self._open_parenthesis()
            case ")" if self.opened and self.opened[-1] == "(":
                self.opened.pop()
            case ")" if closer and not self.opened:
                return False
            case ";;" | ";&" | ";;&" if self.opened and self.opened[-1] == "case":
                self._read_case_patterns()
            case ";" | "&" | "&&" | "||":
                pass
            case _:
                raise UnreadableError("an operator where none can stand")
        return True

    def _end_pipeline(self) -> None:
        if len(self.piped) > 1:
            self.script.pipelines.append(" | ".join(self.piped))
            self.script.pipelines.extend(map(" | ".join, pairwise(self.piped)))
        self.piped.clear()
        self.fed = None

    def _open_parenthesis(self) -> None:
        if not self.text.startswith("(", self.position):
            self.opened.append("(")
            return
        # `((…))` calculates in bash. dash opens two subshells and runs what is in them, so it is read
        # as that, where both agree on what is in it.
        start = self.position + 1
        opened = 2
        self.position = start
        while opened:
            term = _match_arithmetic_term(self.text, self.position)
            if term is None or opened > MAX_DEPTH:
                raise UnreadableError("an arithmetic expression that is not plain")
            opened += {"(": 1, ")": -1}.get(term.group(), 0)
            self.position = term.end()
        if self.text[self.position - 2] != ")":
            raise UnreadableError("an arithmetic expression that is not plain")
        self.nest(self.text[start : self.position - 2]).read_list("")

    # --- compound commands -----------------------------------------------------------------------

    def _read_command(self) -> None:
        start = self.position
        if self.text[start] in "<>&" or _match_descriptor(self.text, start):
            self._read_simple(None, start)
            return
        word = self.read_word()
        if self.text[start] == "{" and word.text != "{":
            raise UnreadableError("a brace that shells read differently")
        if self.text[start : self.position] != word.text or not self._read_keyword(word.text):
            self._read_simple(word, start)

    def _read_keyword(self, word: str) -> bool:
        """Read what belongs to a reserved word; False when it is none."""
        match word:
            case _ if word in _CONTINUE:
                pass
            case "time":
                return self._read_time()
            case "for" | "select":
                self._read_for()
            case "case":
                self.skip_blanks()
                self.read_required_word()
                self.skip_lines()
                self._read_in()
                self.opened.append("case")
                self._read_case_patterns()
            case "esac" if self.opened and self.opened[-1] == "case":
                self.opened.pop()
            case "function":
                self._read_function()
            case "esac" | "coproc":
                raise UnreadableError(f"`{word}`")
            case _:
                return False
        return True

    def _read_time(self) -> bool:
        """Read the keyword's options; False when they are those of the program of that name.

        Behind `|`, and in sh, it always is that program, so it is a command too.
        """
        end = self.position
        self.skip_blanks()
        while option := _match_time_option(self.text, self.position):
            self.position = option.end()
            self.skip_blanks()
        if self.text.startswith("-", self.position):
            self.position = end
            return False
        self.script.commands.append(SimpleCommand((Word("time"),)))
        return True

    def _read_for(self) -> None:
        self.skip_blanks()
        if self.text.startswith("((", self.position):
            self.position += 2
            self.read_arithmetic(separators=";")
            return
        variable = _match_variable(self.text, self.position)
        if variable is None:
            raise UnreadableError("a loop without a plain variable")
        self.position = variable.end()
        self.script.commands.append(SimpleCommand((), assigns=True))
        self.skip_lines()
        if not _match_in(self.text, self.position):
            return
        self._read_in()
        self.skip_blanks()
        while self.position < len(self.text) and self.text[self.position] not in ";\n":
            word = self.read_required_word()
            if word.is_known:
                self.script.set_value(f"{variable.group()}={word.text}")
            self.skip_blanks()

    def _read_in(self) -> None:
        if not _match_in(self.text, self.position):
            raise UnreadableError("`case` without `in`")
        self.position += 2

    def _read_case_patterns(self) -> None:
        self.skip_lines()
        if _match_esac(self.text, self.position):
            return
        self.position += self.text.startswith("(", self.position)
        self._read_case_pattern()
        while self.text.startswith("|", self.position):
            self.position += 1
            self._read_case_pattern()
        if not self.text.startswith(")", self.position):
            raise UnreadableError("a `case` pattern without its parenthesis")
        self.position += 1

    def _read_case_pattern(self) -> None:
        self.skip_blanks()
        self.read_required_word()
        self.skip_blanks()

    def _read_function(self) -> None:
        self.skip_blanks()
        start = self.position
        self.read_word()
        if not _is_function_name(self.text[start : self.position]):
            raise UnreadableError("a function without a plain name")
        self._begin_function(self.text[start : self.position])
        self.skip_blanks()
        if self.text.startswith("(", self.position):
            self._read_empty_parentheses()

    def _begin_function(self, name: str) -> None:
        self.is_fed = True  # where it is called, a pipe may be before it
        if name in _WRITERS:
            raise UnreadableError(f"a function in place of `{name}`")

    def _read_empty_parentheses(self) -> None:
        self.position += 1
        self.skip_blanks()
        if not self.text.startswith(")", self.position):
            raise UnreadableError("a parenthesis within a command")
        self.position += 1

    # --- simple commands -------------------------------------------------------------------------

    def _read_simple(self, word: Word | None, start: int) -> None:
        """Read a command to its end; `word` is the one that began at `start`, if it was read already."""
        words: list[Word] = []
        assigns = False
        settings: list[str] = []
        unknown: list[str] = []
        inputs: list[Word] = []
        redirections: list[str] = []
        while True:
            if word is not None:
                if self.text[start : self.position] == "}":
                    raise UnreadableError("a brace that shells read differently")
                is_assignment = self._read_assignment(start)
                assigns = assigns or (is_assignment and not words)
                if is_assignment and not words:
                    (settings if word.is_known else unknown).append(word.text)
                if words or not is_assignment:
                    words.append(word)
            self.skip_blanks()
            start = self.position
            self.inputs, self.redirections = inputs, redirections  # a substitution has its own
            if self._read_redirection():
                word = None
            elif self.text[start : start + 1] in _COMMAND_ENDS:
                break
            elif self.text[start] != "(":
                word = self.read_word()
            elif len(words) == 1 and not assigns and _is_function_name(words[0].text):
                self._read_empty_parentheses()
                self._begin_function(words[0].text)
                return
            else:
                raise UnreadableError("a parenthesis within a command")
        if len(self.script.commands) == _MAX_COMMANDS:
            raise UnreadableError("more than 2000 commands")
        is_piped = self.is_fed or bool(self.piped)
        declared = words[1:] if words and words[0].text in _DECLARING else []
        if _declares_evaluated_list(declared):
            raise UnreadableError("a list of values that bash puts together when it declares a variable")
        for setting in (*settings, *(each.text for each in declared)):
            self.script.set_value(setting)
        if [word.text for word in words] in ([], ["exec"]):
            self.script.feeding.append(inputs)
        self.script.commands.append(
            SimpleCommand(
                tuple(words),
                assigns,
                inputs,
                is_piped,
                None if self.is_fed else self.fed,
                (*settings, *unknown) if words else settings,
                redirections,
                self.script.values,
            )
        )
        self.fed = None if redirections else self._find_written(words, inputs, is_piped=is_piped)
        self.piped.append(" ".join(word.text for word in words))

    def _find_written(
        self, words: Sequence[Word], inputs: list[Word], *, is_piped: bool
    ) -> Sequence[Word] | None:
        """Give the texts that a command writes, where the line says it: none where it writes a file's."""
        is_known = all(word.is_known for word in words)
        match [word.text for word in words]:
            case ["cat"] if not is_piped and (inputs or self.awaits_document_for(inputs)):
                return inputs
            case ["cat", *files] if files and is_known and not any(map(_is_no_file, files)):
                return ()
            case ["echo", *texts] if not any("\\" in text or text.startswith("-") for text in texts):
                return [Word(" ".join(texts), is_known)]
            case _:
                return None

    def _read_assignment(self, start: int) -> bool:
        """Say whether the word that began at `start` sets a variable, and read its values in parentheses."""
        if not _match_assignment(self.text, start, self.position):
            return False
        if self.text.startswith("=(", self.position - 1):
            name = self.text[start : self.position]
            values: list[str] = []
            self.position += 1
            self.skip_lines()
            while not self.text.startswith(")", self.position):
                if self.text.startswith("[", self.position):
                    self.check_subscript()
                values.append(self.read_required_word().text)
                self.skip_lines()
            self.script.set_value(name + " ".join(values))
            self.position += 1
            if self.text[self.position : self.position + 1] not in _WORD_ENDS:
                raise UnreadableError("a word that goes on behind a list of values")
        return True

    def _read_redirection(self) -> bool:
        descriptor = _match_descriptor(self.text, self.position)
        start = descriptor.end() if descriptor else self.position
        is_substitution = self.text.startswith(("<(", ">("), start)
        if descriptor and (is_substitution or len(descriptor.group()) > 1):
            raise UnreadableError("a file descriptor that shells read differently")
        redirection = _match_redirection(self.text, start)
        if redirection is None or is_substitution:
            return False
        self.position = redirection.end()
        self.skip_blanks()
        match redirection.group():
            case "<<" | "<<-":
                self.read_delimiter(strips_tabs=redirection.group() == "<<-")
            case "&>" | "&>>":
                redirections = self.redirections
                redirections.append(f"{redirection.group()} {self.read_required_word().text}")
                self.skip_blanks()
                if self.text[self.position : self.position + 1] not in _COMMAND_ENDS:
                    raise UnreadableError("a word behind `&>`, which begins a new command in sh")
            case "<<<":
                inputs = self.inputs
                inputs.append(self.read_required_word())
            case _:
                inputs, redirections = self.inputs, self.redirections
                word = self.read_required_word()
                redirections.append(f"{redirection.group()} {word.text}")
                is_input = "<" in redirection.group() or (descriptor and descriptor.group() == "0")
                if is_input and _is_stream(f"{redirection.group()}{word.text}"):
                    inputs.append(Word(word.text, is_known=False))
        return True


def _declares_evaluated_list(words: Sequence[Word]) -> bool:
    """Whether bash puts a list together that is given as a text: `declare -a 'a=($(id))'`."""
    is_list = any(_match_list_option(word.text) for word in words)
    return any(
        _match_evaluated_list(word.text) or (is_list and not word.is_known and "=" in word.text)
        for word in words
    )
