"""What every kind of constraint offers.

A kind is one module with one class that satisfies `Constraint` and one function
`build(spec, context)`; `registry.py` names them. A constraint is built once, with everything
compiled, and then only asked.

Invariants
- `check` never raises for any JSON value, and never mutates its arguments.
- A reason never holds an argument's value: reasons go to agents, logs and screens.
- What a constraint does not understand, it refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from agentfence.core.values import field, frozen, message_value, replace

if TYPE_CHECKING:
    from agentfence.core.constraints.effort import Effort

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None
type Arguments = Mapping[str, Json]
"""The `arguments` of a `tools/call`."""
type LinkResolver = Callable[[str], str]
"""Takes an absolute path, gives it with every link resolved. Raises `OSError` when it cannot tell."""


@frozen
class Failure:
    """Why a constraint refuses a call."""

    code: str
    """A stable reason code, as `path_denied`."""
    reason: str
    """One sentence for the agent and the log. Names the field and the pattern, never the value."""
    field: str | None = None
    """The selector that failed."""
    allow_list: bool = False
    """True when nothing is forbidden and only an allow list does not cover the value: then a rule's
    `otherwise: ask` may ask instead."""
    retry_after_ms: int | None = None
    """For `rate_exceeded`: when the same call would pass."""


_MOST_REASONS = 5


def together(failures: Sequence[Failure]) -> Failure:
    """Give all that allow lists do not cover as one failure, with the code of the first.

    All is told: who lets a call pass for one reason did not say so of another.
    """
    reasons = list(dict.fromkeys(failure.reason for failure in failures))
    if len(reasons) == 1:
        return failures[0]
    left_out = len(reasons) - _MOST_REASONS
    more = [f"{left_out:,} more reasons"] if left_out > 0 else []
    return replace(failures[0], reason="; ".join([*reasons[:_MOST_REASONS], *more]))


@message_value
class Circumstances:
    """What a surface knows and the core cannot find out."""

    time: float = 0.0
    """Seconds since 1970, UTC."""
    resolve_links: LinkResolver | None = None
    """None: the surface shares no disk with the server."""
    effort: Effort | None = None
    """What judging the message may cost; None: as much as it takes."""
    counted_for: str | None = None
    """The rule for whose rate the call counts already, as a person was asked about it."""

    def affords(self, cost: int) -> bool:
        """Do something that costs so many microseconds; whether the message is still worth it."""
        return self.effort is None or self.effort.spend(cost)


class Constraint(Protocol):
    """One compiled block of a rule's `constraints`."""

    @property
    def kind(self) -> str:
        """The key in the policy, as `paths`."""
        ...

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first failure, deny lists before allow lists; None when the call may pass."""
        ...

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the top-level argument names that this constraint reads; `**` when it reads all of them."""
        ...


@frozen
class BuildContext:
    """What building a constraint may need from outside."""

    folder: str = "/"
    """The absolute folder of the policy file; relative roots start here."""
    home: str | None = None
    """What `~` means in roots."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What `${VAR}` means in roots."""
    original: bool = False
    """True for policies of the Go AgentFence (`version` 0.x)."""
    secret_patterns: tuple[tuple[str, str], ...] = ()
    """The policy's own redaction patterns, `(name, regex)`; memory_write reads sensitivity from them."""
    follow_links_default: bool = True
    """`follow_links` where a paths block does not say: true on stdio, false on HTTP."""


class SpecError(ValueError):
    """A constraint's block that cannot be compiled.

    `path` leads from the block to the wrong value, as `("allow", 2)`; the policy reader turns it
    into a line and a column.
    """

    def __init__(self, path: tuple[str | int, ...], message: str, help: str | None = None) -> None:  # noqa: A002 - the word of the policy error it becomes
        super().__init__(message)
        self.path = path
        self.message = message
        self.help = help
