"""What each MCP revision allows: a table, predicates on it, and the protocol's method names.

Not here: which revision a message is under; the session and the gate know that.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json


@frozen
class Revision:
    """One revision of MCP, as far as the fence treats it in its own way."""

    name: str
    allows_batches: bool
    """JSON-RPC arrays: said nothing of in 2024-11-05, in 2025-03-26 part of MCP, then removed."""
    is_modern: bool = False
    """No handshake: each request names its revision in `_meta`, and HTTP headers mirror it."""

    def has_removed(self, method: str) -> bool:
        """Whether a server answers "method not found", though an older revision has the method."""
        return self.is_modern and method in _REMOVED


# SEP-2663: the tasks extension of 2026-07-28 asks with `tasks/get` alone.
_REMOVED = frozenset({"tasks/list", "tasks/result"})

REVISIONS = (
    Revision("2024-10-07", allows_batches=True),  # a draft that one SDK line still offers
    Revision("2024-11-05", allows_batches=True),
    Revision("2025-03-26", allows_batches=True),
    Revision("2025-06-18", allows_batches=False),
    Revision("2025-11-25", allows_batches=False),
    Revision("2026-07-28", allows_batches=False, is_modern=True),
)
_BY_NAME = MappingProxyType({revision.name: revision for revision in REVISIONS})

# MCP 2025-06-18, basic/transports#protocol-version-header: what a server assumes without a header.
ASSUMED = _BY_NAME["2025-03-26"]


def revision_named(text: str | None) -> Revision:
    """Give the revision of that name, the newest for an unknown one, `ASSUMED` for none."""
    if text is None:
        return ASSUMED
    return _BY_NAME.get(text, REVISIONS[-1])


class Kind(StrEnum):
    """Why the fence answers itself, where revisions have different codes for it."""

    BLOCKED = "blocked"
    UPSTREAM = "upstream"
    INTERNAL = "internal"
    BATCH = "batch"
    OVERSIZE = "oversize"


# 2026-07-28 reserves -32000 to -32099 and wants own codes outside of -32768 to -32000.
_CODES = MappingProxyType(
    {
        Kind.BLOCKED: (-32001, -31001),
        Kind.UPSTREAM: (-32002, -31002),
        Kind.INTERNAL: (-32003, -31003),
        Kind.BATCH: (-32004, -32600),
        Kind.OVERSIZE: (-32005, -31005),
    }
)


def code_for(kind: Kind, revision: Revision) -> int:
    """Give the JSON-RPC error code for a refusal of that kind under that revision."""
    return _CODES[kind][revision.is_modern]


_NOTIFICATIONS = frozenset(
    {
        "notifications/cancelled",
        "notifications/elicitation/complete",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/subscriptions/acknowledged",
        "notifications/tasks",
        "notifications/tasks/status",
        "notifications/tools/list_changed",
    }
)

HOUSEKEEPING = _NOTIFICATIONS | {
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/list",
}
"""Methods that always pass: refusing one breaks or downgrades the connection, and protects nothing."""

METHODS = HOUSEKEEPING | {
    "completion/complete",
    "elicitation/create",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    "tools/call",
}
"""Every method of any revision and of the tasks extension, in both directions."""

# MCP 2026-07-28, basic/transports/streamable-http#standard-request-headers
MIRRORED_NAME: Mapping[str, str] = MappingProxyType(
    {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
)
"""Which member of `params` the `Mcp-Name` header must repeat, by method."""

# SEP-2663: the tasks extension mirrors the task's id.
MIRRORED_TASK: Mapping[str, str] = MappingProxyType(
    {"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}
)
"""Likewise for methods where the header may be missing, and is only compared when it is there."""

META_VERSION = "io.modelcontextprotocol/protocolVersion"


def meta_version(params: Mapping[str, Json] | None) -> str | None:
    """Give the revision that `params._meta` claims; None without a claim.

    A claim that is not a text names no revision: it gives the empty text, which no header equals
    and which gets the newest rules.
    """
    meta = params.get("_meta") if params else None
    if not isinstance(meta, dict) or META_VERSION not in meta:
        return None
    version = meta[META_VERSION]
    return version if isinstance(version, str) else ""
