"""The commands that a program runs because its arguments say so: `sudo rm`, `sh -c 'rm'`, `find -exec`.

A program that is not listed here is only itself. Which programs run others is no closed list (editors,
interpreters, build tools): what a rule names in `allow_executables` may do what that program can do.

- An option that is not listed is refused: it may take the next word, and hide where the command begins.
- The same holds for words and scripts that the shell would put together first.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agentfence.core.constraints.command_launchers import (
    GNU,
    OPTION_SCRIPTS,
    PREFIXES,
    TERMINALS,
    VALUED_LETTERS,
)
from agentfence.core.constraints.command_options import HIDDEN, check_known, check_whole, known_text, options
from agentfence.core.constraints.command_places import find_inside
from agentfence.core.constraints.shell_words import UnreadableError, Word
from agentfence.core.values import field, slotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_PROGRAM_SUFFIXES = (".exe", ".cmd", ".bat", ".com")
_FOUND = Word("{}")
_MOST_SETTINGS = 32
_STANDARD_INPUT = frozenset(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/", "/dev/tcp/", "/dev/udp/")


@slotted
class Launched:
    """What one command runs besides itself."""

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Texts that are given to a shell."""
    inside: list[tuple[Word, ...]] = field(default_factory=list)
    """Commands that it runs in a place of its own: what may be denied, but need not be allowed again."""
    assigns: bool = False
    """True when the commands get variables set."""
    is_unseen: bool = False
    """True when a shell reads what another command writes."""

    def is_nothing(self) -> bool:
        """Whether the command runs nothing but itself."""
        return not (self.commands or self.scripts or self.inside or self.assigns or self.is_unseen)


_SETS_VARIABLES = frozenset(["env", "sudo", "doas", "cross-env"])
_STARTS_SHELL = frozenset(["sudo", "doas", "pkexec", "chroot", "unshare", "nsenter", "wsl", "fakeroot"])
"""Programs that start a shell where no command is given."""
_ADDS_WORDS = frozenset(["xargs", "parallel"])
_SHELL = options("abcefhiklmnprstuvxBCDEHPTo:O:", "login norc noprofile posix restricted rcfile= init-file=")
_SHELLS = frozenset(["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish", "csh", "tcsh", "nu"])
_READS_LINES = frozenset(["cmd", "powershell", "pwsh"])
_READS_SCRIPT = frozenset(["su", "script"])
"""Programs of whose options one holds a script, and that start a shell where it is not there."""
_READS_LATER = frozenset(["at", "batch"])
_VIEWERS = ("less", "more", "most", "vi", "vim", "nvim", "view", "ex", "gvim")
_EXPRESSIONS = frozenset(["iex", "invoke-expression"])
_REMOTE_SHELL = options("46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:", operands=1)
_GIT = options(
    "pPC:c:",
    "paginate no-pager bare no-replace-objects no-lazy-fetch no-optional-locks no-advice literal-pathspecs "
    "glob-pathspecs noglob-pathspecs icase-pathspecs exec-path git-dir= work-tree= namespace= super-prefix= "
    "config-env= attr-source=",
)
_LOADER = options("", "list verify library-path= preload= argv0= inhibit-cache audit= inhibit-rpath=")
_WATCH = options("bcdegtwxn:", "beep color differences errexit chgexit no-title exec interval=")

_SIGNS = {
    program: next(sign for sign in ("--", "-", "/", "") if all(name.startswith(sign) for name in names))
    for program, names in OPTION_SCRIPTS.items()
}
"""What all options of a program begin with that hold a command; nothing where they begin differently."""

