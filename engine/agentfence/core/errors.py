"""Every error that AgentFence raises on purpose.

    AgentFenceError
    ├── UsageError           a wrong option or argument: exit status 2
    ├── PolicyError          a policy that cannot be used: exit status 3
    ├── AuditError           an audit log that is broken or cannot be written: exit status 4
    └── ProtocolViolation    the peer's fault: carries the JSON-RPC code to answer with

Anything else that escapes is a bug.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence


class AgentFenceError(Exception):
    """The base of all errors here; its text is one sentence for a person."""

    exit_status = 1


class UsageError(AgentFenceError):
    """An option, argument or environment variable that cannot be used."""

    exit_status = 2


@frozen
class Place:
    """A place in a policy file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@frozen
class Problem:
    """One thing that is wrong (or, as a warning, doubtful) in a policy file."""

    place: Place
    code: str
    """A stable name that docs/policy-language.md explains, as `unknown_key`."""
    message: str
    """One sentence: lower case, no full stop, what was expected and what came."""
    help: str | None = None
    """What to do about it."""
    path: str = ""
    """Where in the document, as `tools.write_file.decision`."""
    source_line: str = ""
    """The line of the file, for showing it."""
    width: int = 1
    """How many characters from the column on to underline."""


_MOST_IN_A_LINE = 10


class PolicyError(AgentFenceError):
    """A policy that cannot be used, with all its problems in order of place."""

    exit_status = 3

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        said = [f"{problem.place}: {problem.message}" for problem in self.problems[:_MOST_IN_A_LINE]]
        left = len(self.problems) - len(said)
        super().__init__("; ".join([*said, f"and {left} more"] if left else said))


class AuditError(AgentFenceError):
    """An audit log that cannot be written, or is not what it should be."""

    exit_status = 4


class ProtocolViolation(AgentFenceError):  # noqa: N818 - it names the peer's fault, not ours
    """A message that breaks JSON-RPC or MCP; the peer is told `code` and the text."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
