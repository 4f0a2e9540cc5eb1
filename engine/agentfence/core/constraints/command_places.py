"""Commands that a program runs in a place of its own: `docker exec`, `kubectl exec`, `poetry run`.

What is given here is looked at by deny lists alone: an allow list that names the program means what is
run there. Such programs have many options, and more each year. So an option that is not known is read
both with and without a value, and each command that results is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.command_launchers import INSIDE, INSIDE_AT_ONCE, Inside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentfence.core.constraints.command_options import Options
    from agentfence.core.constraints.shell_words import Word

    type Commands = Iterator[tuple[Word, ...]]

_DASHES = "--"


def find_inside(name: str, words: Sequence[Word]) -> list[tuple[Word, ...]]:
    """Give the commands that a program may run in a place of its own.

    Raises:
        UnreadableError: there are too many places where they may begin.

    """
    if name in INSIDE:
        found = list(_find_behind_subcommand(INSIDE[name], words))
    elif name in INSIDE_AT_ONCE:
        found = list(_find_behind_options(INSIDE_AT_ONCE[name], words, is_dashed=False))
    else:
        return []
    commands = [command for command in map(_without_dashes, found) if command]
    known = [command for command in commands if command[0].is_known]
    return known or commands


def _find_behind_subcommand(program: Inside, words: Sequence[Word]) -> Commands:
    for start in program.options.find_starts(words):
        if start >= len(words):
            continue
        subcommand = program.subcommands.get(words[start].text)
        if isinstance(subcommand, Inside):
            yield from _find_behind_subcommand(subcommand, words[start + 1 :])
        elif subcommand is not None:
            yield from _find_behind_options(subcommand, words[start + 1 :], is_dashed=program.is_dashed)


def _find_behind_options(options: Options, words: Sequence[Word], *, is_dashed: bool) -> Commands:
    texts = [word.text for word in words]
    if is_dashed and _DASHES in texts:
        yield tuple(words[texts.index(_DASHES) + 1 :])
        return
    for start in options.find_starts(words):
        behind = tuple(words[start + options.operands :])
        yield behind
        yield from _find_entrypoint(words[:start], behind)


def _find_entrypoint(before: Sequence[Word], behind: tuple[Word, ...]) -> Commands:
    """Give the command of `docker run --entrypoint PROGRAM IMAGE ARGUMENT…`."""
    for position, word in enumerate(before):
        name, is_given, value = word.text.partition("=")
        if name == "--entrypoint" and is_given:
            yield (type(word)(value, word.is_known), *behind)
        elif name == "--entrypoint":
            yield (*before[position + 1 : position + 2], *behind)


def _without_dashes(command: tuple[Word, ...]) -> tuple[Word, ...]:
    """Give a command without `--` before it; none where options of the program stand in its place."""
    command = command[1:] if command and command[0].text == _DASHES else command
    return () if command and command[0].text.startswith("-") else command