_is_short_option = re.compile(r"-[^-]").match
_is_joined = re.compile(r"-[a-zA-Z0-9]{2,6}").fullmatch
_is_spaced_setting = re.compile(r"\w+ ").match
_without_expansions = re.compile(r"\$\{.*\}|\$\(.*\)|`.*`", re.DOTALL).sub
_match_named_path = re.compile(r".*/[\w+.-]*[\w+-]", re.DOTALL).fullmatch
_is_assignment = re.compile(r"[A-Za-z_]\w*=").match
_runs_value = re.compile(
    r"(?:.*\.)?(?:pager|editor|\w*command|fsmonitor|askpass|hookspath|gitproxy|external|textconv|\w*cmd|helper"
    r"|program|clean|smudge|process|driver|uploadpack|receivepack|\w*filter|\w*hook|smtpserver|tunnel|path|vcs"
    r"|httpd|browser|templatedir)|pager\..*|.*-invoke(?:::)?",
    re.IGNORECASE,
).fullmatch
_is_switch = re.compile(r"true|false|yes|no|on|off|auto|[0-9]*", re.IGNORECASE).fullmatch
_is_run_variable = re.compile(
    r"(?:\w+_)?(?:PAGER|EDITOR|ASKPASS|EXTERNAL_DIFF|COMMAND|CMD|WRAPPER|RUNNER)|VISUAL|BROWSER|SHELL"
    r"|LESSOPEN|LESSCLOSE|GIT_SSH|RSYNC_RSH|CVS_RSH|GIT_CONFIG_VALUE_\d+|BASH_ENV|PERL5DB|TERMINAL|OPENER"
).fullmatch
_HOLDS_OPTIONS = {"TAR_OPTIONS": "tar", "GIT_CONFIG_PARAMETERS": "git -c"}
"""Variables with options for a program."""
_is_prompt = re.compile("PS[0-4]|R?PROMPT[0-9]?").fullmatch
_has_substitution = re.compile(r"\$\(|`").search
_match_cmd_switches = re.compile(r"(?:[/-]+[a-z](?::\w+)?)*?[/-]+[ckr]", re.IGNORECASE).match
_find_transport = re.compile(r"(?:\A|[.=])ext::").search
_is_list = re.compile(r":::\+?|::::\+?").fullmatch
_is_plain_script = re.compile(r"[\w./:@%+=, -]*[\w./:@%+=,-]").fullmatch
_match_alias = re.compile(r"(?:-c)?alias\.([\w-]+)=(.+)", re.IGNORECASE | re.DOTALL).fullmatch
_is_bundle = re.compile("[A-Za-z]+").fullmatch


def program_name(executable: str) -> str:
    """Give a program's name without its folder and, as on Windows, its suffix, case, carets, `!` and `@`."""
    name = executable.replace("\\", "/").rpartition("/")[2].lower().replace("^", "").lstrip("!@")
    return name[:-4] if name.endswith(_PROGRAM_SUFFIXES) else name


def hides_program(words: Sequence[Word]) -> bool:
    """Whether nobody can say what the program of a command is called; `"$HOME/bin/x"` is `x`."""
    program = words[0]
    return not (program.is_known or (program.is_one and _match_named_path(program.text)))


def is_shell(executable: str) -> bool:
    """Whether a program runs what is written on its standard input, line by line."""
    return program_name(executable) in _SHELLS


def variable_script(assignment: str) -> str:
    """Give what is run because a variable is set to it, as by `PAGER=…`; empty where nothing is."""
    name, _, value = assignment.partition("=")
    if _is_prompt(name) and _has_substitution(value):
        return f": <<END_OF_PROMPT\n{value}\nEND_OF_PROMPT"
    if name in _HOLDS_OPTIONS:
        return f"{_HOLDS_OPTIONS[name]} {value}"
    is_run = _is_run_variable(name.rstrip("+")) and value != "*"  # as in `safe.directory` of git
    return value.lstrip("|-! ") if is_run else ""


def without_global_options(words: Sequence[Word]) -> Sequence[Word]:
    """Give a command of git as if it had no options before its subcommand; any other as it is."""
    if not words or program_name(words[0].text) != "git":
        return words
    try:
        return [words[0], *words[1 + _GIT.skip(words[1:]) :]]
    except UnreadableError:
        return words


def find_launched(
    words: Sequence[Word], inputs: Sequence[Word] = (), *, is_piped: bool = False
) -> Launched | None:
    """Give what a command runs besides itself; `inputs` are the texts on its standard input.

    `is_piped`: another command writes its standard input.

    Raises:
        UnreadableError: it runs something that cannot be seen.

    """
    if not words:
        return None
    name = program_name(words[0].text)
    name = name[1:] if name[1:] in GNU and name[0] == "g" else name
    launched = _find_outside(name, words[1:], inputs, is_piped=is_piped)
    if name in OPTION_SCRIPTS:
        launched = launched or Launched()
        if scripts := _find_option_scripts(name, words[1:]):
            launched.scripts += scripts
            launched.inside += with_more_words(scripts)
        launched.is_unseen = launched.is_unseen or (
            name in _READS_SCRIPT and (is_piped or bool(inputs)) and not launched.scripts
        )
    if inside := find_inside(name, words[1:]):
        launched = launched or Launched()
        launched.inside += inside
    return launched


