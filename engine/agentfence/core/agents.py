"""The agents of a run, over HTTP: by the proxy's user where there is one, else by their address."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from math import inf
from typing import TYPE_CHECKING, Final

from agentfence.core.session import Session
from agentfence.core.shares import Shares
from agentfence.core.taint_pool import TaintPool
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_AGENTS: Final = 10_000
_MAX_AGENTS_OF_ONE: Final = 1_000
_LOOPBACK: Final = "loopback"
_THIS_MACHINE: Final = "127.0.0.1"


@frozen
class Agent:
    """Who sent a request."""

    client: str
    """Its name for the log."""
    owner: str
    """In whose share of bounded tables its entries are."""
    is_identified: bool


def agent_of(user: str | None, address: str, *, chooses_user: bool) -> Agent:
    """Give who sent a request; `chooses_user`: any name is taken, so that it says nothing.

    A program may have any address of the loopback when it connects, so all of them are one agent's.
    """
    network = network_of(address)
    client = (
        f"address:{_THIS_MACHINE if network == _LOOPBACK else address}" if user is None else f"user:{user}"
    )
    if user is None or chooses_user:
        return Agent(client, network, is_identified=False)
    return Agent(client, client, is_identified=True)


class Agents:
    """The session of each agent; whoever comes under many names loses only its own."""

    __slots__ = ("_sessions", "_taint")

    def __init__(self) -> None:
        self._taint = TaintPool()
        self._sessions: Shares[str, Session] = Shares(_MAX_AGENTS, _MAX_AGENTS_OF_ONE, inf)

    def session_of(self, agent: Agent) -> Session:
        """Give the session of an agent, a new one for one that is not known (any more)."""
        session = self._sessions.find(agent.client, 0)
        if session is None:
            taint = self._taint.memory_for(agent.owner)
            session = Session(agent.client, is_identified=agent.is_identified, taint=taint, owner=agent.owner)
            self._sessions.keep(agent.client, session, agent.owner, 0)
        return session

    def rename_servers(self, names: Mapping[str, str]) -> None:
        """Have all agents keep what they know of servers under other names."""
        for session in self._sessions.values():
            session.rename_servers(names)


@lru_cache(maxsize=1024)
def network_of(address: str) -> str:
    """Give the network in which one machine may well have any address: this machine's, a /24, a /64."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = ip.ipv4_mapped if ip.version == 6 else None
    ip = mapped or ip
    if ip.is_loopback:
        return _LOOPBACK
    return f"net:{ip.version}:{ip.packed[: 3 if ip.version == 4 else 8].hex()}"
