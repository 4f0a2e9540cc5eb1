"""MCP sessions over HTTP: what their exchanges must know of each other.

Over HTTP each POST is an exchange, with a `Conversation` of its own. Those of one session share its
revision, the server's requests, and which of the agent's requests are in flight elsewhere: a GET
stream that resumes another one brings the answers to them, and ids must not be used twice at once.

| a request of the agent is  | an answer on another stream of its session |
| -------------------------- | ------------------------------------------ |
| sent on                    | is the answer                              |
| asked about                | is none                                    |
| left: its exchange ended   | is the answer                              |
| answered                   | passes where the stream resumes (a replay) |
| not known                  | likewise, as `uncorrelated`                |

Invariant: nothing here grows without bound, and no session is pushed out by somebody else's.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from agentfence.core.calls_in_flight import CallsInFlight, Stage
from agentfence.core.shares import Shares
from agentfence.core.values import frozen, replace

if TYPE_CHECKING:
    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.jsonrpc import Id
    from agentfence.core.revisions import Revision

_MOST_KEPT: Final = 64
"""Requests that are left, and as many that were answered, for each session."""
_LONGEST_ID: Final = 256
"""Of a request that is kept so, in characters."""
_MOST_OF_SERVER: Final = 256
_MOST_CHARACTERS_OF_SERVER: Final = 65_536
_MAX_SESSIONS: Final = 10_000
_MAX_SESSIONS_OF_ONE: Final = 1_000
_LONGEST_SESSION_ID: Final = 1_024
_LIFETIME: Final = 24 * 3600.0


@frozen
class SessionKey:
    """What names an MCP session over HTTP: ids of one origin mean nothing to another."""

    origin: str
    credential: str
    """A digest of the `Authorization` header, never the header."""
    session_id: str
    """The value of `Mcp-Session-Id`."""


def requests_of_server() -> CallsInFlight:
    """Give an empty table for the requests that a server makes over HTTP."""
    return CallsInFlight(_MOST_OF_SERVER, _MOST_CHARACTERS_OF_SERVER)


class HttpSession:
    """One MCP session over HTTP."""

    __slots__ = ("_answered", "_left", "from_server", "in_exchanges", "is_known_whole", "negotiated")

    def __init__(self, from_server: CallsInFlight | None = None, *, is_known_whole: bool) -> None:
        """Take what the server has asked so far; `is_known_whole`: the fence saw the session begin."""
        self.negotiated: Revision | None = None
        """What `initialize` settled."""
        self.from_server = requests_of_server() if from_server is None else from_server
        self.is_known_whole = is_known_whole
        self.in_exchanges: dict[str, CallsInFlight] = {}
        """Where each request waits whose exchange is still open; the tables of exchanges keep this."""
        self._left: OrderedDict[str, CallInFlight] = OrderedDict()
        self._answered: OrderedDict[str, CallInFlight] = OrderedDict()

    def calls_of_exchange(self) -> CallsInFlight:
        """Give an empty table for the agent's requests in one more exchange."""
        return CallsInFlight(index=self.in_exchanges)

    def waits_for(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether a request under `id` is in flight in an exchange that is still open."""
        return str(id) in self.in_exchanges

    def find_sent(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Give the request under `id`, in whichever exchange, that the server may answer."""
        table = self.in_exchanges.get(str(id))
        return self._left.get(str(id)) if table is None else table.find_sent(id)

    def find_answered(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Give the request under `id` that was answered a while ago."""
        return self._answered.get(str(id))

    def end(self, call: CallInFlight) -> None:
        """Forget that `call` waits, and remember that it was answered."""
        table = self.in_exchanges.get(str(call.id))
        if table is not None:
            table.give_up(call.id, call.call_id)
        self._left.pop(str(call.id), None)
        _keep(self._answered, call)

    def leave(self, calls: CallsInFlight) -> None:
        """Keep what an exchange leaves unanswered when it ends: its answers may come on a later stream."""
        for call in calls.take_all():
            if call.stage is Stage.SENT:
                _keep(self._left, call)

    def cancel(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Take the agent at its word that it wants no answer; give the request as it now stands.

        What was sent on by an exchange that is open is still answered by that exchange.
        """
        table = self.in_exchanges.get(str(id))
        if table is not None:
            found = table.find(id)
            return found if found is None or found.stage is Stage.SENT else table.cancel(id)
        left = self._left.get(str(id))
        if left is not None:
            left = self._left[str(id)] = replace(left, stage=Stage.CANCELLED)
        return left


class HttpSessions:
    """The MCP sessions over HTTP, by what names them; an owner can push out only its own."""

    __slots__ = ("_sessions",)

    def __init__(self) -> None:
        self._sessions: Shares[SessionKey, HttpSession] = Shares(
            _MAX_SESSIONS, _MAX_SESSIONS_OF_ONE, _LIFETIME
        )

    def find(self, key: SessionKey, owner: str, time: float) -> HttpSession | None:
        """Give the session, a new one where it began before the fence.

        None for an id that is longer than any server's.
        """
        if len(key.session_id) > _LONGEST_SESSION_ID:
            return None
        found = self._sessions.find(key, time)
        if found is None:
            # In a share of its own: an agent can make up ids, but not have servers begin sessions with them.
            found = HttpSession(is_known_whole=False)
            self._sessions.keep(key, found, f"?{owner}", time)
        return found

    def begin(
        self, key: SessionKey, revision: Revision, from_server: CallsInFlight, owner: str, time: float
    ) -> None:
        """Keep the session that the origin's own `initialize` result began, if it is not known already."""
        if len(key.session_id) > _LONGEST_SESSION_ID:
            return
        session = self._sessions.find(key, time)
        if session is None:
            session = HttpSession(from_server, is_known_whole=True)
            self._sessions.keep(key, session, owner, time)
        session.negotiated = revision

    def forget(self, key: SessionKey) -> None:
        """Drop a session that was ended with DELETE."""
        self._sessions.forget(key)


def _keep(calls: OrderedDict[str, CallInFlight], call: CallInFlight) -> None:
    key = str(call.id)
    if len(key) > _LONGEST_ID:
        return
    calls[key] = call
    calls.move_to_end(key)
    if len(calls) > _MOST_KEPT:
        calls.popitem(last=False)
