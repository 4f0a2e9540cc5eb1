"""What the answer to a request settles for the messages that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.late_regex import late_regex
from agentfence.core.revisions import REVISIONS, Revision
from agentfence.core.tasks import Task, task_id_in

if TYPE_CHECKING:
    from agentfence.core.calls_in_flight import CallInFlight
    from agentfence.core.jsonrpc import Response
    from agentfence.core.pending import Judged
    from agentfence.core.session import Conversation

_NAME = late_regex(r"[A-Za-z0-9._-]{1,64}")


def learn_answer(
    conversation: Conversation, call: CallInFlight, response: Response, *, from_server: bool
) -> None:
    """Keep what the answer to `call` says; `from_server`: the call was the server's."""
    if call.method == "initialize" and not from_server and isinstance(response.result, dict):
        version = response.result.get("protocolVersion")
        if isinstance(version, str):
            conversation.negotiated = conversation.spoken = settled_revision(version)
    if not call.method.startswith("tasks/"):
        task = Task(call.call_id, call.rule, call.verdict, call.source)
        _learn_task(conversation, response, task, from_server=from_server)


def learn_posted_answer(conversation: Conversation, member: Judged, response: Response) -> None:
    """Keep what an agent's answer says to a request of the server that is not known any more."""
    task = Task(member.call_id, member.decision.rule, member.verdict)
    _learn_task(conversation, response, task, from_server=True)


def settled_revision(version: str) -> Revision:
    """Give the revision that an `initialize` result names: the agreement, not the client's wish.

    One that is not known gets the newest rules of those with a handshake, and keeps its name, as the
    header of later requests repeats it.
    """
    known = next((revision for revision in REVISIONS if revision.name == version), None)
    return known or Revision(version if _NAME.fullmatch(version) else "unknown", allows_batches=False)


def _learn_task(conversation: Conversation, response: Response, task: Task, *, from_server: bool) -> None:
    task_id = task_id_in(response.result)
    if task_id is not None:
        conversation.tasks(from_server=from_server).learn(conversation.peer, task_id, task)
