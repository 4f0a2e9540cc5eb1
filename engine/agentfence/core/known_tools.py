"""What servers said of their tools in `tools/list` answers; bounded, oldest out first.

A server may say something else to every agent, so each `Session` has its own.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.tool_schemas import OwnSchema

MOST_TOOLS: Final = 2_000
"""Of one server."""
_MOST_SERVERS = 200
_LARGEST_SCHEMA = 65_536
_MOST_CHARACTERS = 4_194_304
"""Of all names and schemas of one server."""
_MOST_CHARACTERS_OF_ALL = 16_777_216
_MIRRORED = '"x-mcp-header"'


@frozen
class KnownTool:
    """One tool, as its server last described it."""

    digest: str
    mirrored: str = ""
    """Its `inputSchema` as JSON, where headers repeat some arguments: as a value it takes far more room."""
    arguments: OwnSchema | None = None
    """What holds calls to the schema, where the policy wants that."""

    @property
    def size(self) -> int:
        """How many characters are kept of it."""
        return max(len(self.mirrored), 0 if self.arguments is None else self.arguments.size)


class KnownTools:
    """The tools of the servers of one agent."""

    __slots__ = ("_has_forgotten", "_servers", "_size")

    def __init__(self) -> None:
        self._servers: OrderedDict[str, _Tools] = OrderedDict()
        self._size = 0
        self._has_forgotten = False

    def find(self, peer: str, name: str) -> KnownTool | None:
        """Give a server's tool; None when no list has named it."""
        tools = self._servers.get(peer)
        return None if tools is None else tools.by_name.get(name)

    def has_forgotten(self, peer: str) -> bool:
        """Whether a list may have named tools of a server that are not known any more."""
        tools = self._servers.get(peer)
        return self._has_forgotten if tools is None else tools.has_forgotten

    def learn(self, peer: str, name: str, tool: KnownTool) -> None:
        """Keep what a server says of its tool now."""
        tools = self._servers.get(peer)
        if tools is None:
            tools = self._servers[peer] = _Tools()
            tools.has_forgotten = self._has_forgotten
            if len(self._servers) > _MOST_SERVERS:
                self._forget(next(iter(self._servers)))
        before = tools.size
        tools.put(name, tool)
        self._size += tools.size - before
        while self._size > _MOST_CHARACTERS_OF_ALL:
            self._forget(max(self._servers, key=lambda other: self._servers[other].size))

    def rename(self, names: Mapping[str, str]) -> None:
        """Keep what is known of servers under other names."""
        moved = {now: self._servers.pop(before) for before, now in names.items() if before in self._servers}
        self._servers |= moved
        self._size = sum(tools.size for tools in self._servers.values())

    def other_peers_with(self, peer: str, name: str) -> list[str]:
        """Give the other servers that have a tool of this name."""
        return [other for other, tools in self._servers.items() if other != peer and name in tools.by_name]

    def _forget(self, peer: str) -> None:
        self._size -= self._servers.pop(peer).size
        self._has_forgotten = True


class _Tools:
    __slots__ = ("by_name", "has_forgotten", "size")

    def __init__(self) -> None:
        self.by_name: OrderedDict[str, KnownTool] = OrderedDict()
        self.size = 0
        self.has_forgotten = False

    def put(self, name: str, tool: KnownTool) -> None:
        if name in self.by_name:
            self._forget(name)
        self.by_name[name] = tool
        self.size += len(name) + tool.size
        while len(self.by_name) > MOST_TOOLS or self.size > _MOST_CHARACTERS:
            self._forget(next(iter(self.by_name)))
            self.has_forgotten = True

    def _forget(self, name: str) -> None:
        self.size -= len(name) + self.by_name.pop(name).size


def read_tool(descriptor: dict[str, Json], schema: str) -> KnownTool:
    """Give what is kept of one entry of a `tools/list` answer, with its schema as JSON."""
    return KnownTool(digest_of(descriptor), schema if _MIRRORED in schema else "")


def schema_of(descriptor: dict[str, Json]) -> str:
    """Give the `inputSchema` of such an entry as JSON; nothing for one that is not there or too large."""
    schema = descriptor.get("inputSchema")
    text = canonical(schema) if isinstance(schema, dict) else ""
    return text if len(text) <= _LARGEST_SCHEMA else ""


def listed_tools(result: Json) -> Iterator[tuple[str, dict[str, Json]]]:
    """Give the entries of a `tools/list` answer that have a name, with it."""
    tools = result.get("tools") if isinstance(result, dict) else None
    for tool in tools if isinstance(tools, list) else ():
        name = tool.get("name") if isinstance(tool, dict) else None
        if isinstance(tool, dict) and isinstance(name, str):
            yield name, tool


def digest_of(descriptor: Json) -> str:
    """Give `sha256:HEX` over all that a server says of a tool; its spelling and order do not count."""
    return "sha256:" + sha256(canonical(descriptor).encode("ascii")).hexdigest()


def canonical(value: Json) -> str:
    """Give the one spelling of a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
