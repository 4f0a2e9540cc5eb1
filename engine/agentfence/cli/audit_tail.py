"""`agentfence audit tail`: print the last events of a log, and those that come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.audit.reading import Tail, newest_log
from agentfence.cli.audit_filters import add_filters, filter_of
from agentfence.cli.audit_places import add_log, place_of
from agentfence.cli.audit_tables import print_event, print_events
from agentfence.core.errors import UsageError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    parser.add_argument("-n", dest="count", metavar="N", default="10", help="how many events (default: 10)")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with the events that come")
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the events; give 0; with `-f` it goes on until it is interrupted.

    Raises:
        UsageError: `-n` is no number.

    """
    count: str = arguments.count
    if not (count.isascii() and count.isdigit() and len(count) < 7):
        raise UsageError(f"-n must be a whole number, not `{count}`")
    asked, path = filter_of(arguments), newest_log(place_of(arguments))
    tail = Tail(path)
    print_events(tail.last(int(count), asked.passes), arguments.output)
    if arguments.follow:
        for line, event in tail.follow():
            if event is not None and asked.passes(event):
                print_event(line, event, arguments.output)
    return 0
