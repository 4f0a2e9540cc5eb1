"""What docs/modes.md says of each mode holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from docs.pages import read, section
from talking import MIXED, Talk, answered, call, codes, events, forwarded, kinds, request, result

from agentfence.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PAGE = read("docs/modes.md")
LIMITED = {"max_body": "400"}


def test_every_mode_has_its_part() -> None:
    assert all(section(PAGE, heading) for heading in ("Enforce", "Observe", "Check", "Dry run"))


def test_enforce_stops_and_asks() -> None:
    talk = Talk()

    assert codes(talk.agent(call("other", 1))) == [(1, -32001)]
    assert kinds(talk.agent(call("send", 2))) == ["Ask"]
    assert forwarded(talk.agent(call("read", 3))) == [call("read", 3)]


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (call("read"), "allow"),
        (call("other"), "deny"),
        (call("send"), "ask"),
        (request("vendor/denied"), "deny"),
    ],
)
@pytest.mark.parametrize("by_option", [True, False])
def test_observe_writes_every_verdict_and_lifts_it(message: Any, verdict: str, by_option: bool) -> None:
    talk = Talk(MIXED, {"mode": "observe"}) if by_option else Talk(MIXED + "mode: observe\n")
    effects = talk.agent(message)
    (event,) = events(effects)

    assert forwarded(effects) == [message]
    assert (event["verdict"], event["decision"], event["mode"]) == (verdict, "allow", "observe")


def test_observe_lifts_rates() -> None:
    talk = Talk(MIXED, {"mode": "observe"})
    sent = [talk.agent(call("limited", number)) for number in range(3)]

    assert [kinds(effects) for effects in sent] == [["Record", "Forward"]] * 3
    assert [event["reason_code"] for effects in sent for event in events(effects)][1:] == [
        "rate_exceeded"
    ] * 2


def test_observe_hides_no_tool() -> None:
    talk = Talk(MIXED, {"mode": "observe"})
    talk.agent(request("tools/list", 1))
    listed = result(1, {"tools": [{"name": "other"}]})

    assert forwarded(talk.server(listed)) == [listed]


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"jsonrpc":"2.0"}', json.dumps(call("read", a="x" * 500))])
def test_observe_refuses_what_cannot_be_judged(body: Any) -> None:
    effects = Talk(MIXED, {"mode": "observe", **LIMITED}).agent(body)

    assert forwarded(effects) == []
    assert answered(effects)


def test_option_wins_over_the_policy() -> None:
    talk = Talk(MIXED + "mode: observe\n", {"mode": "enforce"})

    assert codes(talk.agent(call("other"))) == [(1, -32001)]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(MIXED)
    calls = [{"id": tool, "tool": tool} for tool in ("read", "send", "other")]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in calls))
    return tmp_path


@pytest.mark.parametrize(
    ("more", "status", "decisions", "mode"),
    [
        (["--no-interactive"], 0, ["allow", "deny", "deny"], "audit_only"),
        (["--no-interactive", "--fail-on", "deny"], 1, ["allow", "deny", "deny"], "audit_only"),
        (["--dry-run"], 0, ["allow", "ask", "deny"], "dry_run"),
        (["--dry-run", "--fail-on", "deny,ask"], 0, ["allow", "ask", "deny"], "dry_run"),
    ],
)
def test_recorded_calls(
    recorded: Path,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    status: int,
    decisions: list[str],
    mode: str,
) -> None:
    log = recorded / "audit.jsonl"
    arguments = ["check", "--policy", str(recorded / "policy.yaml"), "--call", str(recorded / "calls.jsonl")]

    assert main([*arguments, "--output", "jsonl", "--audit-log", str(log), *more]) == status
    assert [json.loads(line)["decision"] for line in capsys.readouterr().out.splitlines()] == decisions
    _, *written, _ = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["decision"] for event in written] == decisions
    assert {event["mode"] for event in written} == {mode}
    assert main(["audit", "verify", "--log", str(log)]) == 0
