from __future__ import annotations

import pytest
from talking import Talk, call, forwarded, request, result

from agentfence.core.calls_in_flight import CallInFlight, Stage
from agentfence.core.decision import Decision
from agentfence.core.jsonrpc import Response
from agentfence.core.learning import learn_answer, learn_posted_answer, settled_revision
from agentfence.core.pending import Judged
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import ASSUMED, REVISIONS
from agentfence.core.session import Conversation, Session, Transport
from agentfence.core.tasks import Task


def in_flight(method: str) -> CallInFlight:
    return CallInFlight(1, "call-1", method, ASSUMED, "rule", Verdict.ASK, Stage.SENT)


@pytest.fixture
def conversation() -> Conversation:
    return Conversation(Session("agent", is_identified=True), Transport.STDIO, "files")


@pytest.mark.parametrize("revision", REVISIONS)
def test_result_of_initialize_settles_the_revision(conversation: Conversation, revision: object) -> None:
    answer = Response(1, {"protocolVersion": revision.name})  # type: ignore[attr-defined]
    learn_answer(conversation, in_flight("initialize"), answer, from_server=False)

    assert conversation.negotiated is revision
    assert conversation.spoken is revision


@pytest.mark.parametrize("value", [{"protocolVersion": 1}, {}, [], None])
def test_result_without_a_version_settles_nothing(conversation: Conversation, value: object) -> None:
    learn_answer(conversation, in_flight("initialize"), Response(1, value), from_server=False)  # type: ignore[arg-type]

    assert conversation.negotiated is None


def test_only_the_answer_to_an_agents_initialize_settles_anything(conversation: Conversation) -> None:
    answer = Response(1, {"protocolVersion": "2025-06-18"})
    learn_answer(conversation, in_flight("initialize"), answer, from_server=True)
    learn_answer(conversation, in_flight("tools/call"), answer, from_server=False)

    assert conversation.negotiated is None


@pytest.mark.parametrize(
    ("version", "name"),
    [("2023-01-01", "2023-01-01"), ("2099-01-01", "2099-01-01"), ("x\ny", "unknown"), ("y" * 65, "unknown")],
)
def test_unknown_revision_keeps_its_name_and_gets_the_newest_rules_with_a_handshake(
    version: str, name: str
) -> None:
    settled = settled_revision(version)

    assert (settled.name, settled.allows_batches, settled.is_modern) == (name, False, False)


@pytest.mark.parametrize("from_server", [False, True])
def test_task_follows_the_call_that_made_it(conversation: Conversation, from_server: bool) -> None:
    answer = Response(1, {"task": {"taskId": "t"}})
    learn_answer(conversation, in_flight("tools/call"), answer, from_server=from_server)

    assert conversation.tasks(from_server=from_server).find("files", "t") == Task(
        "call-1", "rule", Verdict.ASK
    )
    assert conversation.tasks(from_server=not from_server).find("files", "t") is None


def test_what_is_said_about_a_task_makes_none(conversation: Conversation) -> None:
    answer = Response(1, {"task": {"taskId": "t"}})
    learn_answer(conversation, in_flight("tasks/get"), answer, from_server=False)

    assert conversation.tasks(from_server=False).find("files", "t") is None


def test_posted_answer_tells_of_a_task_too(conversation: Conversation) -> None:
    decision = Decision(Verdict.ALLOW, "response_match", "why", "protocol")
    answer = Response(1, {"task": {"taskId": "t"}})
    learn_posted_answer(conversation, Judged("call-2", answer, decision), answer)

    task = conversation.tasks(from_server=True).find("files", "t")
    assert task == Task("call-2", "protocol", Verdict.ALLOW)


def test_server_polls_the_task_that_its_request_made_at_the_agent() -> None:
    policy = 'version: "1"\ndefaults: {decision: deny}\n'
    talk = Talk(policy)
    poll = request("tasks/get", 2, taskId="t")
    assert not forwarded(talk.server(poll))
    talk.server(request("sampling/createMessage", 1, messages=[]))
    talk.agent(result(1, {"task": {"taskId": "t"}}))

    assert forwarded(talk.server(poll)) == [poll]


def test_agent_polls_the_task_of_an_approved_call() -> None:
    talk = Talk()
    talk.say(talk.agent(call("send")))
    talk.server(result(1, {"task": {"taskId": "t"}}))

    assert forwarded(talk.agent(request("tasks/get", 2, taskId="t")))
