"""What becomes of messages on which the fence itself failed when it had asked a person about them.

They are refused, whoever sent them, and whoever waits for an answer gets an error: nobody hangs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentfence.core import refusals
from agentfence.core.answers import refuse_answer
from agentfence.core.effects import Answer, Drop, Record
from agentfence.core.jsonrpc import Request

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.effects import Effects
    from agentfence.core.gate import Gate
    from agentfence.core.pending import Pending

_CODE: Final = "internal_error"
_PROBLEM: Final = "AgentFence failed on it when a person had answered"


def fail_asked(gate: Gate, pending: Pending, circumstances: Circumstances) -> Effects:
    """Refuse what waited in `pending`, and answer everybody who waits for it."""
    conversation = pending.conversation
    if not pending.from_server:
        return gate.internal_failure(pending.body, conversation, circumstances)
    if pending.answer is not None:  # as it was before it was held, so that its caller is answered
        conversation.from_client.put(pending.answer.call)
        return refuse_answer(gate, pending.body, conversation, circumstances, _PROBLEM)
    effects: list[Record | Answer] = []
    for member in pending.members:
        event = gate.events.refused(
            conversation, circumstances.time, member.call_id, _CODE, _PROBLEM, to_client=True
        )
        effects.append(Record(event))
        if isinstance(member.message, Request):
            conversation.from_server.give_up(member.id, member.call_id)
            error = refusals.internal_answer(member.id, pending.revision, _PROBLEM, _CODE, member.call_id)
            effects.append(Answer(error))
    return (*effects, Drop())
