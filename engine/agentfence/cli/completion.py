"""`agentfence completion`: print what completes command lines in bash, zsh or fish.

The scripts hold every verb, option and word, so that completing starts no Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.cli.commands import all_commands

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from agentfence.cli.commands import Command, Option

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="for which shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script; give the exit status."""
    print(script_for(arguments.shell))
    return 0


def script_for(shell: str) -> str:
    """Give the script of one of `SHELLS`."""
    commands = all_commands()
    lines = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)
    return "\n".join(lines)


def _below(command: Command, commands: Sequence[Command]) -> list[Command]:
    """Give the verbs of a verb."""
    depth = len(command.path)
    return [one for one in commands if len(one.path) == depth + 1 and one.path[:depth] == command.path]


# --- bash --------------------------------------------------------------------------------------


def _bash(commands: Sequence[Command]) -> Iterator[str]:
    nested = " | ".join(one.path[0] for one in commands if len(one.path) == 1 and _below(one, commands))
    yield "# bash completion for agentfence: source <(agentfence completion bash)"
    yield "_agentfence() {"
    yield "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}"
    yield '    local path="" words=""'
    yield "    ((COMP_CWORD > 1)) && path=${COMP_WORDS[1]}"
    yield f'    case $path in {nested or "-"}) ((COMP_CWORD > 2)) && path+=" ${{COMP_WORDS[2]}}" ;; esac'
    yield "    COMPREPLY=()"
    yield '    case "$path $previous" in'
    for command in commands:
        yield from _bash_values(command)
    yield "    esac"
    yield "    case $path in"
    for command in commands:
        flags = [flag for option in command.options for flag in option.flags]
        yield f'        "{" ".join(command.path)}")'
        yield f'            words="{" ".join(command.words)}"'
        yield f'            [[ $current == -* ]] && words="{" ".join(flags)}" ;;'
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o default -F _agentfence agentfence"


def _bash_values(command: Command) -> Iterator[str]:
    """Give what may follow an option; nothing leaves it to the files that bash then offers."""
    path = " ".join(command.path)
    for words in dict.fromkeys(option.words for option in command.options if option.takes_value):
        alike = [option for option in command.options if option.takes_value and option.words == words]
        patterns = " | ".join(f'"{path} {flag}"' for option in alike for flag in option.flags)
        offered = f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$current")); ' if words else ""
        yield f"        {patterns}) {offered}return ;;"


# --- zsh ---------------------------------------------------------------------------------------


def _zsh(commands: Sequence[Command]) -> Iterator[str]:
    yield "#compdef agentfence"
    yield "# zsh completion for agentfence: source <(agentfence completion zsh), after compinit"
    for command in reversed(commands):
        yield f"{_zsh_name(command)}() {{"
        yield from _zsh_body(command, _below(command, commands))
        yield "}"
    yield 'if [[ $funcstack[1] == _agentfence ]]; then _agentfence "$@"'  # found in a folder of $fpath
    yield "else compdef _agentfence agentfence; fi"


def _zsh_name(command: Command) -> str:
    return "_".join(("_agentfence", *(word.replace("-", "_") for word in command.path)))


def _zsh_body(command: Command, below: Sequence[Command]) -> Iterator[str]:
    if not below:
        operand = f"'*:word:({' '.join(command.words)})'" if command.words else "'*:file:_files'"
        yield from _zsh_arguments([*map(_zsh_option, command.options), operand])
        return
    verbs = " ".join(_quoted(f"{one.path[-1]}:{one.help}") for one in below)
    yield f"    local -a verbs=({verbs})"
    yield "    if ((CURRENT == 2)); then"
    yield "        _describe verb verbs"
    yield from _zsh_arguments([*map(_zsh_option, command.options)])
    yield "        return"
    yield "    fi"
    yield "    shift words; ((CURRENT--))"
    yield "    case $words[1] in"
    for one in below:
        yield f"        {one.path[-1]}) {_zsh_name(one)} ;;"
    yield "    esac"


def _zsh_arguments(specifications: Sequence[str]) -> Iterator[str]:
    yield "    _arguments \\"
    yield " \\\n".join(f"        {one}" for one in specifications)


def _zsh_option(option: Option) -> str:
    text = option.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")
    value = ""
    if option.takes_value:
        value = f":value:({' '.join(option.words)})" if option.words else ":file:_files"
    specs = (_quoted(f"*{flag}[{text}]{value}") for flag in option.flags)
    return " ".join(specs)


# --- fish --------------------------------------------------------------------------------------


def _fish(commands: Sequence[Command]) -> Iterator[str]:
    yield "# fish completion for agentfence: agentfence completion fish | source"
    for command in commands:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.path)
        for one in _below(command, commands):
            where = _quoted(seen) if command.path else "__fish_use_subcommand"
            yield f"complete -c agentfence -f -n {where} -a {one.path[-1]} -d {_quoted(one.help)}"
        where = _quoted(seen) if command.path else "__fish_use_subcommand"
        if command.words and not _below(command, commands):
            yield f"complete -c agentfence -f -n {where} -a {_quoted(' '.join(command.words))}"
        for option in command.options:
            yield f"complete -c agentfence -n {where} {_fish_option(option)}"


def _fish_option(option: Option) -> str:
    parts = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    if option.words:
        parts.append(f"-xa {_quoted(' '.join(option.words))}")
    elif option.takes_value:
        parts.append("-rF")
    return " ".join((*parts, f"-d {_quoted(option.help)}"))


def _quoted(text: str) -> str:
    """Give a text as one word of zsh and fish."""
    return "'" + text.replace("'", "'\\''") + "'"