def with_more_words(scripts: Iterable[str]) -> list[tuple[Word, ...]]:
    """Give the plain ones as commands that get words behind their own, as an editor gets a file."""
    return [(*map(Word, script.split()), _FOUND) for script in scripts if _is_plain_script(script)]


def _find_outside(
    name: str, words: Sequence[Word], inputs: Sequence[Word], *, is_piped: bool
) -> Launched | None:
    if name in PREFIXES or name.startswith(("ld-linux", "ld-musl", "ld.so")):
        return _launch_operands(name, words, inputs, is_piped=is_piped)
    if name in _SHELLS:
        return _launch_shell(words, inputs, is_piped=is_piped)
    if name in _EXPRESSIONS:
        return Launched(scripts=_script(words).scripts, is_unseen=is_piped)
    if name in ("source", "."):
        return _launch_sourced(words, inputs, is_piped=is_piped)
    if name in _READS_LATER:
        return Launched(scripts=[known_text(text) for text in inputs], is_unseen=is_piped)
    if name == "crontab":
        return Launched(is_unseen=is_piped or bool(inputs))
    if name in ("ssh", "autossh"):
        return _launch_remote(words, inputs, is_piped=is_piped)
    if name in TERMINALS:
        return _launch_terminal(words)
    launch = _OTHERS.get(name)
    launched = launch(words) if launch else None
    if launched and is_piped and name in _READS_LINES and launched.scripts in ([], ["-"]):
        launched.is_unseen = True
    return launched


def _script(words: Sequence[Word]) -> Launched:
    return Launched(scripts=[" ".join(map(known_text, words))] if words else [])


def _launch_operands(name: str, words: Sequence[Word], inputs: Sequence[Word], *, is_piped: bool) -> Launched:
    prefix = PREFIXES.get(name, _LOADER)
    start = first = prefix.skip(words)
    if name in _SETS_VARIABLES:
        while first < len(words) and _is_assignment(words[first].text):
            first += 1
    command = tuple(words[first + prefix.operands :])
    check_whole(words[start:first])
    check_known(words[first : first + prefix.operands])
    if any(variable_script(word.text) for word in words[start:first] if not word.is_known):
        raise UnreadableError(HIDDEN)
    if name == "command" and any(word.text.lower().startswith("-v") for word in words[:start]):
        return Launched()  # it only says where the program is
    if command and command[0].text.startswith("-"):
        raise UnreadableError(HIDDEN)
    scripts = [variable_script(word.text) for word in words[start:first]]
    if name == "parallel":
        command, lines, is_unseen = _split_at_lists(command, is_piped=is_piped)
        scripts += lines
    else:
        is_shell = not command and name in _STARTS_SHELL
        scripts += map(known_text, inputs if is_shell else ())
        is_unseen = is_shell and is_piped
    if command and name in _ADDS_WORDS:
        replaced = _find_replaced(words[:start])
        if (replaced or _FOUND.text) in command[0].text:
            raise UnreadableError(HIDDEN)
        command += () if replaced else (_FOUND,)
    return Launched(
        commands=[command] if command else [],
        scripts=list(filter(None, scripts)),
        assigns=first > start,
        is_unseen=is_unseen,
    )


def _split_at_lists(words: tuple[Word, ...], *, is_piped: bool) -> tuple[tuple[Word, ...], list[str], bool]:
    """Give the command of `parallel COMMAND ::: WORD`; or its lines, and whether it reads more."""
    texts = [word.text for word in words]
    lists = [position for position, text in enumerate(texts) if _is_list(text)]
    if not lists:
        return words, [], is_piped and not words
    lines = [known_text(word) for word in words[lists[0] + 1 :] if not _is_list(word.text)]
    is_read = lists[0] == 0 and any("::::" in texts[position] for position in lists)
    return words[: lists[0]], [] if lists[0] else lines, is_read


def find_placeholder(words: Sequence[Word]) -> str:
    """Give what stands in a command for what its program reads or finds; empty for other programs."""
    name = program_name(words[0].text)
    if name in _ADDS_WORDS:
        return _find_replaced(words[1 : 1 + PREFIXES[name].skip(words[1:])]) or _FOUND.text
    return _FOUND.text if _OTHERS.get(name) is _launch_found else ""


