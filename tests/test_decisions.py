"""One table of decisions, run against the core, through the relay and through the addon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from surfaces import SURFACES, Outcome, server_of
from talking import make_gate

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call
from agentfence.core.session import Session

CASES = Path(__file__).parent / "cases"
SCHEMA = json.loads((CASES / "case.schema.json").read_text())
FILES = {file.stem: yaml.safe_load(file.read_text()) for file in sorted((CASES / "decisions").glob("*.yaml"))}
ALL = [case for content in FILES.values() for case in content["cases"]]
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message_of(call: dict[str, Any], id_: str, revision: str | None) -> dict[str, Any]:
    if "tool" in call:
        params = {"name": call["tool"], "arguments": call.get("arguments", {})}
        message: dict[str, Any] = {"method": "tools/call", "params": params}
    else:
        message = dict(call["message"])
    if "method" in message and not call.get("is_notification"):
        message = {"id": id_, **message}
    if revision == "2026-07-28" and "method" in message:
        params = message.get("params", {})
        message["params"] = {**params, "_meta": {**MODERN_META, **params.get("_meta", {})}}
    return {"jsonrpc": "2.0", **message}


def body_of(call: dict[str, Any], id_: str, revision: str | None) -> bytes:
    if "sends" in call:
        carried = {"tool": "carrier", "arguments": {"sends": [call["sends"]]}}
        return json.dumps(message_of(carried, id_, revision)).encode()
    text = call.get("body")
    return text.encode() if text is not None else json.dumps(message_of(call, id_, revision)).encode()


def shown_answer(message: Any) -> Any:
    if isinstance(message, list):
        return [shown_answer(member) for member in message]
    return [message.get("id"), message["error"]["code"] if "error" in message else "result"]


def reason_codes(outcome: Outcome) -> set[str]:
    """What the errors made by the fence say."""
    errors = [message["error"] for message in outcome.received if "error" in message]
    return {
        error["data"]["agentfence"]["reason_code"]
        for error in errors
        if "agentfence" in error.get("data", {})
    }


def text_of(message: Any) -> str:
    entries = message if isinstance(message, list) else [message]
    return " ".join(
        entry["error"]["message"] if "error" in entry else json.dumps(entry["result"]) for entry in entries
    )


def expected_answer(case: dict[str, Any], body: bytes, revision: str | None) -> list[Any]:
    if case.get("answer", "") is None:
        return []
    if isinstance(case.get("answer"), list):
        return [case["answer"]]
    message = json.loads(body)
    if "answer" not in case and ("id" not in message or "method" not in message):
        return []
    blocked = -31001 if revision == "2026-07-28" else -32001
    passes = case.get("sent", case["expect"] == "allow")
    return [[message["id"], case.get("answer", "result" if passes else blocked)]]


def differences(case: dict[str, Any], body: bytes, revision: str | None, outcome: Outcome) -> dict[str, Any]:
    """What is not as the case says."""
    passes = case.get("sent", case["expect"] == "allow")
    wrong: dict[str, Any] = {}

    def check(what: str, expected: Any, got: Any) -> None:
        if expected != got:
            wrong[what] = {"expected": expected, "got": got}

    check("sent", [body.decode()] if passes else [], [line.decode() for line in outcome.sent])
    check("answer", expected_answer(case, body, revision), [shown_answer(m) for m in outcome.received])
    if "events" in case:
        got = [[event["verdict"], event["decision"], event["reason_code"]] for event in outcome.events]
        check("events", case["events"], got)
    else:
        check_event(case, outcome.events, "allow" if passes else "deny", check)
    if "says" in case:
        check("says", True, any(case["says"] in text_of(m) for m in outcome.received))
    if "code" in case and "events" not in case:
        code = "non_interactive_denied" if case["expect"] == "ask" else case["code"]
        check("reason_code", {code} if outcome.received and not passes else set(), reason_codes(outcome))
    return wrong


def check_event(case: dict[str, Any], events: list[dict[str, Any]], decision: str, check: Any) -> None:
    check("number of events", 1, len(events))
    for event in events:
        verdict = "deny" if case["expect"] == "refuse" else case["expect"]
        check("verdict", [verdict, decision], [event["verdict"], event["decision"]])
        for member, key in (("rule", "rule"), ("code", "reason_code")):
            if member in case:
                check(member, case[member], event[key])


def carried_differences(case: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    """The same for what the server sends: the agent gets it as it is, or does not get it."""
    passes = case.get("sent", case["expect"] == "allow")
    wrong: dict[str, Any] = {}
    if passes != (case["sends"] in outcome.received):
        wrong["received"] = outcome.received
    if not any(isinstance(message, dict) and "result" in message for message in outcome.received):
        wrong["carrier"] = outcome.received

    def check(what: str, expected: Any, got: Any) -> None:
        if expected != got:
            wrong[what] = {"expected": expected, "got": got}

    back = [event for event in outcome.events if event["direction"] == "to_client"]
    if "events" in case:
        got = [[event["verdict"], event["decision"], event["reason_code"]] for event in back]
        check("events", case["events"], got)
    else:
        check_event(case, back, "allow" if passes else "deny", check)
    return wrong


def respelled(body: bytes) -> bytes:
    """The same message with other blanks, and its members the other way round."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    return json.dumps(turned(json.loads(body)), indent=1, ensure_ascii=False).encode()


