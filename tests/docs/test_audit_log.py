"""docs/audit.md has every field that an event can have, and no other."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from docs.pages import code, read, section, tables
from talking import MIXED, Talk, call, events, notification, request

from agentfence.audit.file_log import FileLog
from agentfence.core import approvals
from agentfence.core.audit.event_schema import KINDS, event_schema
from agentfence.core.audit.reports import Status
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.jsonrpc import Request
from agentfence.core.offline import OfflineJudge
from agentfence.core.record import Chain
from agentfence.core.recorded_calls import RecordedCall
from agentfence.core.redaction import build_redactor
from agentfence.core.session import Transport
from agentfence.fence import Fence
from agentfence.reporting import Reporter
from agentfence.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from agentfence.core.effects import Event

PAGE = read("docs/audit.md")
JUDGED, APPROVAL = tables(section(PAGE, "Judged messages"))


def fields(table: list[list[str]]) -> set[str]:
    return {code(row[0]) for row in table}


def table_under(heading: str) -> list[list[str]]:
    (table,) = tables(section(PAGE, heading))
    return table


EVERY = fields(table_under("In every event"))


class Kept:
    """A log in memory."""

    description = "memory"

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        self.events.append(event)

    def close(self) -> None:
        pass


def judged_events() -> list[dict[str, Any]]:
    talk = Talk()
    asked = talk.agent(call("send", 1, to="a"))
    return [
        *events(talk.agent(call("read", 2, path="a"))),
        *events(talk.say(asked)),
        *events(talk.agent(notification("notifications/initialized"))),
        *events(talk.agent(request("vendor/denied", "three"))),
        *events(talk.server(request("sampling/createMessage", 4))),
        overruled_event(),
    ]


def overruled_event() -> dict[str, Any]:
    talk = Talk()
    asked = talk.agent(call("send", 1, to="a"))
    talk.adopt('version: "1"\n')
    (event,) = events(talk.say(asked))
    return event


def test_judged_events_have_the_fields_of_the_page() -> None:
    found = judged_events()

    assert {"judged"} == {event["kind"] for event in found}
    assert fields(JUDGED) | {"kind", "timestamp"} == set().union(*found)
    always = {code(row[0]) for row in JUDGED if row[1] == "always"}
    assert all(always <= set(event) for event in found)


def test_approvals_have_the_fields_and_outcomes_of_the_page() -> None:
    (approval,) = [event["approval"] for event in judged_events() if "approval" in event]
    outcomes = next(row[1] for row in APPROVAL if code(row[0]) == "outcome")

    assert fields(APPROVAL) == set(approval) | {"holds_for", "given"}  # where it is for the session
    assert set(re.findall("`([^`]+)`", outcomes)) == set(approvals._OUTCOMES)


def test_refused_events_have_the_fields_of_the_page() -> None:
    found = [
        *events(Talk(options={"max_body": "10"}).agent(call("read"))),
        *events(Talk(transport=Transport.HTTP).agent(call("read"), {"Mcp-Method": "ping"})),
    ]
    own = fields(table_under("Refused messages"))
    shared = {"call_id", "transport", "server", "client", "direction"}

    assert {"refused"} == {event["kind"] for event in found}
    assert own | shared | {"method", "tool", "kind", "timestamp"} == set().union(*found)
    assert all(own | shared <= set(event) for event in found)


def test_tunnel_events_have_the_fields_of_the_page() -> None:
    log = Kept()
    fence = Fence(Talk().gate.engine.policy, read_settings({}, {}), log, Reporter(print), None)
    fence.log_tunnel("pinned.example")

    assert fields(table_under("Tunnels")) | {"kind", "timestamp"} == set(log.events[0])
    assert log.events[0]["kind"] == "tunnel"


def test_lines_and_repairs_have_the_fields_of_the_page(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_text('{"schema_')
    log = FileLog(file, Chain("run"), lambda: 1.0)
    log.append({"kind": "run_ended", "timestamp": "2027-01-31T12:00:00.000000Z"})
    log.close()
    repaired, ended = map(json.loads, file.read_text().splitlines())

    assert set(ended) == EVERY - {"signature"}
    assert set(repaired) == (EVERY - {"prev_hash", "signature"}) | fields(table_under("Repairs"))
    assert repaired["kind"] == "log_repaired"


def test_kinds_of_the_page_are_all_there_are() -> None:
    kinds = next(row[1] for row in table_under("In every event") if code(row[0]) == "kind")

    assert set(re.findall("`([^`]+)`", kinds)) == set(KINDS)


TABLES = {
    "judged": JUDGED,
    "answered": table_under("Answers"),
    "noted": table_under("Notes"),
    "tunnel": table_under("Tunnels"),
    "run_started": table_under("Runs"),
    "policy_reloaded": table_under("Changed policies"),
    "audit_gap": table_under("Gaps"),
    "log_repaired": table_under("Repairs"),
    "log_replaced": table_under("Losses"),
    "log_rotated": tables(section(PAGE, "Rotation and retention"))[0],
    "segments_removed": tables(section(PAGE, "Rotation and retention"))[1],
}
SHARED = {"call_id", "transport", "server", "client", "direction", "request_id", "method"}
SHARED_BY = {"answered": SHARED, "noted": SHARED - {"request_id", "method"}}


@pytest.mark.parametrize("kind", TABLES)
def test_fields_of_the_page_are_those_of_the_schema(kind: str) -> None:
    known = set(event_schema()["$defs"][kind]["properties"]) - EVERY
    shared = SHARED_BY.get(kind, set())

    assert fields(TABLES[kind]) | shared == known


def test_statuses_of_the_page_are_all_there_are() -> None:
    assert fields(table_under("Verifying")) == set(Status)


@pytest.mark.parametrize(("asks", "mode"), [(False, "dry_run"), (True, "audit_only")])
def test_recorded_calls_have_the_fields_of_the_page(asks: bool, mode: str) -> None:
    talk = Talk(MIXED)
    judge = OfflineJudge(
        talk.gate.engine.policy,
        build_redactor(builtin=True, patterns=(), enabled=True),
        _approve if asks else None,
    )
    recorded = RecordedCall("1", Request(1, "tools/call", {"name": "send", "arguments": {}}), None)
    _, event = judge.judge(recorded, Circumstances(1.0), now=1.0)

    assert event is not None
    assert set(event) <= fields(JUDGED) | {"kind", "timestamp"}
    assert (event["mode"], event["transport"], event["client"]) == (mode, "offline", "offline")


def _approve(_question: object) -> Any:
    from agentfence.core.effects import Approval

    return Approval("approved", "tty")
