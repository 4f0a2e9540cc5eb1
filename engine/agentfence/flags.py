"""Command-line flags for the table of options, by argparse.

The relay starts often, and argparse takes as long as reading a policy. So flags that are plainly
right are read here, and only others, a mistake or `--help`, by argparse, which then has the word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.settings import OPTIONS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from agentfence.settings import Option

TOGGLES = {"watch_policy", "tamper_evident", "audit_fsync"}


def add_option_flags(parser: argparse.ArgumentParser, *, relay: bool) -> None:
    """Add a flag for every option of the relay, or of the HTTP surface."""
    names = [option.name for option in OPTIONS if (option.on_relay if relay else option.on_http)]
    add_options(parser, *names)
    parser.add_argument(
        "--no-interactive", action="store_true", help="ask nobody: the same as --approver deny"
    )


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add the flags of some options."""
    for option in OPTIONS:
        if option.name in names:
            _add_option(parser, option)


def _add_option(parser: argparse.ArgumentParser, option: Option) -> None:
    if option.name in TOGGLES:
        import argparse

        action = argparse.BooleanOptionalAction
        shown = f"{option.help} (default)" if option.default == "true" else option.help
        parser.add_argument(option.flag, action=action, default=None, help=shown)
        return
    shown = f"{option.help} (default: {option.default})" if option.default else option.help
    metavar = "|".join(option.choices) if option.choices else option.metavar
    parser.add_argument(option.flag, default=None, metavar=metavar, help=shown.replace("%", "%%"))


def read_plain_flags(arguments: Sequence[str]) -> Mapping[str, str | None] | None:
    """Give the options that the relay's flags set, as text by name; None where argparse has the word."""
    flags = {option.flag: option.name for option in OPTIONS if option.on_relay and option.name not in TOGGLES}
    switches = {"--no-interactive": ("approver", "deny")}
    for name in TOGGLES:
        flag = name.replace("_", "-")
        switches |= {f"--{flag}": (name, "true"), f"--no-{flag}": (name, "false")}
    given: dict[str, str | None] = {option.name: None for option in OPTIONS}
    left = iter(arguments)
    for argument in left:
        if argument in switches:
            name, value = switches[argument]
        else:
            flag, equals, value = argument.partition("=")
            value = value if equals else next(left, "")
            if flag not in flags or not value or value.startswith("-"):
                return None
            name = flags[flag]
        given[name] = value
    if "--no-interactive" in arguments:
        given["approver"] = "deny"
    return given


def given_options(arguments: argparse.Namespace) -> Mapping[str, str | None]:
    """Give the options that the command line sets, as text by name."""
    given: dict[str, str | None] = {}
    for option in OPTIONS:
        value = getattr(arguments, option.name, None)
        given[option.name] = str(value).lower() if isinstance(value, bool) else value
    if arguments.no_interactive:
        given["approver"] = "deny"
    return given
