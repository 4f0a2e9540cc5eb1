"""Which entry of `servers:` a child process is, and which names a server may be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.errors import UsageError
from agentfence.core.policy.model import NOT_IN_SERVER_NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentfence.core.policy.model import Server

_ANY_WORDS = "**"


def check_given_name(servers: Sequence[Server], given: str) -> None:
    """Raise `UsageError` where no rule could be for a server of this name."""
    names = [server.name for server in servers]
    if names and given not in names:
        raise UsageError(f"--server must be one of the policy's servers ({', '.join(names)}), not `{given}`")
    if any(sign in given for sign in NOT_IN_SERVER_NAMES):
        raise UsageError(f"--server must be a name without any of `{NOT_IN_SERVER_NAMES}`, not `{given}`")


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
