"""The parser of the command line, whose errors say what was got, what was meant and what to do.

argparse prints its whole usage before each error, and has no suggestions before Python 3.14.
"""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_USAGE = 2
_NEEDLESS_VALUE = re.compile(r"argument ([^/:]+)(?:/([^:]+))?: ignored explicit argument '(.*)'")
_MISSING_VALUE = re.compile(r"argument ([^:]+): expected one argument")
_MISSING = "the following arguments are required"


class Parser(argparse.ArgumentParser):
    """A parser of a command or of a verb; the verbs' parsers are of the same kind."""

    _given: Sequence[str] = ()

    def parse_line(self, given: Sequence[str]) -> argparse.Namespace:
        """Give the arguments of a command line; one that cannot be used ends the program with status 2."""
        self._keep(given)
        arguments, unknown = self.parse_known_args(given)
        if unknown:
            parser = self._parser_of(vars(arguments))
            parser.error(parser._describe_unknown(unknown[0]))  # noqa: SLF001 - another of this class
        return arguments

    def error(self, message: str) -> NoReturn:
        """Print one line for the mistake, and one for what to do."""
        if message.startswith(_MISSING):  # more often one is misspelt than left out
            known = self._option_string_actions
            options = (word.partition("=")[0] for word in self._given if word.startswith("--"))
            unknown = next((option for option in options if option not in known and option != "--"), None)
            message = self._describe_unknown(unknown) if unknown else message
        message = _in_plain_words(message)
        print(f"{self.prog}: {message}", file=sys.stderr)
        print(f"help: `{self.prog} --help` lists what there is", file=sys.stderr)
        raise SystemExit(_USAGE)

    def _keep(self, given: Sequence[str]) -> None:
        """Keep the command line for errors, here and in the verbs' parsers."""
        self._given = given
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse gives no other way
                for verb in action.choices.values():
                    verb._keep(given)  # noqa: SLF001 - another of this class

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(action, f"there is no `{value}`{_suggest(str(value), known)}")

    def _parser_of(self, arguments: dict[str, Any]) -> Parser:
        """Give the parser of the verb that was given, and of its own verb."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse gives no other way
                verb = action.choices.get(arguments.get(action.dest) or "")
                return self if verb is None else verb._parser_of(arguments)  # noqa: SLF001 - likewise
        return self

    def _describe_unknown(self, word: str) -> str:
        if not word.startswith("-"):
            advice = "; the command to run comes after `--`" if " -- " in self.format_usage() else ""
            return f"expected no more operands, got `{word}`{advice}"
        option = word.partition("=")[0]
        return f"there is no option `{option}`{_suggest(option, self._option_string_actions)}"


def _in_plain_words(message: str) -> str:
    """Say what argparse says about values so that it says what was expected, and what to write."""
    too_much, too_little = _NEEDLESS_VALUE.fullmatch(message), _MISSING_VALUE.fullmatch(message)
    if too_much:
        switch, opposite, value = too_much.groups()
        instead = f"; `{opposite}` is its opposite" if opposite and opposite.startswith("--no-") else ""
        return f"`{switch}` takes no value, got `{value}`{instead}"
    return f"`{too_little[1]}` needs a value" if too_little else message


def _suggest(word: str, known: Iterable[str]) -> str:
    from agentfence.core.policy.validation import did_you_mean  # only mistakes need it

    return f"; {did_you_mean(word, known)}"
