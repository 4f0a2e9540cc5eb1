"""A held flow is approved, denied or let go by whatever a person, the agent or the clock does to it."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from approval.questions import QUESTION, ask_about
from mitmproxy.flow import Error
from mitmproxy.test import taddons, tflow

from agentfence.approval.prompt import Reply
from agentfence.approval.waiting import MAX_WAITING
from agentfence.core.effects import Approval
from agentfence.mitm.intercepting import InterceptApprover, has_left, is_killed
from agentfence.mitm.intercepting import ask_about as ask_about_flow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mitmproxy import http

    from agentfence.approval.interface import Answered
    from agentfence.core.effects import Question


@pytest.fixture
async def updates() -> AsyncIterator[list[str]]:
    """The comments of flows as views were told of them."""
    seen: list[str] = []

    class View:
        def update(self, flows: Any) -> None:
            seen.extend(flow.comment for flow in flows)

    with taddons.context(View()):
        yield seen


def new_flow() -> http.HTTPFlow:
    flow = tflow.tflow(live=True)
    flow.client_conn.timestamp_end = None
    return flow


async def hold(flow: http.HTTPFlow, timeout: float = 50) -> asyncio.Task[Approval]:
    """Ask about a flow, and wait until it is held."""
    asking = asyncio.create_task(ask_about_flow(flow, QUESTION, InterceptApprover(timeout)))
    while not flow.intercepted:
        await asyncio.sleep(0.01)
    return asking


async def test_resume_approves(updates: list[str]) -> None:
    flow = new_flow()
    asking = await hold(flow)
    held = flow.comment
    flow.resume()
    approval = await asking

    assert (approval.outcome, approval.approver, approval.remember) == ("approved", "intercept", False)
    assert held.startswith("✋ ask files/write_file for stdio:4711: resume approves, kill denies")
    assert updates == [held]
    assert (flow.comment, flow.intercepted) == ("", False)


async def test_kill_denies_and_the_flow_can_be_answered(updates: list[str]) -> None:
    flow = new_flow()
    asking = await hold(flow)
    flow.kill()

    assert (await asking).outcome == "denied"
    assert (flow.error, flow.live, flow.intercepted) == (None, True, False)


async def test_nobody_answers(updates: list[str]) -> None:
    flow = new_flow()
    asking = await hold(flow, timeout=0.2)

    assert (await asking).outcome == "timeout"
    assert not flow.intercepted


async def test_agent_goes_away(updates: list[str]) -> None:
    flow = new_flow()
    asking = await hold(flow)
    flow.client_conn.timestamp_end = time.time()

    assert (await asking).outcome == "cancelled"
    await asyncio.sleep(0.2)
    assert not flow.intercepted


@pytest.mark.parametrize(("reply", "outcome"), [(Reply.APPROVE, "approved"), (Reply.DENY, "denied")])
async def test_answer_of_a_page_or_a_command_lets_go_at_once(
    reply: Reply, outcome: str, updates: list[str]
) -> None:
    flow, approver = new_flow(), InterceptApprover(50)
    asking = asyncio.create_task(ask_about_flow(flow, QUESTION, approver))
    while not flow.intercepted:
        await asyncio.sleep(0.01)
    (held,) = approver.held()
    assert (held.flow, held.opened.question) == (flow, QUESTION)
    assert 45 < held.left <= 50
    id_ = held.opened.id
    for other in ("call-7", "7", "xxxxx-7", id_ + ".2"):
        assert approver.answer(other, reply, "eva") is not None
    assert approver.answer(id_, Reply.APPROVE_FOR_SESSION, "eva") is not None  # the policy does not let it
    assert approver.answer(id_, reply, "eva") is None
    assert not flow.intercepted
    assert approver.answer(id_, Reply.APPROVE, "eve") is not None
    approval = await asking

    assert (approval.outcome, approval.by, approval.remember) == (outcome, "eva", False)
    await asyncio.sleep(0.2)
    assert approver.held() == []


async def test_answer_to_an_earlier_question_about_the_call_counts_for_nothing(updates: list[str]) -> None:
    approver, flow = InterceptApprover(50), new_flow()
    first = asyncio.create_task(ask_about_flow(flow, QUESTION, approver))
    await asyncio.sleep(0)
    (held,) = approver.held()
    approver.answer(held.opened.id, Reply.APPROVE, "eva")
    await first
    second = asyncio.create_task(ask_about_flow(flow, QUESTION, approver))  # as another policy asks otherwise
    await asyncio.sleep(0.2)

    assert approver.answer(held.opened.id, Reply.APPROVE, "eva") is not None
    assert flow.intercepted
    approver.close()
    assert (await second).outcome == "cancelled"


async def test_flow_that_is_reverted_is_not_approved(updates: list[str]) -> None:
    flow = new_flow()
    flow.backup()  # as before a replay
    asking = await hold(flow)
    held = flow.comment
    flow.revert()
    assert not flow.intercepted
    while not flow.intercepted:
        await asyncio.sleep(0.01)
    assert not asking.done()
    flow.resume()

    assert (await asking).outcome == "approved"
    assert held in updates


async def test_replay_that_is_reverted_is_taken_back(updates: list[str]) -> None:
    flow = new_flow()
    flow.backup()
    flow.is_replay = "request"
    asking = await hold(flow)
    flow.revert()

    assert (await asking).outcome == "cancelled"


async def test_each_question_has_its_own_time(updates: list[str]) -> None:
    approver, flows = InterceptApprover(0.5), [new_flow() for _ in range(6)]
    first = asyncio.create_task(ask_about_flow(flows[0], ask_about(1), approver))
    others = []
    for number, flow in enumerate(flows[1:], start=2):
        await asyncio.sleep(0.05)
        others.append(asyncio.create_task(ask_about_flow(flow, ask_about(number), approver)))
    times = [approval.waited_ms for approval in [await first, *[await other for other in others]]]

    assert min(times) >= 500


async def test_what_a_person_wrote_beside_the_flow_stays(updates: list[str]) -> None:
    flow = new_flow()
    asking = await hold(flow)
    flow.comment = "looks fine"
    flow.resume()
    await asking

    assert flow.comment == "looks fine"


async def test_question_is_withdrawn(updates: list[str]) -> None:
    flow, approver = new_flow(), InterceptApprover(50)
    asking = asyncio.create_task(ask_about_flow(flow, QUESTION, approver))
    while not flow.intercepted:
        await asyncio.sleep(0.01)
    approver.withdraw("call-7")

    assert (await asking).outcome == "cancelled"


async def test_fence_ends(updates: list[str]) -> None:
    flow, approver = new_flow(), InterceptApprover(50)
    asking = asyncio.create_task(ask_about_flow(flow, QUESTION, approver))
    while not flow.intercepted:
        await asyncio.sleep(0.01)
    approver.close()

    assert (await asking).outcome == "cancelled"


async def test_too_many_flows_are_held(updates: list[str]) -> None:
    approver, flows = InterceptApprover(50), [new_flow() for _ in range(MAX_WAITING + 1)]
    asking = [
        asyncio.create_task(ask_about_flow(flow, ask_about(number), approver))
        for number, flow in enumerate(flows)
    ]

    assert (await asking[-1]).outcome == "queue_full"
    assert not flows[-1].intercepted
    approver.close()
    assert {(await task).outcome for task in asking[:-1]} == {"cancelled"}


async def test_flow_that_makes_room_for_another_agents_is_let_go_and_denied(updates: list[str]) -> None:
    approver, flows = InterceptApprover(50), [new_flow() for _ in range(MAX_WAITING)]
    asking = [
        asyncio.create_task(ask_about_flow(flow, ask_about(number), approver))
        for number, flow in enumerate(flows)
    ]
    while not all(flow.intercepted for flow in flows):
        await asyncio.sleep(0.01)
    other = new_flow()
    asked = asyncio.create_task(ask_about_flow(other, ask_about(99, owner="another"), approver))

    assert (await asking[-1]).outcome == "queue_full"
    assert not flows[-1].intercepted
    assert other.intercepted
    other.resume()
    assert (await asked).outcome == "approved"
    approver.close()
    assert {(await task).outcome for task in asking[:-1]} == {"cancelled"}


async def test_view_that_fails_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = new_flow()
    with taddons.context() as context:

        async def fail(_: object) -> None:
            raise ValueError

        monkeypatch.setattr(context.master.addons, "trigger_event", fail)
        approval = await ask_about_flow(flow, QUESTION, InterceptApprover(50))

    assert approval.outcome == "io_error"
    assert not flow.intercepted


class FromAThread:
    """An approver that answers when it is told, from another thread."""

    name = "queue"

    def __init__(self, *outcomes: str) -> None:
        self._outcomes = list(outcomes)
        self.withdrawn: list[str] = []

    def ask(self, question: Question, answered: Answered) -> None:
        self._answered = answered
        for outcome in self._outcomes:
            threading.Thread(target=answered, args=(Approval(outcome, self.name),)).start()

    def withdraw(self, call_id: str) -> None:
        self.withdrawn.append(call_id)
        self._answered(Approval("cancelled", self.name))

    def close(self) -> None:
        pass


async def test_answer_comes_from_a_thread() -> None:
    flow = new_flow()

    assert (await ask_about_flow(flow, QUESTION, FromAThread("approved"))).outcome == "approved"
    assert not flow.intercepted


async def test_second_answer_counts_for_nothing() -> None:
    approval = await ask_about_flow(new_flow(), QUESTION, FromAThread("denied", "denied"))
    await asyncio.sleep(0.05)

    assert approval.outcome == "denied"


async def test_flow_is_killed_while_somebody_else_is_asked() -> None:
    flow, approver = new_flow(), FromAThread()
    asking = asyncio.create_task(ask_about_flow(flow, QUESTION, approver))
    await asyncio.sleep(0.05)
    flow.kill()

    assert (await asking).outcome == "cancelled"
    assert approver.withdrawn == ["call-7"]
    assert (flow.error, flow.live) == (None, True)


async def test_answer_after_the_end_of_the_loop_is_dropped() -> None:
    kept: list[Answered] = []

    class Late(FromAThread):
        def ask(self, question: Question, answered: Answered) -> None:
            kept.append(answered)
            answered(Approval("denied", self.name))

    def run() -> None:
        asyncio.run(ask_about_flow(new_flow(), QUESTION, Late()))

    await asyncio.to_thread(run)
    kept[0](Approval("approved", "queue"))


def test_other_errors_are_no_kill() -> None:
    flow = tflow.tflow()
    assert not is_killed(flow)
    flow.error = Error("Client disconnected.")
    assert not is_killed(flow)


def test_replayed_flow_has_no_agent_to_leave() -> None:
    flow = tflow.tflow()
    flow.client_conn.timestamp_end = 1.0
    assert has_left(flow)
    flow.is_replay = "request"
    assert not has_left(flow)
