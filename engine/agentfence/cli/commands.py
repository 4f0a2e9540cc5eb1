"""Every verb with its options, read from the parsers, for what describes the command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agentfence.core.values import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Iterator


@frozen
class Option:
    """One option."""

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    words: tuple[str, ...] = ()
    """What the value may be; empty for files and the like."""


@frozen
class Command:
    """One verb, or a verb's own verb, as `audit verify`."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    words: tuple[str, ...] = ()
    """What its operand may be: its own verbs, or a few words; empty for files and the like."""


def all_commands() -> list[Command]:
    """Give the command itself, whose path is empty, and every verb."""
    from agentfence.cli.main import command_line
    from agentfence.relay_start import command_line as relay_command_line

    relay = _options(relay_command_line())  # the relay reads its own command line
    commands = _commands(command_line(), (), "")
    return [replace(one, options=relay) if one.path == ("proxy",) else one for one in commands]


def _commands(parser: argparse.ArgumentParser, path: tuple[str, ...], summary: str) -> Iterator[Command]:
    operands = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - argparse gives no other way
    words = tuple(str(word) for action in operands for word in action.choices or ())
    yield Command(path, summary, _options(parser), words)
    for action in operands:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - likewise
            for name, sub in action.choices.items():
                yield from _commands(sub, (*path, name), sub.description or "")


def _options(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    return tuple(
        Option(
            tuple(action.option_strings),
            (action.help or "").replace("%%", "%"),
            takes_value=action.nargs != 0,
            words=_words(action),
        )
        for action in parser._actions  # noqa: SLF001 - likewise
        if action.option_strings
    )


def _words(action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(map(str, action.choices))
    is_choice = isinstance(action.metavar, str) and "|" in action.metavar
    return tuple(str(action.metavar).split("|")) if is_choice else ()
