"""What a rule says of one command line or argument list.

A line is read (`plain_words` or `shell_reading`), each command in it is followed into what it runs
(`command_launching`), and all that was found is held to the lists.

- A deny pattern holds for the raw line, each pipeline and each command, also when written with another
  path, case or quotes.
- An entry of `allow` without wildcards covers its command and what its words say that it runs. With
  wildcards it covers the command alone; what `sudo *` or `sh -c *` runs must be on the list too.
- Shell syntax beyond what `syntax` allows is a matter of the allow list, so that a rule's `otherwise`
  may ask a person, as long as the line can be read for certain and nothing in it is denied. What
  cannot be read is refused.
"""

from __future__ import annotations

import re
from contextlib import suppress
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from agentfence.core.constraints.command_guesses import find_guesses, is_interpreter, runs_unseen
from agentfence.core.constraints.command_known import is_caseless
from agentfence.core.constraints.command_launching import (
    Launched,
    find_launched,
    find_placeholder,
    hides_program,
    is_shell,
    program_name,
    variable_script,
    with_more_words,
    without_global_options,
)
from agentfence.core.constraints.command_rewording import reword
from agentfence.core.constraints.folding import fold_text
from agentfence.core.constraints.plain_words import UNSAFE_CHARACTER, read_plain_commands
from agentfence.core.constraints.shell_reading import Script, SimpleCommand, read_shell
from agentfence.core.constraints.shell_words import UnreadableError, Word
from agentfence.core.values import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from agentfence.core.constraints.command_guesses import Guesses
    from agentfence.core.constraints.command_patterns import AllowedCommands, DeniedCommands
    from agentfence.core.constraints.globs import Glob

    type ReadScript = Callable[[str], Script | str]

_MAX_LENGTH = 65_536
_MAX_SCRIPT = 16_384  # an `eval` of an `eval` reads its text again
_MAX_LAUNCHES = 8
_MAX_GUESSES = 200
_MAX_REWORDED = 4_000
_TOO_LONG = f"has more than {_MAX_LENGTH} characters"
_UNKNOWN_PROGRAM = "runs a program that is not written out: it is put together first, or read"
_UNSEEN = "has a shell or an interpreter run what another command writes, which cannot be seen"
_OPERATORS = frozenset(["|", "|&", "||", "&", "&&", ";", ";;", "(", ")", "\n"])
# What starts another command, or sends output elsewhere, where a server joins a list into a line.
_is_one_word = re.compile(r"[^\s;&|<>`$()]*").fullmatch
_split_line = re.compile(r"[;&|\n]").split
_holds_cmd_variable = re.compile(r"%\w[^%]*%|!\w+!").search
_has_active = re.compile(r"[;&|<>`$\x00-\x1f\x7f]").search


class Syntax(StrEnum):
    """How much of the shell's language a line may use."""

    NONE = "none"
    PIPES = "pipes"
    ANY = "any"


@frozen
class Problem:
    """Why a command is refused; completes the sentence "argument `x` …"."""

    code: str
    reason: str
    allow_list: bool = False


@frozen
class Command:
    """One command, and those that it runs."""

    words: tuple[Word, ...]
    assigns: bool = False
    has_input: bool = False
    launched: tuple[Command, ...] = ()
    pipelines: tuple[str, ...] = ()
    """Those in the scripts that it runs."""
    is_unseen: bool = False
    """True when it runs what another command writes."""
    interprets_unseen: bool = False
    """True when it is an interpreter that does, which is a matter of deny lists alone."""
    inside: tuple[Command, ...] = ()
    """What it runs in a place of its own, where only deny lists look."""
    redirections: tuple[str, ...] = ()
    reworded: tuple[tuple[Word, ...], ...] = ()
    """What a shell may make of its words, where it puts some together."""
    guessed: tuple[Command, ...] = ()
    """What it may run, where nobody can say for certain; like `guesses` a matter of deny lists alone."""
    guesses: Guesses | None = None

    def walk(self) -> Iterator[Command]:
        """Give the command, and all that it runs in turn."""
        yield self
        for command in (*self.launched, *self.inside):
            yield from command.walk()

    def walk_listed(self) -> Iterator[Command]:
        """Give the command, and what it runs that must be allowed too."""
        yield self
        for command in self.launched:
            yield from command.walk_listed()


