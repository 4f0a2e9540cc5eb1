from __future__ import annotations

import json

import pytest

from agentfence.core.http.message import HttpRefusal
from agentfence.core.jsonrpc import Message, Notification, Request, Response
from agentfence.core.known_tools import KnownTool
from agentfence.core.message_revision import header_refusal, revision_of
from agentfence.core.revisions import ASSUMED, META_VERSION, revision_named
from agentfence.core.session import Conversation, Session, Transport


def claiming(version: object, method: str = "ping") -> Request:
    return Request(1, method, {"_meta": {META_VERSION: version}})  # type: ignore[dict-item]


def conversation(negotiated: str | None = None) -> Conversation:
    made = Conversation(Session("agent", is_identified=True), Transport.HTTP, None)
    made.negotiated = None if negotiated is None else revision_named(negotiated)
    return made


def headers(version: str | None) -> tuple[tuple[str, str], ...]:
    return () if version is None else (("Mcp-Protocol-Version", version),)


PLAIN = Request(1, "ping")


@pytest.mark.parametrize(
    ("messages", "negotiated", "sent", "revision"),
    [
        ([PLAIN], None, None, "2025-03-26"),
        ([PLAIN], "2025-06-18", None, "2025-06-18"),
        ([claiming("2026-07-28")], "2025-06-18", None, "2025-06-18"),
        ([claiming("2026-07-28")], None, None, "2026-07-28"),
        ([claiming("2024-11-05"), claiming("2025-06-18"), PLAIN], None, None, "2025-06-18"),
        ([claiming(7)], None, None, "2026-07-28"),
        ([Response(1, {}), Notification("x")], None, None, "2025-03-26"),
        ([PLAIN], None, "2025-11-25", "2025-11-25"),
        ([PLAIN], None, "draft", "2026-07-28"),
        ([PLAIN], "2025-06-18", "2025-11-25", "2025-06-18"),
        ([claiming("2026-07-28")], None, "2025-11-25", "2025-11-25"),
        ([], None, "2025-11-25", "2025-11-25"),
    ],
)
def test_session_wins_over_the_header_and_the_header_over_a_claim(
    messages: list[Message], negotiated: str | None, sent: str | None, revision: str
) -> None:
    given = None if sent is None else headers(sent)

    assert revision_of(messages, conversation(negotiated), given).name == revision


def test_over_http_a_claim_alone_is_no_revision() -> None:
    assert revision_of([claiming("2026-07-28")], conversation(), ()) is ASSUMED


def refusal(
    messages: list[Message], negotiated: str | None, sent: str | None, *, is_batch: bool = False
) -> HttpRefusal | None:
    talk, given = conversation(negotiated), headers(sent)
    revision = revision_of(messages, talk, given)
    return header_refusal(messages, revision, talk, given, is_batch=is_batch)


@pytest.mark.parametrize(
    ("messages", "negotiated", "sent"),
    [
        ([PLAIN], None, None),
        ([PLAIN], "2025-06-18", None),
        ([PLAIN], "2025-06-18", "2025-06-18"),
        ([Request(1, "initialize")], "2025-06-18", "2025-11-25"),
        ([Response(1, {})], "2025-06-18", "2025-06-18"),
    ],
)
def test_headers_that_agree_pass(messages: list[Message], negotiated: str | None, sent: str | None) -> None:
    assert refusal(messages, negotiated, sent) is None


@pytest.mark.parametrize(
    ("messages", "negotiated", "sent"),
    [
        ([PLAIN], "2025-06-18", "2025-11-25"),
        ([PLAIN], "2025-06-18", "2026-07-28"),
        ([Notification("initialize")], "2025-06-18", "2025-11-25"),
        ([Response(1, {})], "2025-06-18", "2024-11-05"),
        ([claiming("2026-07-28")], None, None),
        ([claiming("2026-07-28")], "2025-06-18", "2025-06-18"),
        ([PLAIN], None, "2026-07-28"),
    ],
)
def test_header_that_contradicts_is_refused(
    messages: list[Message], negotiated: str | None, sent: str | None
) -> None:
    refused = refusal(messages, negotiated, sent)

    assert refused is not None
    assert (refused.status, refused.reason_code) == (400, "header_mismatch")


@pytest.mark.parametrize(
    ("messages", "sent", "passes"),
    [
        ([PLAIN, PLAIN], None, True),
        ([PLAIN, Response(1, {})], "2025-03-26", True),
        ([claiming("2025-03-26")], "2025-03-26", True),
        ([claiming("2025-03-26")], None, False),
        ([PLAIN, claiming("2026-07-28")], "2025-03-26", False),
        ([Request(1, "initialize")], "2025-03-26", True),
    ],
)
def test_members_of_a_batch_claim_what_the_header_says(
    messages: list[Message], sent: str | None, passes: bool
) -> None:
    refused = refusal(messages, None, sent, is_batch=True)

    assert (refused is None) is passes
    assert refused is None or refused == HttpRefusal(
        400,
        -32020,
        "a member of the batch claims another revision than the MCP-Protocol-Version header",
        "header_mismatch",
    )


@pytest.mark.parametrize(
    ("method", "name", "said", "passes"),
    [
        ("tools/call", "deploy", "main", True),
        ("tools/call", "deploy", "other", False),
        ("tools/call", "elsewhere", "other", True),
        ("prompts/get", "deploy", "other", True),
    ],
)
def test_header_of_a_parameter_is_held_to_the_tool_that_this_server_has_shown(
    method: str, name: str, said: str, passes: bool
) -> None:
    talk = conversation()
    schema = {"type": "object", "properties": {"branch": {"type": "string", "x-mcp-header": "Branch"}}}
    for peer, tool in ((talk.peer, "deploy"), ("another server", "elsewhere")):
        talk.session.tools.learn(peer, tool, KnownTool("digest", json.dumps(schema)))
    message = Request(1, method, {"name": name, "arguments": {"branch": "main"}})

    assert (header_refusal([message], ASSUMED, talk, (("Mcp-Param-Branch", said),)) is None) is passes


def test_no_header_describes_a_batch() -> None:
    given = (("Mcp-Method", "ping"),)

    assert header_refusal([PLAIN], ASSUMED, conversation(), given) is None
    assert header_refusal([PLAIN], ASSUMED, conversation(), given, is_batch=True) is not None
