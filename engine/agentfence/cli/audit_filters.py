"""The filters that the sub-verbs of `agentfence audit` share."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.audit.event_schema import KINDS
from agentfence.core.audit.filters import EventFilter
from agentfence.core.errors import UsageError
from agentfence.core.policy.times import parse_time

if TYPE_CHECKING:
    import argparse

_VALUES = ("decision", "reason_code", "kind", "server")
_WORDS = MappingProxyType({"decision": ("allow", "deny", "ask"), "kind": KINDS})


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for filters and for the form of the output."""
    parser.add_argument("--since", metavar="TIME", help="events from this date or RFC 3339 time on")
    parser.add_argument("--until", metavar="TIME", help="events before this date or RFC 3339 time")
    parser.add_argument("--tool", metavar="GLOB", help="events about tools of these names")
    parser.add_argument("--session", metavar="ID", help="events of this run, or of those whose id begins so")
    for member in _VALUES:
        flag, words = "--" + member.replace("_", "-"), _WORDS.get(member)  # a misspelt one would find nothing
        parser.add_argument(flag, metavar="WORD", choices=words, help=f"events with this `{member}`")
    parser.add_argument(
        "--output", choices=("table", "json"), help="default: table on a terminal, json elsewhere"
    )


def filter_of(arguments: argparse.Namespace) -> EventFilter:
    """Give the filter that was asked for.

    Raises:
        UsageError: A time is none.

    """
    values = [(member, getattr(arguments, member)) for member in _VALUES]
    return EventFilter(
        _time(arguments.since, "--since"),
        _time(arguments.until, "--until"),
        arguments.tool,
        arguments.session,
        tuple((member, value) for member, value in values if value is not None),
    )


def _time(text: str | None, flag: str) -> float | None:
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"{flag} must be a date or an RFC 3339 time, not `{text}`") from error