@frozen
class CommandRules:
    """The compiled lists of one `command` block."""

    syntax: Syntax
    allowed: AllowedCommands | None = None
    executables: frozenset[str] | None = None
    denied: DeniedCommands | None = None
    is_posix: bool = False
    """Whether the server's shell is known to be of the POSIX family."""

    def judge_line(self, line: str) -> Problem | None:
        """Say what is wrong with a command line."""
        is_spelt_out = self._is_spelt_out(line)
        if is_spelt_out and not self.denied:
            return None
        if len(line) > _MAX_LENGTH:
            return Problem("command_syntax", _TOO_LONG)
        spellings = [line, " ".join(line.split()), *_windows_spellings(line)] if self.denied else []
        if problem := self._find_denied(spellings):
            return problem
        script = self._read(line)
        problem = self._judge_refused(line, script) if isinstance(script, str) else self._judge_script(script)
        return None if is_spelt_out and problem and problem.allow_list else problem

    def judge_list(self, texts: Sequence[str]) -> Problem | None:
        """Say what is wrong with a program and its arguments, given as a list."""
        if sum(map(len, texts)) + len(texts) > _MAX_LENGTH:
            return Problem("command_syntax", _TOO_LONG)
        if self.denied and (problem := self._find_denied([" ".join(texts), *texts])):
            return problem
        if self.denied and (problem := self._find_denied_in_joined(texts)):
            return problem
        if any("\0" in text for text in texts):
            return Problem("command_syntax", "holds a NUL character")
        if self.syntax is Syntax.ANY:
            return self._judge_script(Script([_as_command(part) for part in _split_at_operators(texts)]))
        is_spelt_out = self.allowed is not None and tuple(texts) in self.allowed.commands
        if not is_spelt_out and any(map(_has_active, texts)):
            reason = f"holds a shell operator in its list, which `syntax: {self.syntax}` does not allow"
            return self._refuse(reason, Script([_as_command(part) for part in _split_at_operators(texts)]))
        return self._judge_script(Script([_as_command(texts)]))

    def _find_denied_in_joined(self, texts: Sequence[str]) -> Problem | None:
        """Say what is denied where a server joins a list whose program is itself a line to one line."""
        if not texts or _is_one_word(texts[0]):
            return None
        from shlex import quote  # hardly any list needs it

        script = read_shell(" ".join([texts[0], *map(quote, texts[1:])]))
        # The first word may also be a path with blanks, so no program of no table is to be seen in it.
        commands = (
            script if isinstance(script, str) else self._follow_script(script, read_shell, is_guess=True)
        )
        return None if isinstance(commands, str) else self._find_denied_in([], commands)

    def _is_spelt_out(self, line: str) -> bool:
        """Whether an entry of `allow` is this very line, and no other allow list asks more."""
        return self.allowed is not None and line in self.allowed.lines and self.executables is None

    def _read(self, text: str) -> Script | str:
        if self.syntax is Syntax.ANY:
            return read_shell(text)
        commands = read_plain_commands(text, pipes=self.syntax is Syntax.PIPES, posix=self.is_posix)
        if isinstance(commands, str):
            return commands
        piped = [_as_command(words, is_piped=index > 0) for index, words in enumerate(commands)]
        return Script(piped, _join_pipelines(commands))

    def _judge_refused(self, line: str, obstacle: str) -> Problem:
        """Say why a line is refused that has more syntax than the rule allows."""
        if self.syntax is Syntax.ANY:
            return Problem("command_syntax", f"cannot be read for certain: it has {obstacle}")
        reason = f"has {obstacle}, which `syntax: {self.syntax}` does not allow"
        return self._refuse(reason, obstacle if obstacle == UNSAFE_CHARACTER else read_shell(line))

    def _refuse(self, reason: str, script: Script | str) -> Problem:
        """Refuse what a person may still allow, unless it is denied or cannot be read."""
        commands = script if isinstance(script, str) else self._follow_script(script, read_shell)
        if isinstance(script, str) or isinstance(commands, str) or _hide_program(commands):
            return Problem("command_syntax", reason)
        problem = self._find_denied_in(script.pipelines, commands)
        return problem or Problem("command_syntax", reason, allow_list=True)

    def _judge_unfollowed(self, obstacle: str, script: Script) -> Problem:
        """Say why a line is refused that runs what cannot be seen, or more syntax than the rule allows."""
        if self.syntax is Syntax.ANY or isinstance(self._follow_script(script, read_shell), str):
            return Problem("command_syntax", f"cannot be read for certain: it has {obstacle}")
        return self._refuse(f"has {obstacle}, which `syntax: {self.syntax}` does not allow", script)

    def _judge_script(self, script: Script) -> Problem | None:
        if self.executables is None and not self.denied and self._are_spelt_out(script.commands):
            return None
        commands = self._follow_script(script, self._read)
        if isinstance(commands, str):
            return self._judge_unfollowed(commands, script)
        if problem := self._find_denied_in(script.pipelines, commands):
            return problem
        if _hide_program(commands):
            return Problem("command_syntax", _UNKNOWN_PROGRAM)
        return self._find_unlisted(commands) or self._find_unseen(commands)

    def _follow_script(
        self, script: Script, read: ReadScript, *, is_guess: bool = False
    ) -> list[Command] | str:
        """Give the commands with all that they run; or, as a text, what of that cannot be seen."""
        most_values = max(map(len, script.values.values()), default=0) if script.values else 0
        if len(script.commands) * most_values > _MAX_REWORDED and self.denied:
            return "more commands and values of variables than can be looked through"
        try:
            return [_follow(each, read, 0, self.denied, is_guess=is_guess) for each in script.commands]
        except UnreadableError as problem:
            return str(problem)

    def _are_spelt_out(self, commands: Iterable[SimpleCommand]) -> bool:
        return self.allowed is not None and all(
            tuple(word.text for word in command.words) in self.allowed.commands
            and not (command.assigns or command.inputs or command.is_piped)
            and all(word.is_known for word in command.words)
            for command in commands
        )

    def _find_denied_in(self, pipelines: Iterable[str], commands: Sequence[Command]) -> Problem | None:
        if not self.denied:
            return None
        every = list(_walk_guesses(commands))
        texts = [*pipelines, *(text for command in every for text in _spellings(command))]
        lines = [command.guesses.line for command in every if command.guesses]
        return _find_match(self.denied.patterns, texts) or _find_match(
            self.denied.anywhere, filter(None, lines)
        )

    def _find_denied(self, texts: Iterable[str]) -> Problem | None:
        return _find_match(self.denied.patterns, texts) if self.denied else None

    def _find_unlisted(self, commands: Sequence[Command]) -> Problem | None:
        if self.executables is None and self.allowed is None:
            return None
        every = [each for command in commands for each in command.walk_listed()]
        if any(command.assigns for command in every):
            reason = "sets a variable, which can change what a command does"
            return Problem("command_syntax", reason, allow_list=True)
        if self.executables is not None and not all(map(self._is_listed, every)):
            reason = "runs a program that is not in `allow_executables`"
            return Problem("command_executable_not_allowed", reason, allow_list=True)
        if self.allowed is not None and not all(map(self._is_allowed, commands)):
            reason = "runs a command that `allow` does not cover"
            return Problem("command_not_allowed", reason, allow_list=True)
        return None

    def _find_unseen(self, commands: Sequence[Command]) -> Problem | None:
        has_allow_list = self.allowed is not None or self.executables is not None
        if not any(
            command.is_unseen or (command.interprets_unseen and not has_allow_list)
            for command in _walk(commands)
        ):
            return None
        return Problem("command_syntax", _UNSEEN, allow_list=has_allow_list)

    def _is_listed(self, command: Command) -> bool:
        return bool(self.executables and command.words and command.words[0].text in self.executables)

    def _is_allowed(self, command: Command) -> bool:
        if self.allowed is None or not all(word.is_known for word in command.words):
            return False
        words = tuple(word.text for word in command.words)
        is_spelt_out = words in self.allowed.commands
        if is_spelt_out and not command.has_input:
            return True
        if not is_spelt_out and not self.allowed.matches_pattern(words):
            return False
        return all(map(self._is_allowed, self._find_unspelt(command)))

    def _find_unspelt(self, command: Command) -> Iterator[Command]:
        """Give what a command runs of which no entry that covers the command says so in so many words.

        `sudo systemctl restart *` names the program that `sudo` runs, `rsync -e ssh **` the one of its
        option, and `sudo *` names none.
        """
        words = tuple(word.text for word in command.words)
        spelt = self.allowed.find_spelt(words) if self.allowed and command.launched else ()
        waiting = list(command.launched)
        while waiting:
            launched = waiting.pop()
            texts = tuple(word.text for word in launched.words)
            if texts and any(_begins(words, each, texts) for each in spelt):
                waiting += launched.launched
            else:
                yield launched