def _find_replaced(words: Sequence[Word]) -> str:
    """Give what `xargs -I` puts its input in place of; empty where it adds it behind the command."""
    for position, word in enumerate(words):
        if word.text.startswith("--replace"):
            return known_text(word).partition("=")[2] or "{}"
        if word.text.startswith("-I"):
            return known_text(word)[2:] or "".join(map(known_text, words[position + 1 : position + 2]))
    return ""


def _launch_shell(words: Sequence[Word], inputs: Sequence[Word], *, is_piped: bool) -> Launched:
    if words and words[0].is_one and "/" in _without_expansions("", words[0].text):
        return Launched()  # a script in a file: no shell has an option with a slash
    first = _SHELL.skip(words)
    letters = "".join(word.text for word in words[:first] if _is_short_option(word.text))
    operands = words[first:]
    if operands and operands[0].text.startswith("+"):
        raise UnreadableError(HIDDEN)
    if "c" in letters:
        if not operands:
            raise UnreadableError(HIDDEN)
        return _script(operands[:1])
    if operands and "s" not in letters and operands[0].text not in _STANDARD_INPUT:
        if operands[0].text.startswith(_DESCRIPTORS):
            raise UnreadableError(HIDDEN)
        return _in_file(operands)
    return Launched(scripts=[known_text(text) for text in inputs], is_unseen=is_piped)


def _launch_sourced(words: Sequence[Word], inputs: Sequence[Word], *, is_piped: bool) -> Launched:
    if words and words[0].text in _STANDARD_INPUT:
        return Launched(scripts=[known_text(text) for text in inputs], is_unseen=is_piped)
    if words and words[0].text.startswith(_DESCRIPTORS):
        raise UnreadableError(HIDDEN)
    if words and words[0].text.startswith("<("):
        return Launched(is_unseen=True)
    return _in_file(words)  # or for PowerShell a command


def _in_file(words: Sequence[Word]) -> Launched:
    """Give what `sh deploy.sh x` runs: a script in a file, denied where `deploy.sh x` is."""
    is_named = bool(words) and words[0].is_known and _FOUND.text not in words[0].text
    return Launched(inside=[tuple(words)] if is_named else [])


def _launch_aliases(words: Sequence[Word]) -> Launched:
    if any(word.text.startswith(("cat=", "echo=")) for word in words):
        raise UnreadableError(
            "an alias in place of `cat` or `echo`"
        )  # of which the line says what they write
    scripts = [known_text(word).partition("=")[2] for word in words]
    return Launched(scripts=scripts, inside=with_more_words(scripts))


def _launch_trap(words: Sequence[Word]) -> Launched:
    operands = words[1:] if words and words[0].text == "--" else words
    if not operands or (operands is words and known_text(operands[0]).startswith("-")):
        return Launched()
    return _script(operands[:1])


def _launch_remote(words: Sequence[Word], inputs: Sequence[Word], *, is_piped: bool) -> Launched:
    host = _REMOTE_SHELL.skip(words)
    first = host + 1 + _REMOTE_SHELL.skip(words[host + 1 :])  # options may stand behind the host too
    launched = _script(words[first:])
    if not launched.scripts:
        launched = Launched(scripts=[known_text(text) for text in inputs], is_unseen=is_piped)
    launched.scripts += _find_settings(words[:first], "-o")
    return launched


def _launch_copy(words: Sequence[Word]) -> Launched:
    return Launched(scripts=_find_settings(words, "-o"))


def _launch_viewed(words: Sequence[Word]) -> Launched | None:
    """Read `less +!COMMAND` and `vim -c ":!COMMAND"`."""
    given = [word for word in words if word.text.startswith("+")]
    given += [value for option, value in pairwise(words) if option.text in ("-c", "--cmd")]
    scripts = [known_text(word).partition("!")[2] for word in given if "!" in word.text]
    return Launched(scripts=scripts) if scripts else None


def _launch_terminal(words: Sequence[Word], options: Sequence[str] = ("-e", "-x", "--")) -> Launched:
    for position, word in enumerate(words):
        if word.text in options:
            return Launched(commands=[tuple(words[position + 1 :])] if words[position + 1 :] else [])
    return Launched()


