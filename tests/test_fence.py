"""A changed policy comes into force as a whole, or not at all; sessions and the log go on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from audit_logs import events_in, kinds_in, status_of
from talking import call

from agentfence.core.audit.reports import Status
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Answer, Ask, Forward
from agentfence.core.errors import UsageError
from agentfence.core.pins import Lock, pin_of, write_lock
from agentfence.core.session import Conversation, Session, Transport
from agentfence.fence import Fence, open_fence
from agentfence.reporting import Reporter
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentfence.core.policy.model import Policy

HEAD = 'version: "1"\ndefaults: {decision: deny}\n'
ALLOWING = HEAD + "tools: {read: allow}\n"
DENYING = HEAD + "tools: {read: deny}\n"
ASKING = HEAD + "tools: {read: ask}\n"


class Run:
    """A fence by a policy in a file that a test changes."""

    def __init__(self, folder: Path, policy: str = ALLOWING, **options: str) -> None:
        self.policy, self.log = folder / "policy.yaml", folder / "audit.jsonl"
        self.policy.write_text(policy)
        self.said: list[str] = []
        settings = read_settings({"policy": str(self.policy), "audit_log": str(self.log), **options}, {})
        reporter = Reporter(self.said.append, settings.log_level, settings.log_format)
        self.fence: Fence = open_fence(settings, {}, reporter, surface="relay", approver="deny")
        self.conversation = Conversation(Session("agent", is_identified=True), Transport.STDIO, None)
        self.adopted = 0

    def send(self, id_: int) -> Any:
        body = json.dumps(call("read", id_)).encode()
        effects = self.fence.gate.client_message(body, self.conversation, Circumstances(1.0))
        (effect,) = self.fence.record(effects, began=0)
        return effect

    def change(self, text: str, prepare: Callable[[Policy], Callable[[], None]] | None = None) -> None:
        self.policy.write_text(text)
        self.fence.reload(prepare or (lambda _policy: self.adopt))

    def look(self) -> None:
        """As every second of a run."""
        if self.fence.policy_has_changed:
            self.fence.reload(lambda _policy: self.adopt)

    def adopt(self) -> None:
        self.adopted += 1


@pytest.mark.parametrize(
    ("options", "is_said"), [({}, True), ({"mode": "observe"}, False), ({"lock": "some"}, False)], ids=str
)
def test_run_in_which_no_tool_is_pinned_yet_says_so(
    options: dict[str, str], is_said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some").write_text(write_lock(Lock({"files": {"read": pin_of({"name": "read"})}})))

    run = Run(tmp_path, ALLOWING + "pins: require\n", **options)

    assert any("none is pinned yet" in said for said in run.said) is is_said


@pytest.mark.parametrize(("options", "is_said"), [({}, True), ({"audit_max_size": "9"}, False)], ids=str)
def test_retention_of_what_is_never_closed_is_said(
    options: dict[str, str], is_said: bool, tmp_path: Path
) -> None:
    run = Run(tmp_path, audit_keep="2", **options)

    assert any("audit_keep removes nothing" in said for said in run.said) is is_said


def test_changed_policy_is_in_force_and_the_log_has_both_digests(tmp_path: Path) -> None:
    run = Run(tmp_path)
    assert isinstance(run.send(1), Forward)
    run.change(DENYING)
    assert isinstance(run.send(2), Answer)

    first, _, changed, last = events_in(run.log)
    assert (changed["kind"], changed["mode"], run.adopted) == ("policy_reloaded", "enforce", 1)
    assert changed["previous_policy_digest"] == first["policy_digest"]
    assert changed["policy_digest"] == last["policy_digest"] == run.fence.policy.digest
    assert changed["policy_digest"] != first["policy_digest"]
    assert "the policy was loaded again" in run.said[-2]
    assert status_of(run.log) is Status.OK


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ALLOWING.replace("allow", "alow"), "policy.yaml:3:15: "),
        (HEAD + "tools: [", "policy.yaml:4:1: "),
        (HEAD + "imports: [nowhere.yaml]\n", "policy.yaml:3:11: "),
    ],
)
def test_policy_that_cannot_be_used_changes_nothing_and_is_said(tmp_path: Path, text: str, said: str) -> None:
    run = Run(tmp_path, log_level="quiet")
    before = run.fence.policy
    run.change(text)

    assert said in run.said[-1]
    assert "the policy in force stays" in run.said[-1]
    assert run.fence.policy is before
    assert isinstance(run.send(1), Forward)
    assert (run.adopted, kinds_in(run.log)) == (0, ["run_started", "judged"])


def test_policy_that_is_gone_changes_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.policy.unlink()
    run.fence.reload(lambda _policy: run.adopt)

    assert isinstance(run.send(1), Forward)
    assert run.adopted == 0


@pytest.mark.parametrize("error", [UsageError("not here"), ZeroDivisionError("a fault of the fence")])
def test_policy_that_a_surface_cannot_use_changes_nothing(tmp_path: Path, error: Exception) -> None:
    def prepare(_policy: Policy) -> Any:
        raise error

    run = Run(tmp_path)
    run.change(DENYING, prepare)

    assert isinstance(run.send(1), Forward)
    assert "the policy in force stays" in run.said[-2]


def test_policy_that_says_the_same_is_no_change(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.change(ALLOWING + "# a remark\n")

    assert "says the same" in run.said[-1]
    assert kinds_in(run.log) == ["run_started"]


def test_policy_whose_coming_cannot_be_written_comes_once_it_can(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.log.rename(run.log.with_name("moved"))
    run.log.mkdir()
    run.change(DENYING)
    for _ in range(4):
        run.look()
    run.log.rmdir()
    run.log.with_name("moved").rename(run.log)

    assert sum("until its change can be written" in said for said in run.said) == 1
    assert isinstance(run.send(1), Forward)
    run.look()
    assert isinstance(run.send(2), Answer)
    assert kinds_in(run.log) == ["run_started", "judged", "policy_reloaded", "judged"]


def test_policy_changes_mode_redaction_and_what_a_lost_event_means(tmp_path: Path) -> None:
    run = Run(tmp_path, ASKING)
    assert isinstance(run.send(1), Ask)
    pattern = 'redaction: {patterns: [{name: ticket, regex: "TCK-[0-9]{6}"}]}\n'
    run.change(DENYING + "mode: observe\naudit: {on_failure: warn}\n" + pattern)
    run.log.rename(run.log.with_name("moved"))
    run.log.mkdir()

    assert isinstance(run.send(2), Forward)
    assert "TCK-123456" not in run.fence.redactor.text("about TCK-123456")


def test_option_for_the_mode_still_wins(tmp_path: Path) -> None:
    run = Run(tmp_path, mode="enforce")
    run.change(DENYING + "mode: observe\n")

    assert isinstance(run.send(1), Answer)
    assert events_in(run.log)[1]["mode"] == "enforce"


def test_summary_counts_what_happened(tmp_path: Path) -> None:
    run = Run(tmp_path, log_format="json")
    run.send(1)
    run.send(2)
    run.change(DENYING)
    run.send(3)
    run.change("version: [")
    run.fence.report_failure(ValueError())
    run.fence.close()
    told = json.loads(run.said[-1])

    assert told["totals"] == {"allow": 2, "deny": 1}
    assert [(e["subject"], e["decision"], e["count"]) for e in told["decisions"]] == [
        ("read", "allow", 2),
        ("read", "deny", 1),
    ]
    assert told["errors"] == {"policy_refused": 1, "internal_error": 1}
    assert told["own_work"]["messages"] == 3


def test_summary_is_said_at_the_end_unless_quiet_and_always_when_asked_for(tmp_path: Path) -> None:
    run = Run(tmp_path, log_level="quiet")
    run.fence.summarize()
    assert run.said == [run.said[0]]
    assert "nothing was judged" in run.said[0]
    run.fence.close()

    assert len(run.said) == 1


def test_variable_that_sets_nothing_is_said() -> None:
    said: list[str] = []
    settings = read_settings({"policy": "agentfence:default", "audit_log": "none"}, {})

    open_fence(settings, {"AGENTFENCE_POLCIY": "x"}, Reporter(said.append), surface="relay", approver="deny")

    assert "the variable AGENTFENCE_POLCIY sets nothing" in said[-1]


def test_policy_of_the_variable_is_said_to_be_so(tmp_path: Path) -> None:
    said: list[str] = []
    environment = {"AGENTFENCE_POLICY": str(tmp_path / "policy.yaml"), "AGENTFENCE_AUDIT_LOG": "none"}
    (tmp_path / "policy.yaml").write_text(ALLOWING)

    settings = read_settings({}, environment)
    open_fence(settings, environment, Reporter(said.append), surface="relay", approver="deny")

    assert "policy.yaml (AGENTFENCE_POLICY)" in said[0]


LOCK = {
    "version": 1,
    "servers": {
        "": {"rm": {"name": "rm"}, "read": {"name": "read"}},
        "files": {"drop": {"name": "drop"}},
        "https://mcp.example.com:443": {"rm": {"name": "rm"}},
    },
}


@pytest.mark.parametrize(
    ("policy", "options", "remark"),
    [
        (
            "pins: require\ntools: {files/drop: deny, read: ask, rm: deny}",
            {},
            "hidden tools rm, files/drop, https",
        ),
        ("pins: require\ntools: {files/drop: deny, rm: deny}\nhide_denied: false", {}, ""),
        ("pins: observe\ntools: {rm: deny}", {"mode": "observe"}, ""),
        ("tools: {rm: deny}", {}, ""),
        ("tunnel: [pinned.example]", {}, "UNFENCED: TLS to pinned.example"),
    ],
)
def test_start_line_says_what_is_hidden_and_what_is_unfenced(
    policy: str, options: dict[str, str], remark: str, tmp_path: Path
) -> None:
    said: list[str] = []
    (tmp_path / "policy.yaml").write_text(f'version: "1"\ndefaults: {{decision: allow}}\n{policy}\n')
    (tmp_path / "agentfence.lock").write_text(json.dumps(LOCK))
    settings = read_settings({"policy": str(tmp_path / "policy.yaml"), "audit_log": "none", **options}, {})

    open_fence(settings, {}, Reporter(said.append), surface="HTTP", approver="deny")

    *_, last = said[0].split("; ")
    assert last.startswith(remark or "audit log none")