def _begins(words: Sequence[str], position: int, command: Sequence[str]) -> bool:
    """Whether a command stands at a position among words, or at the end of the one that is there."""
    written = command[:-1] if command[-1] == "{}" else command  # which `xargs` adds
    behind = words[position : position + len(command)]
    is_there = behind in (tuple(command), tuple(written))
    return is_there or words[position].endswith(" ".join(command))


def _find_match(patterns: Iterable[Glob], texts: Iterable[str]) -> Problem | None:
    for text in texts:
        for pattern in patterns:
            if pattern.matches(text):
                return Problem("command_denied", f"is denied by pattern `{pattern.pattern}`")
    return None


def _as_command(words: Sequence[str], *, is_piped: bool = False) -> SimpleCommand:
    return SimpleCommand(tuple(map(Word, words)), is_piped=is_piped)


def _join_pipelines(commands: Sequence[Sequence[str]]) -> list[str]:
    if len(commands) == 1:
        return []
    lines = [" ".join(words) for words in commands]
    return [" | ".join(lines), *map(" | ".join, pairwise(lines))]


def _split_at_operators(texts: Sequence[str]) -> list[list[str]]:
    """Give the commands in a list: some servers take a lone `;` or `|` in it for the operator."""
    commands: list[list[str]] = [[]]
    for text in texts:
        if text in _OPERATORS:
            commands.append([])
        else:
            commands[-1].append(text)
    return commands


