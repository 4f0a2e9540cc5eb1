"""A run writes its start and end, and a fault of its log stops messages or, as the policy says, does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from audit_logs import events_in, status_of
from event_schema import validate_event
from talking import call

from agentfence.core.audit.reports import Status
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Answer, Forward
from agentfence.core.errors import AuditError, UsageError
from agentfence.core.session import Conversation, Session, Transport
from agentfence.fence import Fence, open_fence
from agentfence.reporting import LogLevel, Reporter
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path


class Run:
    """A fence with a log in a folder."""

    def __init__(self, folder: Path, more: str = "", **options: str) -> None:
        policy = folder / "policy.yaml"
        policy.write_text(f'version: "1"\ndefaults: {{decision: allow}}\n{more}')
        self.log = folder / "audit.jsonl"
        self.said: list[str] = []
        settings = read_settings({"policy": str(policy), "audit_log": str(self.log), **options}, {})
        self.fence: Fence = open_fence(
            settings, {}, Reporter(self.said.append, LogLevel.QUIET), surface="relay", approver="deny"
        )
        self.conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, None)

    def send(self, id_: int) -> Any:
        body = json.dumps(call("read", id_)).encode()
        (effect,) = self.fence.record(
            self.fence.gate.client_message(body, self.conversation, Circumstances(1.0))
        )
        return effect

    def lose_log(self) -> None:
        self.log.rename(self.log.with_name("moved"))
        self.log.mkdir()

    def find_log(self) -> None:
        self.log.rmdir()
        self.log.with_name("moved").rename(self.log)


def test_run_writes_its_start_with_the_policy_and_its_end(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.send(1)
    run.fence.close()
    first, judged, last = events_in(run.log)

    for event in (first, judged, last):
        validate_event(event)
    assert (first["kind"], judged["kind"], last["kind"]) == ("run_started", "judged", "run_ended")
    assert first["policy_digest"] == judged["policy_digest"] == run.fence.policy.digest
    assert status_of(run.log) is Status.OK


def test_message_that_cannot_be_recorded_is_refused_until_it_can(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.lose_log()
    refused = [run.send(number) for number in (1, 2)]
    run.find_log()

    assert all(isinstance(effect, Answer) and b"audit_unwritable" in effect.body for effect in refused)
    assert "cannot be written" in run.said[-1]
    assert isinstance(run.send(3), Forward)
    assert [event["kind"] for event in events_in(run.log)] == ["run_started", "audit_gap", "judged"]
    gap = events_in(run.log)[1]
    validate_event(gap)
    assert (gap["lost"], gap["messages"]) == (2, "refused")
    assert status_of(run.log) is Status.OK


def test_message_goes_on_without_a_record_where_the_policy_says_warn(tmp_path: Path) -> None:
    run = Run(tmp_path, "audit: {on_failure: warn}\n")
    run.lose_log()
    sent = [run.send(number) for number in (1, 2)]
    run.find_log()
    run.send(3)

    assert all(isinstance(effect, Forward) for effect in sent)
    assert "messages go on without a record" in run.said[-1]
    gap = events_in(run.log)[1]
    validate_event(gap)
    assert (gap["lost"], gap["messages"]) == (2, "sent on")


def test_run_does_not_start_without_its_log(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()

    with pytest.raises(AuditError):
        Run(tmp_path)


@pytest.mark.parametrize("option", [{"tamper_evident": "false"}, {"audit_log": "none"}], ids=str)
def test_log_without_a_chain_cannot_be_signed(option: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sign"):
        Run(tmp_path, audit_sign_key="key", **option)
