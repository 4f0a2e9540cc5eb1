"""Definitions of tools that people have agreed to, and what does not match them.

A server that changes what a tool says of itself after it was approved can turn an agent; the lock
file holds each tool's whole definition, or its digest, and only people write it.
"""

from __future__ import annotations

import json
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.errors import UsageError
from agentfence.core.known_tools import digest_of
from agentfence.core.late_regex import late_regex
from agentfence.core.values import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json

LOCK_VERSION = 1
_DIGEST = late_regex(r"sha256:[0-9a-f]{64}")


class PinState(StrEnum):
    """What a lock says of a tool."""

    HOLDS = "pinned"
    UNKNOWN = "not pinned"
    CHANGED = "not what is pinned"
    FORGOTTEN = "one of more than are kept"


PIN_TEXTS = MappingProxyType(
    {
        PinState.UNKNOWN: ("tool_unpinned", "is not in the lock file, so nobody has looked at it"),
        PinState.CHANGED: ("tool_changed", "is no longer described as it was when it was pinned"),
        PinState.FORGOTTEN: ("tool_changed", "may have changed, as its server named more than are kept"),
    }
)
"""Reason code and reason of what does not hold."""


@frozen
class Pin:
    """One tool, as people have agreed to it."""

    digest: str
    definition: Json = None
    """All that the server said of it; None where only the digest is known, as from a log."""


@frozen
class Lock:
    """The pins of a lock file, by server and tool; the server without a name is the empty text."""

    servers: Mapping[str, Mapping[str, Pin]] = field(default_factory=dict)

    def state(self, server: str, tool: str, digest: str | None) -> PinState:
        """Give what holds for a tool; `digest` is None for one that no list has shown yet."""
        pinned = self.servers.get(server, {}).get(tool)
        if pinned is None:
            return PinState.UNKNOWN
        return PinState.HOLDS if digest in (None, pinned.digest) else PinState.CHANGED


NOTHING_PINNED = Lock()


def of_any_server(lock: Lock) -> Lock:
    """Give the lock for calls of which nobody need say whose tool is meant: then one of any server counts."""
    pinned = {tool: pin for pins in lock.servers.values() for tool, pin in pins.items()}
    return Lock({**lock.servers, "": {**pinned, **lock.servers.get("", {})}})


def pin_of(definition: Json) -> Pin:
    """Give the pin that holds a tool to its definition as it is."""
    return Pin(digest_of(definition), definition)


def read_lock(text: str, name: str) -> Lock:
    """Give the lock that a file holds; `name` is the file's, for the error.

    Raises:
        UsageError: it is no lock file of this version.

    """
    try:
        content = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the lock file {name} is not JSON: {error}") from None
    servers = content.get("servers") if isinstance(content, dict) else None
    if not isinstance(servers, dict) or content.get("version") != LOCK_VERSION:
        raise UsageError(f"the lock file {name} is not one of version {LOCK_VERSION}")
    try:
        return Lock({server: _read_pins(tools) for server, tools in servers.items()})
    except (ValueError, AttributeError) as error:
        raise UsageError(f"the lock file {name} cannot be used: {error}") from None


def write_lock(lock: Lock) -> str:
    """Give the text of a lock file, in an order that makes differences easy to read."""
    servers = {
        server: {name: pin.digest if pin.definition is None else pin.definition for name, pin in pins.items()}
        for server, pins in lock.servers.items()
    }
    return json.dumps({"version": LOCK_VERSION, "servers": servers}, indent=2, sort_keys=True) + "\n"


def _read_pins(tools: dict[str, Json]) -> dict[str, Pin]:
    return {name: _read_pin(name, pinned) for name, pinned in tools.items()}


def _read_pin(name: str, pinned: Json) -> Pin:
    if isinstance(pinned, dict) and pinned.get("name") == name:
        return pin_of(pinned)
    if isinstance(pinned, str) and _DIGEST.fullmatch(pinned):
        return Pin(pinned)
    raise ValueError(f"the pin of tool `{name}` is neither its definition nor a digest")


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key stands twice")
    return members