def decisions(content: dict[str, Any], folder: Path, spell: Any, *, policy: str = "") -> dict[str, Any]:
    """What the core decides on the messages of a file, in a spelling of their own."""
    decided = {}
    with SURFACES["core"](policy or content["policy"], content.get("options", {}), folder) as way_in:
        for case in content["cases"]:
            revision = case.get("revision", content.get("revision"))
            for number, call in enumerate(case.get("before", ())):
                way_in.pass_on(spell(body_of(call, f"{case['id']}-before-{number}", revision)), revision)
            body = body_of(case, case["id"], revision)
            outcome = way_in.pass_on(body if "body" in case else spell(body), revision)
            members = ("verdict", "decision", "reason_code", "rule")
            decided[case["id"]] = sorted(tuple(event[m] for m in members) for event in outcome.events)
    return decided


def overrides(surface: str) -> dict[str, Any]:
    file = CASES / f"overrides-{surface}.yaml"
    return yaml.safe_load(file.read_text()) if file.exists() else {}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", FILES)
def test_every_surface_decides_alike(name: str, surface: str, tmp_path: Path) -> None:
    content, own = FILES[name], overrides(surface)
    wrong: dict[str, Any] = {}
    with SURFACES[surface](content["policy"], content.get("options", {}), tmp_path) as way_in:
        for case in content["cases"]:
            case = {**case, **{k: v for k, v in own.get(case["id"], {}).items() if k != "because"}}
            revision = case.get("revision", content.get("revision"))
            for number, call in enumerate(case.get("before", ())):
                way_in.pass_on(body_of(call, f"{case['id']}-before-{number}", revision), revision)
            body = body_of(case, case["id"], revision)
            outcome = way_in.pass_on(body, revision)
            found = (
                carried_differences(case, outcome)
                if "sends" in case
                else differences(case, body, revision, outcome)
            )
            if found:
                wrong[case["id"]] = found

    assert wrong == {}, json.dumps(wrong, indent=1)


@pytest.mark.parametrize("name", FILES)
def test_blanks_and_the_order_of_members_change_no_decision(name: str, tmp_path: Path) -> None:
    def as_it_is(body: bytes) -> bytes:
        return body

    assert decisions(FILES[name], tmp_path, as_it_is) == decisions(FILES[name], tmp_path, respelled)


@pytest.mark.parametrize(
    "name", [name for name, content in FILES.items() if "mode:" not in content["policy"]]
)
def test_forbidding_all_tools_leaves_none(name: str, tmp_path: Path) -> None:
    content = FILES[name]
    policy = yaml.safe_load(content["policy"])
    policy["forbid"] = [{"tools": ["**", "**/**"]}, *policy.get("forbid", [])]
    decided = decisions(content, tmp_path, lambda body: body, policy=yaml.safe_dump(policy))

    for case in content["cases"]:
        if "tool" in case:
            assert {event[1] for event in decided[case["id"]]} == {"deny"}, case["id"]


@pytest.mark.parametrize("name", FILES)
def test_file_of_cases_follows_the_schema(name: str) -> None:
    jsonschema.validate(FILES[name], SCHEMA)


def test_ids_of_cases_name_one_case_each() -> None:
    ids = [case["id"] for case in ALL]

    assert len(set(ids)) == len(ids)


def test_a_quarter_of_the_cases_are_honest_calls_that_pass() -> None:
    honest = [case for case in ALL if case.get("sent", case["expect"] == "allow")]

    assert len(honest) >= len(ALL) / 4


@pytest.mark.parametrize("surface", SURFACES)
def test_difference_of_a_surface_names_a_case_and_a_reason(surface: str) -> None:
    ids = {case["id"] for case in ALL}

    for id_, override in overrides(surface).items():
        assert id_ in ids
        assert len(override["because"]) > 20


@pytest.mark.parametrize(
    "name", [name for name in FILES if any("place" in case for case in FILES[name]["cases"])]
)
def test_decision_names_its_place_in_the_policy(name: str) -> None:
    gate = make_gate(FILES[name]["policy"])
    session = Session("agent", is_identified=True)
    expected = {case["id"]: f"root.yaml:{case['place']}" for case in FILES[name]["cases"] if "place" in case}
    got = {}
    for case in FILES[name]["cases"]:
        if "place" in case:
            call = Call(case["tool"], case.get("arguments", {}), server_of(gate))
            decision = gate.engine.decide_call(call, session, Circumstances(1_700_000_000.0))
            got[case["id"]] = str(decision.place)

    assert expected == got
