"""The tests of a policy, run: each message goes through the gate as it would on a surface.

The steps of one test are one session with one clock, so rates, taint, tasks and remembered approvals
hold across them; another test starts with none of that.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from agentfence.core.answers import server_message
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Approval, Ask, Forward, Record
from agentfence.core.engine import Engine
from agentfence.core.gate import Gate
from agentfence.core.gate_settings import GateSettings
from agentfence.core.jsonrpc import result_answer
from agentfence.core.pins import NOTHING_PINNED
from agentfence.core.policy.model import Mode, Verdict
from agentfence.core.session import Conversation, Session, Transport
from agentfence.core.values import frozen
from agentfence.core.written_requests import request_for_method, request_for_tool

if TYPE_CHECKING:
    from agentfence.core.decision import Decision
    from agentfence.core.effects import Effects
    from agentfence.core.jsonrpc import Json, Request
    from agentfence.core.pins import Lock
    from agentfence.core.policy.model import Policy, TestCase, TestStep
    from agentfence.core.redaction import Redactor

_APPROVER = "tty"  # a test answers in place of a person at a terminal
_LARGEST = 2**53


@frozen
class Got:
    """What became of one step."""

    step: TestStep
    decision: Verdict
    """`ask` when a person was asked, whatever they said."""
    rule: str
    reason_code: str
    reason: str

    @property
    def is_as_expected(self) -> bool:
        """Whether it is what the step says."""
        step = self.step
        return (
            self.decision is step.expect
            and step.rule in (None, self.rule)
            and step.reason_code in (None, self.reason_code)
        )


def run_test(
    policy: Policy, redactor: Redactor, test: TestCase, now: float, lock: Lock = NOTHING_PINNED
) -> tuple[Got, ...]:
    """Give what becomes of each step of a test; `now` is when it takes place if it does not say."""
    return _Trial(Engine(policy, lock), redactor, now if test.time is None else test.time).run(test)


class _Trial:
    def __init__(self, engine: Engine, redactor: Redactor, time: float) -> None:
        settings = GateSettings(max_body=_LARGEST, mode=Mode.ENFORCE)
        self._gate = Gate(engine, settings, redactor)
        self._session = Session("test", is_identified=True)
        self._conversations: dict[str | None, Conversation] = {}
        self._time = time
        self._ids = count(1)

    def run(self, test: TestCase) -> tuple[Got, ...]:
        return tuple(map(self._run, test.steps))

    def _run(self, step: TestStep) -> Got:
        self._time += step.after
        circumstances = Circumstances(self._time, effort=Effort())
        conversation = self._conversations.setdefault(
            step.server, Conversation(self._session, Transport.STDIO, step.server)
        )
        request = _request(step, f"step-{next(self._ids)}")
        effects = self._gate.client_message(_body(request), conversation, circumstances)
        asked: Decision | None = None
        while isinstance(ask := effects[0], Ask):
            asked = next(member.decision for member in ask.pending.members if member.is_open)
            effects = self._gate.resolve(ask.pending, _answer(step), circumstances)
        if any(isinstance(effect, Forward) for effect in effects):
            result = result_answer(request.id, _result(step))
            server_message(self._gate, result, conversation, circumstances)
        return _recorded(step, effects) if asked is None else _asked(step, asked)


def _request(step: TestStep, id_: str) -> Request:
    if step.tool is not None:
        return request_for_tool(id_, step.tool, dict(step.arguments))
    return request_for_method(id_, step.method, uri=step.uri, prompt=step.prompt)


def _body(request: Request) -> bytes:
    message = {"jsonrpc": "2.0", "id": request.id, "method": request.method, "params": request.params}
    return json.dumps(message).encode()


def _answer(step: TestStep) -> Approval:
    outcome = "denied" if step.answer in (None, "deny") else "approved"
    return Approval(outcome, _APPROVER, remember=step.answer == "remember")


def _result(step: TestStep) -> Json:
    match step.result:
        case None:
            return {"content": []}
        case str(text):
            return {"content": [{"type": "text", "text": text}]}
        case result:
            return dict(result)


def _asked(step: TestStep, decision: Decision) -> Got:
    return Got(step, Verdict.ASK, decision.rule, decision.reason_code, decision.reason)


def _recorded(step: TestStep, effects: Effects) -> Got:
    event = next(effect.event for effect in effects if isinstance(effect, Record))
    decision, rule = Verdict(str(event["decision"])), event["rule"]
    rule = rule if isinstance(rule, str) else "protocol"
    return Got(step, decision, rule, str(event["reason_code"]), str(event["reason"]))
