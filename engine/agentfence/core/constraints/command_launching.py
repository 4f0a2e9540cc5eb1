"""The commands that a program runs because its arguments say so: `sudo rm`, `sh -c 'rm'`, `find -exec`.

A program that is not listed here is only itself. Which programs run others is no closed list (editors,
interpreters, build tools): what a rule names in `allow_executables` may do what that program can do.

- An option that is not listed is refused: it may take the next word, and hide where the command begins.
- The same holds for words and scripts that the shell would put together first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.constraints.shell_words import UnreadableError, Word
from agentfence.core.values import field, frozen, slotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_PROGRAM_SUFFIXES = (".exe", ".cmd", ".bat", ".com")
_FOUND = Word("{}")
_STANDARD_INPUT = frozenset(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
_HIDDEN = "a program that runs another one, which cannot be seen"


@slotted
class Launched:
    """What one command runs besides itself."""

    commands: list[tuple[Word, ...]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    """Texts that are given to a shell."""
    assigns: bool = False
    """True when the commands get variables set."""
    is_unseen: bool = False
    """True when a shell reads what another command writes."""


@frozen
class _Options:
    """The options of a program, and the operands before the command that it runs."""

    flags: str = ""
    valued: str = ""
    long_flags: frozenset[str] = frozenset()
    long_valued: frozenset[str] = frozenset()
    operands: int = 0

    def skip(self, words: Sequence[Word]) -> int:
        """Give the position of the first operand.

        Raises:
            UnreadableError: an option is not known, or is put together by the shell.

        """
        position = 0
        while position < len(words):
            text = _text(words[position])
            if text == "--":
                return position + 1
            if not text.startswith("-") or (text == "-" and "-" not in self.flags):
                return position
            position += 1
            if self._takes_next(text):
                _check_known(words[position : position + 1])
                position += 1
        return min(position, len(words))

    def _takes_next(self, option: str) -> bool:
        if option.startswith("--"):
            name, is_given, _ = option[2:].partition("=")
            if name in self.long_valued:
                return not is_given
            if name in self.long_flags:
                return False
        for position, letter in enumerate(option[1:], start=2):
            if letter in self.valued:
                return position == len(option)
            if letter not in self.flags:
                raise UnreadableError("an option that may hide which program is run")
        return False


def _options(short: str = "", long: str = "", operands: int = 0) -> _Options:
    """Make options from letters and names, where `:` and `=` follow those that take a value."""
    names = long.split()
    return _Options(
        flags=re.sub("[^:]:", "", short),
        valued="".join(re.findall("([^:]):", short)),
        long_flags=frozenset(name for name in names if not name.endswith("=")),
        long_valued=frozenset(name[:-1] for name in names if name.endswith("=")),
        operands=operands,
    )


_PLAIN_PREFIXES = (
    "-", "nohup", "builtin", "busybox", "toybox", "unbuffer", "noglob", "nocorrect", "not", "and", "or",
    "chronic", "dbus-run-session", "call",
)  # fmt: skip
_PREFIXES: Mapping[str, _Options] = {
    "env": _options("-i0vu:C:", "ignore-environment null debug unset= chdir="),
    "sudo": _options(
        "AbEHknPSiC:D:g:h:p:R:T:u:", "preserve-env login non-interactive set-home user= group= chdir="
    ),
    "doas": _options("Lnu:C:"),
    "timeout": _options("vk:s:", "foreground preserve-status verbose kill-after= signal=", operands=1),
    "nice": _options("0123456789n:", "adjustment="),
    "ionice": _options("tc:n:", "ignore class= classdata="),
    "stdbuf": _options("i:o:e:", "input= output= error="),
    "setsid": _options("cfw", "ctty fork wait"),
    "time": _options("apvqlhf:o:", "append portability verbose quiet format= output="),
    "flock": _options("exnouFsw:E:", "shared exclusive nonblock unlock close wait= timeout=", operands=1),
    "chroot": _options("", "userspec= groups= skip-chdir", operands=1),
    "xargs": _options(
        "0rtxopI:L:n:P:s:d:E:a:",
        "null no-run-if-empty verbose exit interactive max-args= max-procs= max-lines= max-chars= delimiter= "
        "arg-file= replace= eof=",
    ),
    "command": _options("pvV"),
    "exec": _options("cla:"),
    "repeat": _options(operands=1),
    "parallel": _options(
        "0ktuvXmqj:P:I:a:n:N:L:d:C:S:", "keep-order dry-run jobs= delay= arg-file= max-args= colsep= joblog="
    ),
    "pkexec": _options("", "disable-internal-agent keep-cwd user="),
    "fakeroot": _options("l:s:i:b:u"),
    "caffeinate": _options("dimsut:w:"),
    "taskset": _options("ac", "all-tasks cpu-list", operands=1),
    "chrt": _options("bdfiorRT:P:D:", "batch fifo idle other rr reset-on-fork", operands=1),
    "unshare": _options("imnpuUCTfrc", "mount net pid user fork map-root-user mount-proc"),
    "strace": _options(
        "CcdDfFhiknqrtTvVwxyYzZa:b:e:E:I:o:O:p:P:s:S:u:U:X:", "follow-forks trace= output= string-limit="
    ),
    "ltrace": _options("bcfhiLrStTVe:o:l:n:p:s:u:x:a:A:D:F:"),
    "valgrind": _options(
        "qvh", "tool= leak-check= track-origins= show-leak-kinds= error-exitcode= log-file="
    ),
    "systemd-run": _options(
        "dGPqStrM:p:u:E:", "user system scope wait pipe pty unit= slice= property= setenv="
    ),
    "ifne": _options("n"),
    "wsl": _options("led:u:v", "list status shutdown version exec distribution= user= cd="),
    **dict.fromkeys(_PLAIN_PREFIXES, _options()),
}
_SETS_VARIABLES = frozenset(["env", "sudo", "doas"])
_ADDS_WORDS = frozenset(["xargs", "parallel"])
_SHELL = _options("abcefhiklmnprstuvxBCDEHPTo:O:", "login norc noprofile posix restricted rcfile= init-file=")
_SHELLS = frozenset(["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish", "csh", "tcsh"])
_EXPRESSIONS = frozenset(["iex", "invoke-expression"])
_REMOTE_SHELL = _options("46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:", operands=1)
_GIT = _options(
    "pPC:c:",
    "paginate no-pager bare no-replace-objects no-lazy-fetch no-optional-locks no-advice literal-pathspecs "
    "glob-pathspecs noglob-pathspecs icase-pathspecs exec-path git-dir= work-tree= namespace= super-prefix= "
    "config-env= attr-source=",
)
_WATCH = _options("bcdegtwxn:", "beep color differences errexit chgexit no-title exec interval=")

_is_short_option = re.compile(r"-[^-]").match
_ends_in_command = re.compile(r"-[a-zA-Z]+c").fullmatch
_is_spaced_setting = re.compile(r"\w+ ").match
_is_assignment = re.compile(r"[A-Za-z_]\w*=").match
_runs_value = re.compile(
    r"(?:.*\.)?(?:pager|editor|\w*command|fsmonitor|askpass|hookspath|gitproxy|external|textconv|cmd|helper"
    r"|program|clean|smudge|process|driver|uploadpack|receivepack)",
    re.IGNORECASE,
).fullmatch
_match_git_script = re.compile(
    r"--(?:exec|extcmd|upload-pack|receive-pack|open-files-in-pager|[a-z]+-filter)(?:=(.*))?", re.DOTALL
).fullmatch


def program_name(executable: str) -> str:
    """Give the name of a program without its folder and, as on Windows, its suffix, case and carets."""
    name = executable.replace("\\", "/").rpartition("/")[2].lower().replace("^", "")
    return name[:-4] if name.endswith(_PROGRAM_SUFFIXES) else name


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
    if name in _PREFIXES:
        return _launch_operands(name, words[1:])
    if name in _SHELLS:
        return _launch_shell(words[1:], inputs, is_piped=is_piped)
    if name in _EXPRESSIONS:
        return Launched(scripts=_script(words[1:]).scripts, is_unseen=is_piped)
    launch = _OTHERS.get(name)
    return launch(words[1:]) if launch else None


def _check_known(words: Iterable[Word]) -> None:
    if not all(word.is_known for word in words):
        raise UnreadableError(_HIDDEN)


def _text(word: Word) -> str:
    _check_known([word])
    return word.text


def _script(words: Sequence[Word]) -> Launched:
    return Launched(scripts=[" ".join(map(_text, words))] if words else [])


def _launch_operands(name: str, words: Sequence[Word]) -> Launched:
    options = _PREFIXES[name]
    start = first = options.skip(words)
    if name in _SETS_VARIABLES:
        while first < len(words) and _is_assignment(_text(words[first])):
            first += 1
    command = tuple(words[first + options.operands :])
    _check_known(words[start : first + options.operands])
    if command and command[0].text.startswith("-"):
        raise UnreadableError(_HIDDEN)
    if command and name in _ADDS_WORDS and not any(map(_is_replacement, words[:start])):
        command += (_FOUND,)
    return Launched(commands=[command] if command else [], assigns=first > start)


def _is_replacement(word: Word) -> bool:
    return word.text.startswith(("-I", "--replace"))


def _launch_shell(words: Sequence[Word], inputs: Sequence[Word], *, is_piped: bool) -> Launched:
    first = _SHELL.skip(words)
    letters = "".join(word.text for word in words[:first] if _is_short_option(word.text))
    operands = words[first:]
    if operands and operands[0].text.startswith("+"):
        raise UnreadableError(_HIDDEN)
    if "c" in letters:
        if not operands:
            raise UnreadableError(_HIDDEN)
        return _script(operands[:1])
    if operands and "s" not in letters and operands[0].text not in _STANDARD_INPUT:
        return Launched()  # a script in a file
    return Launched(scripts=[_text(text) for text in inputs], is_unseen=is_piped)


def _launch_sourced(words: Sequence[Word]) -> Launched:
    is_substitution = bool(words) and words[0].text.startswith("<(")
    return Launched(is_unseen=is_substitution)  # else a script in a file


def _launch_aliases(words: Sequence[Word]) -> Launched:
    return Launched(scripts=[_text(word).partition("=")[2] for word in words])


def _launch_trap(words: Sequence[Word]) -> Launched:
    if not words or _text(words[0]).startswith("-"):
        return Launched()
    return _script(words[:1])


def _launch_remote(words: Sequence[Word]) -> Launched:
    first = _REMOTE_SHELL.skip(words)
    launched = _script(words[first + 1 :])
    launched.scripts += _find_settings(words[:first], "-o")
    return launched


def _launch_watched(words: Sequence[Word]) -> Launched:
    return _script(words[_WATCH.skip(words) :])


def _launch_option_script(words: Sequence[Word]) -> Launched:
    """Read `su -c SCRIPT`, and programs like it."""
    launched = Launched()
    for position, word in enumerate(words):
        text = _text(word)
        if text in ("-c", "--command"):
            launched.scripts += map(_text, words[position + 1 : position + 2])
        elif text.startswith(("-c", "--command=")):
            launched.scripts.append(text.removeprefix("--command=").removeprefix("-c"))
        elif _ends_in_command(text):
            launched.scripts += map(_text, words[position + 1 : position + 2])
    return launched


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
    if command is not None:
        launched.commands.append(tuple(command))
    if any(not command or "{" in command[0].text for command in launched.commands):
        raise UnreadableError(_HIDDEN)
    return launched


def _launch_git(words: Sequence[Word]) -> Launched:
    launched = Launched(scripts=_find_settings(words, "-c"))
    texts = [word.text for word in words]
    for position, text in enumerate(texts):
        following = words[position + 1 :]
        if script := _match_git_script(text):
            launched.scripts += [script[1]] if script[1] is not None else map(_text, following[:1])
        elif text == "-x" and ("rebase" in texts or "difftool" in texts):
            launched.scripts += map(_text, following[:1])
        elif text == "run" and texts[position - 1 : position] == ["bisect"]:
            launched.commands.append(tuple(following))
        elif text == "foreach" and "submodule" in texts[:position]:
            launched.scripts += _script([word for word in following if word.text != "--recursive"]).scripts
        elif text.startswith("--config-env"):
            raise UnreadableError(_HIDDEN)
    return launched


def _find_settings(words: Sequence[Word], option: str) -> list[str]:
    """Give what is run by the values of `git -c NAME=VALUE` and `ssh -o NAME=VALUE`."""
    scripts: list[str] = []
    for position, word in enumerate(words):
        if not word.text.startswith(option):
            continue
        setting = word if word.text != option else next(iter(words[position + 1 :]), word)
        text = setting.text.removeprefix(option)
        name, _, value = text.partition(" " if _is_spaced_setting(text) else "=")
        if name.lower().startswith("alias."):
            scripts.append(value[1:] if value.startswith("!") else f"git {value}")
        elif _runs_value(name):
            scripts.append(value.removeprefix("!"))
        elif words[0].text.startswith("-") and "$" in name:
            raise UnreadableError(_HIDDEN)
    return scripts


def _launch_cmd(words: Sequence[Word]) -> Launched:
    for position, word in enumerate(words):
        switch = _text(word).lstrip("/-")
        if switch[:1].lower() in ("c", "k", "r") and switch != word.text:
            return _script([Word(switch[1:]), *words[position + 1 :]])
    return Launched()


def _launch_powershell(words: Sequence[Word]) -> Launched:
    operands: list[Word] = []
    for position, word in enumerate(words):
        option = _text(word).lower().lstrip("/-")
        if option == word.text.lower():
            operands.append(word)
        elif option == "ec" or "encodedcommand".startswith(option):
            raise UnreadableError(_HIDDEN)
        elif "command".startswith(option):
            return _script(words[position + 1 :])
    return _script(operands)


_OTHERS: Mapping[str, Callable[[Sequence[Word]], Launched]] = {
    "eval": _script,
    "alias": _launch_aliases,
    "source": _launch_sourced,
    ".": _launch_sourced,
    "trap": _launch_trap,
    "ssh": _launch_remote,
    "watch": _launch_watched,
    "find": _launch_found,
    "fd": _launch_found,
    "git": _launch_git,
    "cmd": _launch_cmd,
    "powershell": _launch_powershell,
    "pwsh": _launch_powershell,
    **dict.fromkeys(("su", "runuser", "script"), _launch_option_script),
}
