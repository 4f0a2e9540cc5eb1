"""The answers to refused messages: the codes of each revision, and words that stop a retry.

Agents retry what they do not understand, so every text says what was refused, by which rule, and
that the same call will be refused again. None holds an argument's value.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agentfence.core.jsonrpc import error_answer, result_answer
from agentfence.core.revisions import Kind, code_for
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agentfence.core.constraints.interface import Json
    from agentfence.core.decision import Decision
    from agentfence.core.http.message import Headers, HttpRefusal
    from agentfence.core.jsonrpc import Id, Request
    from agentfence.core.revisions import Revision

UNKNOWN_METHOD = "agentfence/refused"
"""What a server's refused request is turned into, for the agent to refuse."""

NOT_SENT = "not sent: another member was refused"
"""The reason of a batch's member that would have passed alone."""


@frozen
class Refusal:
    """Why a whole body or line is refused before its messages are judged."""

    code: int
    """The JSON-RPC error's."""
    reason_code: str
    text: str
    status: int = 200
    """The HTTP status."""
    close: bool = False
    """Whether the HTTP connection ends with it."""
    headers: Headers = ()

    @classmethod
    def of_exchange(cls, refusal: HttpRefusal) -> Refusal:
        """Give the refusal of an HTTP exchange as one of its body."""
        return cls(
            refusal.code, refusal.reason_code, refusal.message, refusal.status, headers=refusal.headers
        )


def blocked_text(decision: Decision, explanation: str, code: str = "") -> str:
    """Give the words for a message that the policy, or a person, refused; `code` says for what."""
    own_words = f" ({decision.message})" if decision.message else ""
    wait = decision.retry_after_ms
    outlook = "The same call will be refused again." if wait is None else f"It may pass in {wait} ms."
    if code == "approval_queue_full":
        outlook = "It can be asked about when fewer wait."
    return f"blocked by AgentFence policy: {explanation}{own_words}; rule `{decision.rule}`. {outlook}"


def details(
    decision: str, reason_code: str, rule: str | None, call_id: str, retry_after_ms: int | None = None
) -> Mapping[str, Json]:
    """Give `error.data`: what a program may rely on.

    When to try again stands outside of our own member too, where programs look that do not know it.
    """
    members: dict[str, Json] = {
        "decision": decision,
        "reason_code": reason_code,
        "rule": rule,
        "call_id": call_id,
    }
    if retry_after_ms is None:
        return {"agentfence": members}
    wait: dict[str, Json] = {"retryAfterMs": retry_after_ms}
    return {"agentfence": members | wait, **wait}


def blocked_error(id: Id, revision: Revision, text: str, data: Mapping[str, Json]) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Give the JSON-RPC error for a blocked request."""
    return error_answer(id, code_for(Kind.BLOCKED, revision), text, data)


def blocked_result(request: Request, revision: Revision, text: str) -> bytes | None:
    """Give the answer to a blocked `tools/call` as a result that says `isError`, for the model to read.

    None for what must be answered with an error: other methods, and a call that asked for a task, as
    clients read its result as a `CreateTaskResult`.
    """
    if request.method != "tools/call" or "task" in (request.params or {}):
        return None
    result: dict[str, Json] = {"content": [{"type": "text", "text": text}], "isError": True}
    if revision.is_modern:
        result["resultType"] = "complete"
    return result_answer(request.id, result)


def upstream_answer(id: Id, revision: Revision, text: str, call_id: str) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Give the answer to a call whose server cannot be reached or went away."""
    data = details("allow", "upstream_unreachable", None, call_id)
    return error_answer(id, code_for(Kind.UPSTREAM, revision), text, data)


def internal_answer(
    id: Id | None,  # noqa: A002 - JSON-RPC's word
    revision: Revision,
    text: str,
    reason_code: str,
    call_id: str,
) -> bytes:
    """Give the answer to a message that the fence itself could not handle."""
    data = details("deny", reason_code, None, call_id)
    return error_answer(id, code_for(Kind.INTERNAL, revision), text, data)


def batch_answer(answers: Iterable[bytes]) -> bytes:
    """Give one array of answers."""
    return b"[" + b",".join(answers) + b"]"


def unknown_request(id: Id) -> bytes:  # noqa: A002 - JSON-RPC's word
    """Give a request that every client answers with "method not found"."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": UNKNOWN_METHOD}).encode()
