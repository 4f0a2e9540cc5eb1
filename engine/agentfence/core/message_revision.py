"""Under which revision of MCP a message is judged, and what contradicts it.

HTTP: what the session settled, else the version header, else the assumed revision. Stdio: what
`initialize` settled, else what the message's `_meta` claims, else the assumed one.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from agentfence.core.events import tool_of
from agentfence.core.jsonrpc import Request, Response
from agentfence.core.revisions import ASSUMED, REVISIONS, meta_version, revision_named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.http.message import Headers, HttpRefusal
    from agentfence.core.jsonrpc import Message
    from agentfence.core.revisions import Revision
    from agentfence.core.session import Conversation

    type CheckMirrored = Callable[[Headers, Message | None, Revision, Json], HttpRefusal | None]


_MOST_REMEMBERED: Final = 64


def revision_of(messages: Sequence[Message], conversation: Conversation, headers: Headers | None) -> Revision:
    """Give the revision of the messages in one body: the newest of those that are claimed."""
    if conversation.negotiated is not None:
        return conversation.negotiated
    if headers is not None:
        declared = _version_header(headers)
        return ASSUMED if declared is None else revision_named(declared)
    newest: Revision | None = None
    for message in messages:
        claimed = _claimed(message)
        if claimed is not None:
            revision = revision_named(claimed)
            newest = revision if newest is None else max(newest, revision, key=REVISIONS.index)
    return newest or ASSUMED


def header_refusal(
    messages: Sequence[Message],
    revision: Revision,
    conversation: Conversation,
    headers: Headers,
    *,
    is_batch: bool = False,
) -> HttpRefusal | None:
    """Give the refusal of messages that their headers, or their session, contradict."""
    declared, settled, check_mirrored = _version_header(headers), conversation.negotiated, _check_mirrored()
    if settled is not None and declared not in {None, settled.name} and not _initializes(messages):
        return _mismatch(
            f"the MCP-Protocol-Version header contradicts its session, which settled on {settled.name}"
        )
    if not is_batch:
        return check_mirrored(headers, messages[0], revision, _schema_of(messages[0], conversation))
    if any(_claimed(message) not in {None, declared} for message in messages):
        return _mismatch("a member of the batch claims another revision than the MCP-Protocol-Version header")
    return check_mirrored(headers, None, revision, None)


def _mismatch(text: str) -> HttpRefusal:
    from agentfence.core.http.message import HttpRefusal

    return HttpRefusal(400, -32020, text, "header_mismatch")


@cache
def _check_mirrored() -> CheckMirrored:
    """Load the rules of headers late, as the relay has none and starts often."""
    from agentfence.core.http.mirrored_headers import check_mirrored

    return check_mirrored


def _initializes(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, Request) and message.method == "initialize" for message in messages)


def _claimed(message: Message) -> str | None:
    return None if isinstance(message, Response) else meta_version(message.params)


def _schema_of(message: Message, conversation: Conversation) -> Json:
    """Give the schema of the tool that a message calls, where a list of tools has shown it."""
    if isinstance(message, Response):
        return None
    tool = tool_of(message)
    known = None if tool is None else conversation.session.tools.find(conversation.peer, tool)
    return None if known is None or not known.mirrored else _read_schema(known.mirrored)


@lru_cache(maxsize=_MOST_REMEMBERED)
def _read_schema(text: str) -> Json:
    schema: Json = json.loads(text)
    return schema


@lru_cache(maxsize=_MOST_REMEMBERED)
def _version_header(headers: Headers) -> str | None:
    from agentfence.core.http.message import single

    return single(headers, "mcp-protocol-version")
