"""`agentfence audit summarize`: count the events of a log."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from agentfence.audit.reading import read_events
from agentfence.audit.verifying import size_of
from agentfence.cli.audit_filters import add_filters, filter_of
from agentfence.cli.audit_places import add_log, place_of
from agentfence.cli.audit_tables import print_counts
from agentfence.cli.progress import ByteProgress
from agentfence.core.audit.summary import LogSummary
from agentfence.core.errors import UsageError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    parser.add_argument("--top", metavar="N", default="10", help="how many names are listed (default: 10)")
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the counts; give 0.

    Raises:
        UsageError: `--top` is no number above 0.

    """
    top: str = arguments.top
    if not (top.isascii() and top.isdigit() and int(top[:9]) > 0 and len(top) < 10):
        raise UsageError(f"--top must be a whole number above 0, not `{top}`")
    asked, place, summary = filter_of(arguments), place_of(arguments), LogSummary()
    with ByteProgress(size_of(place), is_wanted=True) as progress:
        for _, event in read_events(place, progress.advance):
            if event is None:
                summary.malformed += 1
            elif asked.passes(event):
                summary.add(event)
    counts = summary.as_json(int(top))
    if arguments.output == "json" or (arguments.output is None and not sys.stdout.isatty()):
        print(json.dumps(counts))  # in ASCII: names that a peer chose may be no Unicode
        return 0
    malformed = f", {summary.malformed} lines are no event" if summary.malformed else ""
    print(f"{summary.events} events from {summary.first} to {summary.last}{malformed}")
    for title, table in counts.items():
        if isinstance(table, dict):
            print_counts(title.replace("_", " "), table)
    return 0
