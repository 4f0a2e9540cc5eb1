"""What happens to JSON arrays: decided by the negotiated revision.

The table is docs/wire.md's: until 2025-03-26 an array may be judged member by member and is sent on
only as a whole; from 2025-06-18 on arrays are no part of MCP. Real servers execute them in any revision,
so nothing here ever passes an array that was not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.gate_settings import OnBatch
from agentfence.core.jsonrpc import INVALID_REQUEST, Notification, Request
from agentfence.core.judging import judge, violating
from agentfence.core.refusals import Refusal
from agentfence.core.revisions import Kind, code_for

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Circumstances
    from agentfence.core.envelope import Batch, Entry
    from agentfence.core.gate import Gate
    from agentfence.core.gate_settings import GateSettings
    from agentfence.core.pending import Judged
    from agentfence.core.revisions import Revision
    from agentfence.core.session import Conversation


def refuse_batch(batch: Batch, revision: Revision, settings: GateSettings) -> Refusal | None:
    """Give why the array is refused as a whole; None when its members are to be judged."""
    if settings.on_batch is OnBatch.REJECT:
        hint = ", or set on_batch to evaluate" if revision.allows_batches else ""
        text = f"JSON-RPC batches are not accepted: send one request per body{hint}"
        return _refusal(text, code_for(Kind.BATCH, revision))
    if batch.size > settings.max_batch:
        text = f"the batch has {batch.size} members, over the limit of {settings.max_batch} (max_batch)"
        return _refusal(text, status=400)
    if not revision.allows_batches:
        text = f"MCP {revision.name} has no JSON-RPC batches: send one request per body"
        return _refusal(text)
    if batch.size == 0:
        return _refusal("the batch is empty")
    if batch.duplicate_ids:
        return _refusal("the batch holds one id more than once")
    return None


def _refusal(text: str, code: int = INVALID_REQUEST, status: int = 200) -> Refusal:
    return Refusal(code, "batch_rejected", text, status)


def judge_batch(
    gate: Gate, batch: Batch, conversation: Conversation, circumstances: Circumstances
) -> tuple[Judged, ...]:
    """Judge each member, in order."""
    return tuple(_judge_entry(gate, entry, conversation, circumstances) for entry in batch.entries)


def _judge_entry(
    gate: Gate, entry: Entry, conversation: Conversation, circumstances: Circumstances
) -> Judged:
    message, problem = entry.message, entry.problem or "the entry is no JSON-RPC message"
    if isinstance(message, Request | Notification) and message.method == "initialize":
        message, problem = None, "initialize cannot be part of a batch"
    if message is None:
        return violating(None, gate.next_call_id(), INVALID_REQUEST, problem, entry.id)
    return judge(gate, message, conversation, circumstances)
