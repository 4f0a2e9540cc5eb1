"""What a run remembers of its peers: agents, and their conversations.

A `Session` is one agent across all servers. A `Conversation` is one exchange of messages with one
server: a child process, an MCP session over HTTP, or a single POST. Ids start at 0 or 1 in every
SDK, so calls are only ever looked up inside their conversation.

Invariant: nothing here grows without bound, whatever a peer sends.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING

from agentfence.core.calls_in_flight import CallsInFlight, meanings
from agentfence.core.http_sessions import requests_of_server
from agentfence.core.known_tools import KnownTools
from agentfence.core.noted import Noted
from agentfence.core.revisions import ASSUMED
from agentfence.core.taint_memory import TaintMemory
from agentfence.core.tasks import KnownTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.effects import Approval
    from agentfence.core.http_sessions import HttpSession
    from agentfence.core.jsonrpc import Id
    from agentfence.core.policy.model import RateLimit, Rule
    from agentfence.core.revisions import Revision

_MAX_REMEMBERED_APPROVALS = 1_000


class Transport(StrEnum):
    """How messages travel."""

    HTTP = "http"
    STDIO = "stdio"
    OFFLINE = "offline"
    """They do not: recorded calls are judged, and nothing is sent."""


class Session:
    """One agent: its rates, its tasks, what was approved for it, and what came back to it."""

    __slots__ = (
        "_approved",
        "_calls",
        "client",
        "is_identified",
        "noted",
        "owner",
        "taint",
        "tasks_at_agent",
        "tasks_at_servers",
        "tools",
    )

    def __init__(
        self, client: str, *, is_identified: bool, taint: TaintMemory | None = None, owner: str = ""
    ) -> None:
        """Take the agent's name for the log, and its memory and `owner` where others share the room.

        `is_identified` is False for a mere address.
        """
        self.client = client
        self.owner = owner
        """In whose share of what is bounded it is."""
        self.is_identified = is_identified
        self.tasks_at_servers = KnownTasks()
        """Those that the agent's calls made."""
        self.tasks_at_agent = KnownTasks()
        """Those that servers' requests made."""
        self.tools = KnownTools()
        """What the servers have said of theirs."""
        self.taint = taint or TaintMemory()
        """What came back, and what the agent said itself."""
        self.noted = Noted()
        """What the log was told of servers' tools already."""
        self._calls: dict[str, deque[float]] = {}
        self._approved: OrderedDict[str, Approval] = OrderedDict()

    def retry_after_ms(self, rule: Rule, rate: RateLimit, time: float) -> int | None:
        """Give how long `rule` is still exhausted; None when a call fits into its window."""
        calls = self._calls.get(rule.name)
        if not calls:
            return None
        if calls[-1] > time:  # the clock was set back, and nobody should wait until it is there again
            calls = self._calls[rule.name] = deque((min(call, time) for call in calls), calls.maxlen)
        while calls and calls[0] <= time - rate.window_seconds:
            calls.popleft()
        if len(calls) < rate.limit:
            return None
        # From the end, as a policy that was loaded since may count fewer calls than are kept.
        return max(1, ceil((calls[-rate.limit] + rate.window_seconds - time) * 1000))

    def count(self, rule: Rule, rate: RateLimit, time: float) -> None:
        """Count one call for `rule`."""
        calls = self._calls.get(rule.name)
        if calls is None or calls.maxlen != rate.limit:
            calls = self._calls[rule.name] = deque(calls or (), maxlen=rate.limit)
        calls.append(time)

    def uncount(self, rule: str, time: float) -> None:
        """Take back one call that was counted at `time` and then neither asked about nor sent."""
        calls = self._calls.get(rule)
        if calls and time in calls:
            calls.remove(time)

    def rename_servers(self, names: Mapping[str, str]) -> None:
        """Keep what is known of servers under other names, all at once: two may have changed theirs."""
        for known in (self.tools, self.tasks_at_servers, self.tasks_at_agent):
            known.rename(names)

    def approval_for(self, key: str) -> Approval | None:
        """Give the approval that a person let hold for `key`."""
        return self._approved.get(key)

    def approve(self, key: str, approval: Approval) -> None:
        """Remember an approval; never for a client known by its address alone."""
        if self.is_identified:
            self._approved[key] = approval
            if len(self._approved) > _MAX_REMEMBERED_APPROVALS:
                self._approved.popitem(last=False)