def _follow(
    command: SimpleCommand,
    read: ReadScript,
    depth: int,
    denied: DeniedCommands | None,
    *,
    is_guess: bool = False,
) -> Command:
    if command.fed is not None:
        command = _as_fed(command, command.fed)
    launched = find_launched(command.words, command.inputs, is_piped=command.is_piped)
    settings = [script for script in map(variable_script, command.settings) if script]
    followed = Command(
        command.words,
        command.assigns,
        bool(command.inputs),
        redirections=tuple(command.redirections),
        reworded=tuple(reword(command.words, command.values)) if denied else (),
        interprets_unseen=launched is None and runs_unseen(command.words, is_piped=command.is_piped),
    )
    is_likely = not is_guess or (bool(command.words) and is_interpreter(command.words[0].text))
    if launched is None and denied and is_likely:  # a guess of a guess would be any text
        followed = _guess(followed, command, depth, denied)
    if not settings and (launched is None or launched.is_nothing()):
        return followed
    if depth >= _MAX_LAUNCHES:
        raise UnreadableError("too many programs that run programs")
    launched = launched or Launched()
    launched.scripts += settings
    launched.inside += with_more_words(settings)
    bare = replace(command, assigns=False, settings=(), redirections=())
    inner = [replace(bare, words=words, assigns=launched.assigns) for words in launched.commands]
    scripts = [_read_script(text, read) for text in launched.scripts]
    has_input = bool(command.inputs) or command.is_piped
    inner += [
        replace(each, is_piped=each.is_piped or has_input) for script in scripts for each in script.commands
    ]
    inside = [replace(bare, words=words) for words in (launched.inside if denied else ())]
    return replace(
        followed,
        launched=tuple(_follow(each, read, depth + 1, denied, is_guess=is_guess) for each in inner),
        pipelines=tuple(pipeline for script in scripts for pipeline in script.pipelines),
        is_unseen=launched.is_unseen,
        inside=tuple(_follow(each, read_shell, depth + 2, denied) for each in inside),
    )


