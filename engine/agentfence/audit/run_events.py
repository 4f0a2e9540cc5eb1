"""The events about a run of the fence, as every surface writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence import __version__
from agentfence.core.record import timestamp

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json
    from agentfence.core.effects import Event
    from agentfence.core.policy.model import Policy
    from agentfence.core.redaction import Redactor


def run_started(
    surface: str, policy: Policy, found: str, redactor: Redactor, *, mode: str, approver: str, time: float
) -> Event:
    """Give the event of a run that begins; `found` says how its policy was found."""
    return {
        "kind": "run_started",
        "timestamp": timestamp(time),
        "surface": surface,
        "version": __version__,
        "mode": mode,
        "approver": approver,
        "policy": redactor.text(found),
        "policy_digest": policy.digest,
    }


def policy_reloaded(
    policy: Policy, found: str, redactor: Redactor, *, mode: str, previous: str, time: float
) -> Event:
    """Give the event of a changed policy that comes into force; `previous` is the digest of the old one."""
    members: dict[str, Json] = {
        "kind": "policy_reloaded",
        "timestamp": timestamp(time),
        "mode": mode,
        "policy": redactor.text(found),
        "policy_digest": policy.digest,
    }
    return {**members, "previous_policy_digest": previous}


def run_ended(time: float) -> Event:
    """Give the event of a run that ends."""
    return {"kind": "run_ended", "timestamp": timestamp(time)}
