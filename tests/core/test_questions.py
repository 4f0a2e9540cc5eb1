"""Questions: what a person is told, redacted."""

from __future__ import annotations

import pytest
from talking import make_gate

from agentfence.core.agents import Agent, Agents
from agentfence.core.decision import Decision
from agentfence.core.jsonrpc import Request, Response
from agentfence.core.pending import Judged
from agentfence.core.policy.model import Verdict
from agentfence.core.questions import question_about
from agentfence.core.session import Conversation, Session, Transport

TOKEN = "ghp_Zq7Wm2Xk9Lp4Vt8Rn3Bc6Hd1Fs5Jg0Ya7Te2"
DECISION = Decision(Verdict.ASK, "rule_match", "a reason", "send", message="a person looks", remember="call")


def ask(message, *, is_identified=True):
    gate = make_gate('version: "1"')
    conversation = Conversation(Session("me", is_identified=is_identified), Transport.STDIO, "mail")
    return question_about(Judged("call-1", message, DECISION), conversation, gate.events)


def test_question_about_a_call_names_all_that_a_person_needs_and_no_secret():
    question = ask(Request(1, "tools/call", {"name": "send", "arguments": {"to": "me", "text": TOKEN}}))

    assert (question.call_id, question.client, question.server) == ("call-1", "me", "mail")
    assert (question.method, question.tool) == ("tools/call", "send")
    assert question.arguments["to"] == "me"
    assert TOKEN not in str(question)
    assert (question.rule, question.reason, question.message) == ("send", "a reason", "a person looks")


def test_question_says_where_a_server_is_that_the_policy_has_no_name_for():
    gate = make_gate('version: "1"')
    conversation = Conversation(Session("me", is_identified=True), Transport.HTTP, None)
    conversation.origin = "https://mcp.example:443"
    question = question_about(
        Judged("call-1", Request(1, "tools/call", {"name": "send"}), DECISION), conversation, gate.events
    )

    assert (question.server, question.origin) == (None, "https://mcp.example:443")


def test_question_waits_in_the_share_of_who_owns_the_agents_names():
    gate, session = (
        make_gate('version: "1"'),
        Agents().session_of(Agent("user:ann", "net:4:c00002", is_identified=False)),
    )
    question = question_about(
        Judged("call-1", Request(1, "tools/call", {"name": "send"}), DECISION),
        Conversation(session, Transport.HTTP, None),
        gate.events,
    )

    assert (question.client, question.owner) == ("user:ann", "net:4:c00002")


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("npx -y some-mcp-server", "[npx -y some-mcp-server]"),
        (f"serve {TOKEN}", "[serve [REDACTED:github-token]]"),
    ],
)
def test_question_says_by_which_command_a_server_runs_that_has_no_name(command, shown):
    conversation = Conversation(Session("me", is_identified=True), Transport.STDIO, None)
    conversation.command = command
    member = Judged("call-1", Request(1, "tools/call", {"name": "send"}), DECISION)

    question = question_about(member, conversation, make_gate('version: "1"').events)

    assert (question.server, question.origin) == (None, shown)


def test_question_says_when_the_server_asks():
    gate = make_gate('version: "1"')
    member = Judged("call-1", Request(1, "sampling/createMessage", {"maxTokens": 5}), DECISION)
    conversation = Conversation(Session("me", is_identified=True), Transport.STDIO, "mail")
    question = question_about(member, conversation, gate.events, from_server=True)

    assert question.reason == "the server asks this of the agent; a reason"


def test_question_about_another_message_has_no_tool():
    question = ask(Request(1, "sampling/createMessage", {"maxTokens": 5}))

    assert (question.tool, question.arguments) == (None, {"maxTokens": 5})


def test_approval_can_hold_for_an_agent_that_is_known_by_more_than_its_address():
    request = Request(1, "tools/call", {"name": "send"})

    assert ask(request).remember == "call"
    assert ask(request, is_identified=False).remember is None


@pytest.mark.parametrize("message", [None, Response(1, result={})])
def test_nothing_else_needs_a_person(message):
    with pytest.raises(TypeError):
        ask(message)


def test_server_without_a_name_is_shown_by_its_origin():
    conversation = Conversation(Session("me", is_identified=True), Transport.HTTP, None)
    conversation.origin = "https://mcp.example.com:443"
    member = Judged("call-1", Request(1, "tools/call", {"name": "send"}), DECISION)
    events = make_gate('version: "1"').events

    question = question_about(member, conversation, events)

    assert (question.server, question.origin) == (None, "https://mcp.example.com:443")
