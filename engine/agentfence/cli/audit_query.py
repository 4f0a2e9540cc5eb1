"""`agentfence audit query`: print the events of a log that pass filters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from agentfence.audit.reading import read_events
from agentfence.audit.verifying import size_of
from agentfence.cli.audit_filters import add_filters, filter_of
from agentfence.cli.audit_places import add_log, place_of
from agentfence.cli.audit_tables import print_events
from agentfence.cli.progress import ByteProgress
from agentfence.cli.terminal import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add_log(parser)
    add_filters(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what passes; give 0."""
    asked, place = filter_of(arguments), place_of(arguments)
    malformed = 0

    def found() -> Iterator[tuple[bytes, dict[str, Any]]]:
        nonlocal malformed
        for line, event in read_events(place, progress.advance):
            if event is None:
                malformed += 1
            elif asked.passes(event):
                yield line, event

    with ByteProgress(size_of(place), is_wanted=not sys.stdout.isatty()) as progress:
        print_events(found(), arguments.output)
    if malformed:
        say(f"{malformed} lines are no event and were skipped: see `agentfence audit verify`")
    return 0