def _launch_as_user(words: Sequence[Word]) -> Launched:
    behind = [position for position, word in enumerate(words) if word.text == "--"]
    command = tuple(words[behind[0] + 1 :]) if behind else ()
    return Launched(commands=[command] if command else [])


def _launch_exports(words: Sequence[Word]) -> Launched:
    return Launched(
        scripts=list(filter(None, (variable_script(word.text) for word in words if word.is_known)))
    )


def _launch_watched(words: Sequence[Word]) -> Launched:
    return _script(words[_WATCH.skip(words) :])


def _find_option_scripts(program: str, words: Sequence[Word]) -> list[str]:
    """Give what options like `su -c SCRIPT` and `tar --to-command=PROGRAM` hold."""
    words = _without_bundle(words) if program == "tar" else words
    names = OPTION_SCRIPTS[program]
    sign = _SIGNS[program]
    scripts: list[str] = []
    for position, word in enumerate(words):
        for name in names if word.text.startswith(sign) else ():
            value = _option_value(name, word.text, words[position + 1 : position + 2], program)
            if value is not None:
                scripts.append(known_text(value).removeprefix("exec="))
                break
    return list(filter(None, scripts))


def _without_bundle(words: Sequence[Word]) -> Sequence[Word]:
    """Give the words of `tar cIf zstd a.tar` as `-c -I zstd -f a.tar`."""
    if not words or not _is_bundle(words[0].text):
        return words
    values = iter(words[1:])
    options: list[Word] = []
    for letter in words[0].text:
        options.append(Word(f"-{letter}"))
        if letter in VALUED_LETTERS["tar"] and (value := next(values, None)):
            options.append(value)
    return [*options, *values]


def _option_value(name: str, text: str, following: Sequence[Word], program: str) -> Word | None:
    next_word = following[0] if following else Word("")
    if name.endswith(("=", ":")):
        return Word(text[len(name) :]) if text.lower().startswith(name) else None
    if name.startswith("/"):
        return next_word if text.lower() == name else None
    if name.startswith("--") or len(name) > len("-x"):
        option, is_given, value = text.partition("=")
        stem, _, rest = name.partition("(")
        option = option if name.startswith("--") else option.replace("--", "-", 1)
        is_named = option.startswith(stem) and (stem + rest).startswith(option)
        return (Word(value) if is_given else next_word) if is_named else None
    if text.startswith(name):
        return Word(text[2:]) if text[2:] else next_word
    if program in VALUED_LETTERS and _is_short_option(text):
        return _value_in_cluster(name[1], text, next_word, VALUED_LETTERS[program])
    is_last = _is_joined(text) and text.endswith(name[1])
    return next_word if is_last else None


def _value_in_cluster(wanted: str, text: str, next_word: Word, valued: str) -> Word | None:
    for position, letter in enumerate(text[1:], start=2):
        if letter == wanted:
            return Word(text[position:]) if text[position:] else next_word
        if letter in valued:
            return None
    return None


def _launch_found(words: Sequence[Word]) -> Launched:
    """Read `find -exec COMMAND ;`, and `fd --exec COMMAND`."""
    launched = Launched()
    command: list[Word] | None = None
    for word in words:
        if command is not None and (word.text == ";" or (word.text == "+" and command[-1:] == [_FOUND])):
            launched.commands.append(tuple(command))
            command = None
        elif command is not None:
            command.append(word)
        elif word.text in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            command = []
        elif word.text.startswith(("--exec=", "--exec-batch=")):
            command = [Word(word.text.partition("=")[2], word.is_known)]
    if command is not None:
        launched.commands.append(tuple(command))
    if any(not command or "{" in command[0].text for command in launched.commands):
        raise UnreadableError(HIDDEN)
    return launched