class Conversation:
    """One exchange of messages between an agent and a server."""

    __slots__ = (
        "_negotiated",
        "_session_over_http",
        "asks_about",
        "carries_other_answers",
        "command",
        "from_client",
        "from_server",
        "origin",
        "resumes",
        "server",
        "session",
        "spoken",
        "transport",
    )

    def __init__(self, session: Session, transport: Transport, server: str | None) -> None:
        """Take the agent, how it talks, and the policy's name for the server (None: it has none)."""
        self.session = session
        self.transport = transport
        self.server = server
        self.origin = ""
        """Of the server, over HTTP: what it is known by where the policy has no name for it."""
        self.command = ""
        """Of the server, on stdio: what people are shown where the policy has no name for it."""
        self._session_over_http: HttpSession | None = None
        self._negotiated: Revision | None = None
        self.carries_other_answers = False
        """A stream that brings answers to requests of other exchanges, as a GET does."""
        self.resumes = False
        """A stream that brings again what one that broke off may have brought already."""
        self.asks_about: Callable[[Id], bool] = _nothing
        """Whether a person is asked about a request under this id in any exchange of this agent and server:
        over HTTP no session need tie them together."""
        self.spoken = ASSUMED
        """Under which the agent's last message was judged."""
        self.from_client = CallsInFlight()
        self.from_server = requests_of_server() if transport is Transport.HTTP else CallsInFlight()

    def join(self, session_over_http: HttpSession, from_client: CallsInFlight) -> None:
        """Make this an exchange of an MCP session over HTTP, whose requests wait in `from_client`."""
        self._session_over_http = session_over_http
        self.from_client = from_client
        self.from_server = session_over_http.from_server

    def rename_server(self, name: str | None) -> None:
        """Go on under the name that a changed policy has for the server; what is known of it stays."""
        before, self.server = self.peer, name
        self.session.rename_servers({before: self.peer})

    def go_on_as(self, names: Mapping[str, str]) -> None:
        """Go on under the server's new name, where `names` has one; see `Session.rename_servers`."""
        name = names.get(self.peer, self.peer)
        self.server = None if name == self.origin else name

    @property
    def is_joined(self) -> bool:
        """Whether it is one of the exchanges of an MCP session over HTTP."""
        return self._session_over_http is not None

    @property
    def negotiated(self) -> Revision | None:
        """What `initialize` settled."""
        return self._negotiated if self._session_over_http is None else self._session_over_http.negotiated

    @negotiated.setter
    def negotiated(self, revision: Revision | None) -> None:
        self._negotiated = revision
        if self._session_over_http is not None:
            self._session_over_http.negotiated = revision

    @property
    def knows_servers_requests(self) -> bool:
        """Whether the agent can only answer what is in `from_server`."""
        over_http = self._session_over_http
        return self.transport is not Transport.HTTP or (over_http is not None and over_http.is_known_whole)

    def waits_for(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether a request of the agent is in flight under `id`, here or elsewhere in its session."""
        over_http = self._session_over_http
        return id in self.from_client or (over_http is not None and over_http.waits_for(id))

    def takes(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether a request of the agent is surely free to wait under `id`; False where that takes a look."""
        return self._session_over_http is None and self.from_client.takes(id)

    def may_be_meant_by(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether an agent could take an answer with this `id` for that to a request which is in flight."""
        over_http = self._session_over_http
        return self.from_client.may_be_meant_by(id) or (
            over_http is not None and any(map(over_http.waits_for, meanings(id)))
        )

    def is_asked_about(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether an agent could take an answer with this `id` for one to what a person is asked about."""
        return any(map(self.asks_about, meanings(id)))

    def find_sent(self, id: Id | None) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Give the agent's request under `id` that may be answered here."""
        own, over_http = self.from_client.find_sent(id), self._session_over_http
        if own is not None or id is None or over_http is None or not self.carries_other_answers:
            return own
        return over_http.find_sent(id)

    def find_answered(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Give the agent's request under `id` that was answered a while ago, where that is known."""
        return None if self._session_over_http is None else self._session_over_http.find_answered(id)

    def end(self, call: CallInFlight) -> None:
        """Forget that a request of the agent waits: it is answered."""
        self.from_client.end(call.id)
        if self._session_over_http is not None:
            self._session_over_http.end(call)

    def cancel(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Take the agent at its word that it wants no answer; give the request as it now stands."""
        over_http = self._session_over_http
        own = self.from_client.cancel(id)
        return own if own is not None or over_http is None else over_http.cancel(id)

    def leave(self) -> None:
        """End the exchange: what it leaves unanswered may be answered on another stream of its session."""
        if self._session_over_http is not None:
            self._session_over_http.leave(self.from_client)

    @property
    def revision(self) -> Revision:
        """What a server's own messages are held to, and what tells of no message answers under."""
        return self.negotiated or self.spoken

    @property
    def peer(self) -> str:
        """What the server is known by: the policy's name, which holds no `/`, else its origin."""
        return self.origin if self.server is None else self.server

    def calls(self, *, from_server: bool) -> CallsInFlight:
        """Give the requests of one side."""
        return self.from_server if from_server else self.from_client

    def tasks(self, *, from_server: bool) -> KnownTasks:
        """Give the tasks that one side's requests made."""
        return self.session.tasks_at_agent if from_server else self.session.tasks_at_servers


def _nothing(_id: Id) -> bool:
    return False