def _as_fed(command: SimpleCommand, fed: Sequence[Word]) -> SimpleCommand:
    """Give a shell or an interpreter with what is piped into it as a text, where the line says it.

    An interpreter may also read a file that way, as it may be given one; of a shell that is not known.
    """
    if not command.words or not all(word.is_known for word in fed):
        return command
    program = command.words[0].text
    if not (is_interpreter(program) or (fed and is_shell(program))):
        return command
    return replace(command, inputs=(*command.inputs, *fed), is_piped=False)


def _guess(followed: Command, command: SimpleCommand, depth: int, denied: DeniedCommands) -> Command:
    """Add what a command may run, as far as it may be denied and can be read."""
    words, inputs = command.words, command.inputs
    if depth >= _MAX_LAUNCHES or not any(denied.may_hold(word.text) for word in (*words, *inputs)):
        return followed
    first = words[0].text if words else ""
    guesses = find_guesses(first if " " in first else program_name(first), words[1:], inputs)
    if guesses is None or not words:
        return followed
    texts = [text for text in guesses.texts if denied.may_hold(text)]
    if len(texts) > _MAX_GUESSES:
        raise UnreadableError("many texts that may be commands which are denied")
    scripts = [script for script in map(read_shell, texts) if isinstance(script, Script)]
    guessed: list[Command] = []
    for script in scripts:
        with suppress(UnreadableError):
            guessed += [
                _follow(each, read_shell, depth + 2, denied, is_guess=True) for each in script.commands
            ]
    pipelines = tuple(pipeline for script in scripts for pipeline in script.pipelines)
    return replace(followed, guesses=guesses, guessed=tuple(guessed), pipelines=pipelines)


def _read_script(text: str, read: ReadScript) -> Script:
    script = f"more than {_MAX_SCRIPT} characters" if len(text) > _MAX_SCRIPT else read(text)
    if isinstance(script, str):
        raise UnreadableError(f"{script} in a script that it runs")
    return script


def _walk(commands: Iterable[Command]) -> Iterator[Command]:
    for command in commands:
        yield from command.walk()


def _walk_guesses(commands: Iterable[Command]) -> Iterator[Command]:
    """Give the commands, all that they run, and all that they may run."""
    for command in _walk(commands):
        yield command
        yield from _walk_guesses(command.guessed)


def _hide_program(commands: Iterable[Command]) -> bool:
    return any(_hides_program(command) for command in _walk(commands) if command.words)


def _hides_program(command: Command) -> bool:
    if (not command.words[0].is_known and hides_program(command.words)) or _holds_cmd_variable(
        command.words[0].text
    ):
        return True
    # `xargs env` runs what it reads.
    placeholder = find_placeholder(command.words) if command.launched else ""
    return placeholder != "" and any(
        placeholder in each.words[0].text for each in _walk(command.launched) if each.words
    )


def _windows_spellings(line: str) -> Iterator[str]:
    """Give the commands of a line in which a backslash is no escape, with the plain names of programs."""
    if "\\" not in line:
        return
    for piece in _split_line(line):
        program, *rest = piece.split(None, 1) or [""]
        if "\\" in program:
            yield " ".join([program_name(program), *rest])


def _spellings(command: Command) -> Iterator[str]:
    """Give a command as a text, as it is and with the plain name of its program; and inner pipelines."""
    yield from command.pipelines
    if command.guesses:
        yield from command.guesses.texts
    if command.redirections:
        yield " ".join([*(word.text for word in command.words), *command.redirections])
    for words in (command.words, *command.reworded) if command.words else ():
        first, *rest = (word.text for word in words)
        yield " ".join([first, *rest])
        if (name := fold_text(program_name(first))) != first:
            yield " ".join([name, *rest])
        if is_caseless(name):
            yield " ".join([name, *rest]).lower()
        if len(plain := without_global_options(words)) <= len(rest):
            yield " ".join([name, *(word.text for word in plain[1:])])