def _launch_git(words: Sequence[Word]) -> Launched:
    launched = Launched(scripts=_find_settings(words, "-c"))
    texts = [word.text for word in words]
    for position, text in enumerate(texts):
        following = words[position + 1 :]
        if text == "-x" and ("rebase" in texts or "difftool" in texts):
            launched.scripts += map(known_text, following[:1])
        elif text == "run" and texts[position - 1 : position] == ["bisect"]:
            launched.commands.append(tuple(following))
        elif text == "foreach" and "submodule" in texts[:position]:
            launched.scripts += _script([word for word in following if word.text != "--recursive"]).scripts
        elif text.startswith("--config-env"):
            raise UnreadableError(HIDDEN)
        elif transport := _find_transport(text):
            launched.scripts.append(text[transport.end() :])
        elif text == "-u" and "clone" in texts[:position]:
            launched.scripts += map(known_text, following[:1])
        elif text.startswith("-O") and "grep" in texts[:position]:
            launched.scripts += [text[2:]] if text[2:] else []
    if "config" in texts:
        launched.scripts += _find_kept_settings(texts[texts.index("config") + 1 :])
    if len(launched.scripts) > _MOST_SETTINGS:
        raise UnreadableError(HIDDEN)
    if launched.scripts:
        launched.inside += [*with_more_words(launched.scripts), *_find_aliased(words)]
    return launched


def _find_aliased(words: Sequence[Word]) -> Iterator[tuple[Word, ...]]:
    """Give `git push --force` for `git -c alias.p=push p --force`."""
    texts = [word.text for word in words]
    for alias in filter(None, map(_match_alias, texts)):
        name, value = alias.groups()
        if name in texts:
            program = value[1:] if value.startswith("!") else f"git {value}"
            yield (*map(Word, program.split()), *words[texts.index(name) + 1 :])


def _find_kept_settings(texts: Sequence[str]) -> list[str]:
    """Give what is run later by `git config NAME VALUE`."""
    return [script for pair in pairwise(texts) for script in _find_settings([Word("=".join(pair))], "")]


def _find_settings(words: Sequence[Word], option: str) -> list[str]:
    """Give what is run by the values of `git -c NAME=VALUE` and `ssh -o NAME=VALUE`."""
    scripts: list[str] = []
    for position, word in enumerate(words):
        if not word.text.startswith(option):
            continue
        setting = word if not option or word.text != option else next(iter(words[position + 1 :]), word)
        text = setting.text.removeprefix(option)
        name, _, value = text.partition(" " if _is_spaced_setting(text) else "=")
        if name.lower().startswith("alias."):
            scripts.append(value[1:] if value.startswith("!") else f"git {value}")
        elif (_runs_value(name) and not _is_switch(value)) or value.startswith("!"):
            scripts.append(value.removeprefix("!"))
        elif words[0].text.startswith("-") and "$" in name:
            raise UnreadableError(HIDDEN)
    return scripts


def _launch_cmd(words: Sequence[Word]) -> Launched:
    for position, word in enumerate(words):
        switches = _match_cmd_switches(known_text(word))
        if switches:
            return _script([Word(word.text[switches.end() :]), *words[position + 1 :]])
    return Launched()


def _launch_start(words: Sequence[Word]) -> Launched:
    operands = list(words)
    while operands and (not operands[0].text or operands[0].text.startswith("/")):
        operands.pop(0)
    return Launched(commands=[tuple(operands)] if operands else [])


def _launch_run_as(words: Sequence[Word]) -> Launched:
    return _script(words[-1:])


def _launch_powershell(words: Sequence[Word]) -> Launched:
    operands: list[Word] = []
    for position, word in enumerate(words):
        option = known_text(word).lower().lstrip("/-")
        if option == word.text.lower():
            operands.append(word)
        elif option == "ec" or "encodedcommand".startswith(option):
            raise UnreadableError(HIDDEN)
        elif "command".startswith(option):
            return _script(words[position + 1 :])
    return _script(operands)


_OTHERS: Mapping[str, Callable[[Sequence[Word]], Launched | None]] = {
    "eval": _script,
    "alias": _launch_aliases,
    "trap": _launch_trap,
    **dict.fromkeys(("scp", "sftp", "sshfs", "ssh-copy-id", "apt", "apt-get", "aptitude"), _launch_copy),
    **dict.fromkeys(_VIEWERS, _launch_viewed),
    "start": _launch_start,
    "runas": _launch_run_as,
    "watch": _launch_watched,
    "find": _launch_found,
    "fd": _launch_found,
    "fdfind": _launch_found,
    "git": _launch_git,
    "nix": lambda words: _launch_terminal(words, ("-c", "--command")),
    "cmd": _launch_cmd,
    "powershell": _launch_powershell,
    "pwsh": _launch_powershell,
    "runuser": _launch_as_user,
    "export": _launch_exports,
}
