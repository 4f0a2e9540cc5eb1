"""What a person is asked about a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.effects import Question
from agentfence.core.events import tool_of
from agentfence.core.jsonrpc import Notification, Request

if TYPE_CHECKING:
    from agentfence.core.events import Events
    from agentfence.core.pending import Judged
    from agentfence.core.session import Conversation


def question_about(
    member: Judged, conversation: Conversation, events: Events, *, from_server: bool = False
) -> Question:
    """Give the question about a message that a policy says to ask about, redacted.

    Raises:
        TypeError: Nothing but a request or a notification can need a person.

    """
    message, decision, session = member.message, member.decision, conversation.session
    if not isinstance(message, Request | Notification):
        raise TypeError("only a request or a notification can need a person")
    tool, reason = tool_of(message), events.text(decision.reason)
    return Question(
        call_id=member.call_id,
        client=session.client,
        server=conversation.server,
        origin=conversation.origin or _in_brackets(events.text(conversation.command)),
        method=events.name(message.method),
        tool=None if tool is None else events.name(tool),
        arguments=events.arguments(message),
        rule=decision.rule,
        reason=f"the server asks this of the agent; {reason}" if from_server else reason,
        message=decision.message,
        remember=decision.remember if session.is_identified else None,
        owner=session.owner,
    )


def _in_brackets(command: str) -> str:
    """Give a command so that nobody takes it for a name, which holds no bracket."""
    return f"[{command}]" if command else ""
