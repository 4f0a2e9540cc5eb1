"""What a person may set about the gate."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from agentfence.core.policy.model import Mode


class OnBatch(StrEnum):
    """What happens to JSON arrays."""

    REJECT = "reject"
    EVALUATE = "evaluate"


class OnUnparsed(StrEnum):
    """What happens to HTTP bodies that are no JSON-RPC message."""

    REJECT = "reject"
    FORWARD = "forward"


class DenyAs(StrEnum):
    """How a denied `tools/call` is answered."""

    ERROR = "error"
    RESULT = "result"


@frozen
class GateSettings:
    """All of it; sizes in bytes."""

    max_body: int = 4_194_304
    max_batch: int = 100
    max_answer: int = 67_108_864
    on_batch: OnBatch = OnBatch.REJECT
    on_unparsed: OnUnparsed = OnUnparsed.REJECT
    deny_as: DenyAs = DenyAs.ERROR
    mode: Mode | None = None
    """None: the policy's."""
