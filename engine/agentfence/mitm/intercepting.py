"""Asking about a flow: whoever is asked, and by mitmproxy's own hold.

Under mitmweb and the console a flow that is held shows who is waited for: *resume* approves, *kill*
denies. The host's `wait_for_resume` is never woken by a kill (mitmproxy issue 8045), and no hook tells
that a client has gone, so both are looked for. That a flow is no longer held says nothing: whoever
reverts one puts back how it was before it was held.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from mitmproxy import ctx, hooks
from mitmproxy.flow import Error

from agentfence.approval.waiting import Waiting, carry_reply
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from mitmproxy import http

    from agentfence.approval.interface import Answered, Approver
    from agentfence.approval.prompt import Prompt, Reply
    from agentfence.approval.waiting import Open
    from agentfence.core.effects import Approval, Question

POLL_SECONDS: Final = 0.1


@frozen
class Held:
    """A flow that waits for a person."""

    opened: Open
    flow: http.HTTPFlow
    waited_ms: int
    left: float
    """Seconds until it is denied."""


class InterceptApprover:
    """Holds the flow until somebody resumes or kills it in mitmweb or the console."""

    name = "intercept"

    def __init__(self, timeout: float) -> None:
        """Take how long a flow is held, in seconds."""
        self._waiting = Waiting(self.name, timeout)
        self._flows: dict[str, http.HTTPFlow] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def carry(self, call_id: str, flow: http.HTTPFlow) -> None:
        """Take the flow that the next question about `call_id` comes with."""
        self._flows[call_id] = flow

    def ask(self, question: Question, answered: Answered) -> None:
        """Hold the flow, from mitmproxy's event loop."""
        call_id, flow = question.call_id, self._flows[question.call_id]
        former, ours = flow.comment, ""

        def let_go(approval: Approval) -> None:
            self._flows.pop(call_id, None)
            if flow.comment == ours:  # else somebody wrote there meanwhile
                flow.comment = former
            flow.resume()
            answered(approval)

        opened = self._waiting.add(question, let_go)
        if opened is None:
            return
        flow.comment = ours = _asks(opened.prompt, self._waiting.timeout)
        flow.intercept()
        # At once, as it takes a flow for resumed that is not held when it begins.
        loop = asyncio.get_running_loop()
        resumed = asyncio.Task(flow.wait_for_resume(), loop=loop, eager_start=True)
        self._waiting.show(call_id)
        task = loop.create_task(self._hold(flow, opened, resumed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def held(self) -> list[Held]:
        """Give the flows that wait for a person, the oldest first."""
        waiting = self._waiting
        return [
            Held(
                opened,
                self._flows[opened.question.call_id],
                waiting.waited_ms(opened),
                waiting.left(opened),
            )
            for opened in waiting.questions()
        ]

    def answer(self, id_: str, reply: Reply, by: str) -> str | None:
        """Take a person's word on a question; give what is wrong with it, None when it counts."""
        return carry_reply(self._waiting.find_question(id_), reply, by, self._waiting.settle)

    def withdraw(self, call_id: str) -> None:
        """Let go of the flow of a question."""
        self._waiting.settle(call_id, "cancelled")
        self._flows.pop(call_id, None)

    def close(self) -> None:
        """Let go of all flows."""
        self._waiting.settle_all("cancelled")

    async def _hold(self, flow: http.HTTPFlow, opened: Open, resumed: asyncio.Task[None]) -> None:
        outcome = "io_error"
        try:
            # Without it a view shows the hold only when it is drawn anew.
            await _show(flow)
            outcome = await self._wait(flow, opened, resumed)
        finally:
            resumed.cancel()
            self._waiting.settle(opened.question.call_id, outcome, only=opened)

    async def _wait(self, flow: http.HTTPFlow, opened: Open, resumed: asyncio.Task[None]) -> str:
        """Give what came of a question; whatever it is where somebody else has answered it."""
        while self._waiting.is_open(opened):
            if is_killed(flow):
                return "denied"
            if resumed.done():
                return "approved"
            if self._waiting.left(opened) <= 0:
                break
            if not flow.intercepted:
                flow.intercept()
                await _show(flow)
            await asyncio.wait([resumed], timeout=POLL_SECONDS)
        return "timeout"


async def ask_about(flow: http.HTTPFlow, question: Question, approver: Approver) -> Approval:
    """Give what `approver` says; the question is taken back when the agent goes, or the flow is killed."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Approval] = loop.create_future()

    def settle(approval: Approval) -> None:
        if not answer.done():
            answer.set_result(approval)

    def answered(approval: Approval) -> None:
        with suppress(RuntimeError):  # the host has ended, and with it whoever waited
            loop.call_soon_threadsafe(settle, approval)

    if isinstance(approver, InterceptApprover):
        approver.carry(question.call_id, flow)
    replay = flow.is_replay
    try:
        approver.ask(question, answered)
        while not answer.done():
            is_over = has_left(flow) or flow.is_replay != replay  # who reverts a replay takes it back
            if is_over or (is_killed(flow) and approver.name != InterceptApprover.name):
                approver.withdraw(question.call_id)
            await asyncio.wait([answer], timeout=POLL_SECONDS)
    except BaseException:  # nobody waits for the answer any more
        approver.withdraw(question.call_id)
        raise
    if is_killed(flow):  # the answer is ours to give: a killed flow would get none
        flow.error = None
        flow.live = True
    return answer.result()


async def _show(flow: http.HTTPFlow) -> None:
    await ctx.master.addons.trigger_event(hooks.UpdateHook([flow]))


def is_killed(flow: http.HTTPFlow) -> bool:
    """Whether somebody has killed the flow in a view."""
    return flow.error is not None and flow.error.msg == Error.KILLED_MESSAGE


def has_left(flow: http.HTTPFlow) -> bool:
    """Whether the agent has gone; a flow that is replayed has none."""
    return flow.is_replay is None and flow.client_conn.timestamp_end is not None


def _asks(prompt: Prompt, timeout: float) -> str:
    """Give what stands beside a held flow, in one line."""
    own_words = f" ({prompt.message})" if prompt.message else ""
    return (
        f"✋ ask {prompt.subject} for {prompt.client}: resume approves, kill denies, "
        f"{timeout:g} s are left from {time.strftime('%H:%M:%S')} on; "
        f"rule {prompt.rule}: {prompt.reason}{own_words}"
    )
