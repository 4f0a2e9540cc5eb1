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

_VALUES = MappingProxyType(
    {"decision": ("allow", "deny", "ask"), "reason_code": None, "kind": KINDS, "server": None}
)
"""Members of events, and the values that there are."""


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for filters and for the form of the output."""
    parser.add_argument("--since", metavar="TIME", help="events from this date or RFC 3339 time on")
    parser.add_argument("--until", metavar="TIME", help="events before this date or RFC 3339 time")
    parser.add_argument("--tool", metavar="GLOB", help="events about tools of these names")
    parser.add_argument("--session", metavar="ID", help="events of this run, or of those whose id begins so")
    for member, words in _VALUES.items():
        flag = "--" + member.replace("_", "-")
        known = "" if words is None else f": {', '.join(words)}"
        help_ = f"events with this `{member}`{known}"
        parser.add_argument(flag, metavar="WORD", choices=words, help=help_)
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
