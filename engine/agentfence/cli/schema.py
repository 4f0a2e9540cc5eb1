"""`agentfence schema`: print the JSON Schema of policies, for editors and other tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentfence.core.policy.json_schema import policy_schema

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments: there are none."""


def run(arguments: argparse.Namespace) -> int:  # noqa: ARG001 - every verb's
    """Print it; give the exit status."""
    print(json.dumps(policy_schema(), ensure_ascii=False, indent=2))
    return 0
