"""What the policy says of one message, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.policy.model import Verdict
from agentfence.core.values import message_value
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from agentfence.core.errors import Place

_LONGEST_QUOTED_NAME = 128


@message_value
class Decision:
    """A verdict that explains itself."""

    verdict: Verdict
    reason_code: str
    reason: str
    """One sentence; it names fields and patterns, never an argument's value."""
    rule: str
    """The rule that made it; `protocol` for what no policy decides."""
    place: Place | None = None
    message: str | None = None
    """The policy's own words for this rule."""
    remember: str | None = None
    """`call` or `tool`: for what an approval may hold for the rest of the session."""
    retry_after_ms: int | None = None
    """For `rate_exceeded`: when the same call would pass."""

    @property
    def is_allowed(self) -> bool:
        """Whether the message may go on without asking anybody."""
        return self.verdict is Verdict.ALLOW


def quoted(name: str) -> str:
    """Give a name that a peer chose in backticks, cut, with nothing invisible in it."""
    shown = visible(name[:_LONGEST_QUOTED_NAME])
    return f"`{shown}`" if len(name) <= _LONGEST_QUOTED_NAME else f"`{shown}…`"
