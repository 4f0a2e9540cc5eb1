"""What an audit log offers to a surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agentfence.core.effects import Event


class AuditLog(Protocol):
    """Keeps events, in order."""

    @property
    def description(self) -> str:
        """What the start line says of it."""
        ...

    def append(self, event: Event) -> None:
        """Write one event, whole, before returning.

        Raises:
            AuditError: It is not written.

        """
        ...

    def close(self) -> None:
        """End it; nothing is appended after."""
        ...


class NoLog:
    """Keeps nothing: `--audit-log none`."""

    description = "none: nothing of this run can be shown later"

    def append(self, event: Event) -> None:
        """Forget `event`."""

    def close(self) -> None:
        """Do nothing."""
