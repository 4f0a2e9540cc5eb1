"""Which entry of `servers:` a child process is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentfence.core.policy.model import Server

_ANY_WORDS = "**"


def name_of_command(servers: Sequence[Server], command: Sequence[str]) -> str | None:
    """Give the name of the first server whose `command` patterns cover `command`, word by word."""
    return next(
        (server.name for server in servers if server.command and _covers(server.command, command)), None
    )


def _covers(patterns: Sequence[str], words: Sequence[str]) -> bool:
    """Whether the patterns cover the words, `**` any number of them; cost at most their product."""
    reached = {0}
    for pattern in patterns:
        if pattern == _ANY_WORDS:
            reached = set(range(min(reached), len(words) + 1)) if reached else set()
            continue
        glob = compile_glob(pattern, separator=None)
        reached = {place + 1 for place in reached if place < len(words) and glob.matches(words[place])}
    return len(words) in reached
