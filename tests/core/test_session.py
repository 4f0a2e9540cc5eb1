from __future__ import annotations

import pytest
from talking import NOW

from agentfence.core import session as session_module
from agentfence.core.effects import Approval
from agentfence.core.known_tools import KnownTool
from agentfence.core.policy.model import RateLimit, Rule, RuleKind, Verdict
from agentfence.core.revisions import ASSUMED, REVISIONS
from agentfence.core.session import Conversation, Session, Transport
from agentfence.core.tasks import Task

RULE = Rule("limited", RuleKind.EXACT, Verdict.ALLOW)
OTHER = Rule("other", RuleKind.EXACT, Verdict.ALLOW)
TWICE = RateLimit(2, 60)
NEWEST = REVISIONS[-1]


@pytest.fixture
def session() -> Session:
    return Session("agent", is_identified=True)


def test_window_slides_with_the_clock(session: Session) -> None:
    assert session.retry_after_ms(RULE, TWICE, NOW) is None
    session.count(RULE, TWICE, NOW)
    session.count(RULE, TWICE, NOW + 10)

    assert session.retry_after_ms(RULE, TWICE, NOW + 10) == 50_000
    assert session.retry_after_ms(OTHER, TWICE, NOW + 10) is None
    assert session.retry_after_ms(RULE, TWICE, NOW + 59.9999) == 1
    assert session.retry_after_ms(RULE, TWICE, NOW + 59.9989) == 2
    assert session.retry_after_ms(RULE, TWICE, NOW + 60) is None
    session.count(RULE, TWICE, NOW + 60)
    assert session.retry_after_ms(RULE, TWICE, NOW + 60) == 10_000


def test_clock_that_is_set_back_makes_nobody_wait_for_it(session: Session) -> None:
    session.count(RULE, TWICE, NOW)
    session.count(RULE, TWICE, NOW + 10)

    assert session.retry_after_ms(RULE, TWICE, NOW - 3600) == 60_000
    assert session.retry_after_ms(RULE, TWICE, NOW - 3541) == 1_000
    assert session.retry_after_ms(RULE, TWICE, NOW - 3540) is None


def test_call_that_was_not_sent_is_not_counted(session: Session) -> None:
    session.uncount("limited", NOW)
    session.count(RULE, TWICE, NOW)
    session.count(RULE, TWICE, NOW + 1)
    session.uncount("limited", NOW + 2)
    assert session.retry_after_ms(RULE, TWICE, NOW + 2) is not None
    session.uncount("limited", NOW)

    assert session.retry_after_ms(RULE, TWICE, NOW + 2) is None


def test_approvals_are_remembered_up_to_a_bound(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_MAX_REMEMBERED_APPROVALS", 2)
    for key in "abc":
        session.approve(key, Approval("approved", "session", by=key))

    assert [session.approval_for(key) for key in "abc"] == [
        None,
        Approval("approved", "session", by="b"),
        Approval("approved", "session", by="c"),
    ]


def test_address_is_nobody_to_remember_approvals_for() -> None:
    session = Session("address:127.0.0.1", is_identified=False)
    session.approve("key", Approval("approved", "session"))

    assert session.approval_for("key") is None


def test_conversation_keeps_both_sides_apart(session: Session) -> None:
    conversation = Conversation(session, Transport.STDIO, "files")

    assert conversation.calls(from_server=False) is conversation.from_client
    assert conversation.calls(from_server=True) is conversation.from_server
    assert conversation.tasks(from_server=False) is session.tasks_at_servers
    assert conversation.tasks(from_server=True) is session.tasks_at_agent


def test_what_was_negotiated_wins_over_what_is_spoken(session: Session) -> None:
    conversation = Conversation(session, Transport.STDIO, None)
    assert conversation.revision is ASSUMED
    conversation.spoken = NEWEST
    assert conversation.revision is NEWEST
    conversation.negotiated = REVISIONS[0]

    assert conversation.revision is REVISIONS[0]


def test_what_is_known_of_a_server_stays_when_its_name_changes(session: Session) -> None:
    conversation = Conversation(session, Transport.STDIO, None)
    tool, task = KnownTool("sha256:0"), Task("call-1", "rule", Verdict.ALLOW)
    session.tools.learn(conversation.peer, "read", tool)
    session.tasks_at_servers.learn(conversation.peer, "t", task)
    session.tasks_at_servers.learn("other", "t", task)

    for name in ("files", "files", "disk", None):
        conversation.rename_server(name)
        assert conversation.server == name
        assert session.tools.find(conversation.peer, "read") is tool
        assert session.tasks_at_servers.find(conversation.peer, "t") is task
    assert session.tasks_at_servers.find("files", "t") is None
    assert session.tasks_at_servers.find("other", "t") is task


def test_servers_may_swap_their_names(session: Session) -> None:
    tools = {name: KnownTool(f"sha256:{name}", "x" * 10) for name in "abc"}
    for name, tool in tools.items():
        session.tools.learn(name, "read", tool)
    session.rename_servers({"a": "b", "b": "a", "unknown": "c"})

    assert [session.tools.find(name, "read") for name in "abc"] == [tools["b"], tools["a"], tools["c"]]


def test_an_exchange_over_http_goes_on_under_the_new_name(session: Session) -> None:
    conversation = Conversation(session, Transport.HTTP, None)
    conversation.origin = "https://h:443"
    servers = []
    for names in ({}, {"https://h:443": "a", "a": "b"}, {"a": "b"}, {"b": "https://h:443"}):
        conversation.go_on_as(names)
        servers.append(conversation.server)

    assert servers == [None, "a", "b", None]
