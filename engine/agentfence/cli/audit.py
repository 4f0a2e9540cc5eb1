"""`agentfence audit`: verify, anchor and read audit logs, and make keys to sign them with."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import argparse

    from agentfence.cli.main import Verb

SUB_VERBS = MappingProxyType(
    {
        "verify": "show that a log is as it was written",
        "anchor": "note the last line of a log, to find later that its end was cut off",
        "query": "print the events of a log that pass filters",
        "summarize": "count the events of a log",
        "tail": "print the last events of a log, and those that come",
        "keygen": "make a pair of keys to sign logs with",
    }
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs and their arguments."""
    verbs = parser.add_subparsers(dest="audit_verb", metavar="VERB", required=True)
    for name, summary in SUB_VERBS.items():
        sub = verbs.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        _module(name).add_arguments(sub)


def run(arguments: argparse.Namespace) -> int:
    """Do what the sub-verb says; give the exit status."""
    return _module(arguments.audit_verb).run(arguments)


def _module(name: str) -> Verb:
    return cast("Verb", import_module(f"agentfence.cli.audit_{name}"))
