"""What the gate wants done: a surface carries these out, in order, and decides nothing.

`Forward` goes on to the other side, `Answer` goes back to the sender. A surface stops at the first
`Record` that cannot be written and holds messages that would go on, and asks `Gate.unrecorded`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.values import frozen, message_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.http.message import Headers
    from agentfence.core.pending import Pending

type Event = Mapping[str, Json]
"""An audit event without what its log adds: `schema_version`, `session_id`, `seq` and the chain."""


class WrittenEvent(dict[str, "Json"]):
    """An event that is like many before but for a few members. Once it is made it may not be changed."""

    __slots__ = ("text",)

    text: str
    """Its members as JSON without the braces, but for `arguments`, which come last."""


@message_value
class Forward:
    """Send these bytes on. They are the judged ones, unchanged, without a line end."""

    body: bytes


@message_value
class Answer:
    """Send this JSON back to whoever sent the message."""

    body: bytes
    status: int = 200
    """The HTTP status; means nothing on stdio."""
    close: bool = False
    """Whether the HTTP connection ends with it."""
    headers: Headers = ()
    """Further HTTP headers, as the verbs that are allowed."""


@message_value
class Drop:
    """Send nothing on. Over HTTP the sender gets 202 without a body, on stdio nothing."""


@message_value
class Record:
    """Write this event before anything that follows."""

    event: Event
    pending: Pending | None = None
    """When the event cannot be written, `Gate.unrecorded` says what to do with these instead of the
    rest; None: go on, as a refusal stays a refusal."""


@message_value
class Question:
    """What a person is asked: everything they need, redacted."""

    call_id: str
    client: str
    server: str | None
    method: str
    tool: str | None
    arguments: Json
    """Redacted; control characters are still in it."""
    rule: str
    reason: str
    message: str | None
    """The policy's own words for this rule."""
    remember: str | None
    """`call` or `tool` where the policy lets an approval hold for the session."""
    origin: str = ""
    """Of the server, over HTTP; on stdio its command in brackets, redacted."""
    owner: str = ""
    """In whose share of the places for questions it waits."""


@message_value
class Ask:
    """Ask a person, then give what they said to `Gate.resolve`."""

    question: Question
    pending: Pending


@message_value
class Withdraw:
    """Take back the question about this call; the approval then resolves as cancelled."""

    call_id: str


type Effect = Forward | Answer | Drop | Record | Ask | Withdraw
type Effects = tuple[Effect, ...]


@frozen
class Given:
    """How an approval came about that holds for the session; who gave it is the approval's `by`."""

    approver: str
    time: float
    """In seconds since 1970."""
    call_id: str
    """The call that was asked about."""


@frozen
class Approval:
    """What came of a question."""

    outcome: str
    """`approved`, `denied`, `timeout`, `cancelled`, `edited`, `io_error`, `no_approver` or `queue_full`."""
    approver: str
    """Which approver: `tty`, `queue`, `intercept`, `deny`; `session` for a remembered approval, `client`
    for a question that its own sender withdrew."""
    by: str | None = None
    """Who answered, where that is known."""
    waited_ms: int = 0
    remember: bool = False
    """The person let it hold for the session."""
    advice: str | None = None
    """How to get an approver, for `no_approver`."""
    given: Given | None = None
    """How it was given, for a remembered approval."""

    @property
    def is_approved(self) -> bool:
        """Whether the call may go on."""
        return self.outcome == "approved"
