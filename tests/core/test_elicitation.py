"""Servers send people to safe places alone, whichever way they ask; nobody is left waiting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from talking import ALLOW, Talk, call, error, events, forwarded, kinds, request, result

from agentfence.core.session import Transport

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "elicitation" / "urls.yaml").read_text()
)["cases"]
BAD = {"mode": "url", "url": "http://evil.example/", "message": "Log in"}
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])


def talk_with(case: dict[str, Any], transport: Transport = Transport.STDIO) -> Talk:
    section = {"elicitation": case["elicitation"]} if "elicitation" in case else {}
    return Talk(ALLOW + (yaml.safe_dump(section) if section else ""), transport=transport)


def code_of(effects: Any) -> str | None:
    (event,) = [event for event in events(effects) if event["method"] == "elicitation/create"]
    return None if event["decision"] == "allow" else str(event["reason_code"])


@cases
def test_request_of_a_server(case: dict[str, Any]):
    assert code_of(talk_with(case).server(request("elicitation/create", 7, **case["params"]))) == case.get(
        "code"
    )


@cases
@pytest.mark.parametrize("transport", [Transport.STDIO, Transport.HTTP])
def test_request_inside_a_result(case: dict[str, Any], transport: Transport):
    talk = talk_with(case, transport)
    talk.agent(call("read"), {} if transport is Transport.HTTP else None)
    asked = {"inputRequests": {"a": {"method": "elicitation/create", "params": case["params"]}}}

    assert code_of(talk.server(result(1, asked))) == case.get("code")


@cases
def test_request_inside_an_error(case: dict[str, Any]):
    talk = talk_with(case)
    talk.agent(call("read"))

    assert code_of(talk.server(error(1, -32042, data={"elicitations": [case["params"]]}))) == case.get("code")


def test_agent_gets_an_error_for_the_call_that_was_to_send_somebody():
    talk = Talk(ALLOW)
    talk.agent(call("read"))

    (answer,) = forwarded(talk.server(error(1, -32042, data={"elicitations": [BAD]})))

    assert (answer["id"], answer["error"]["code"]) == (1, -32001)
    assert "evil" not in json.dumps(answer)


def test_server_gets_an_answer_on_stdio_and_the_agent_never_sees_the_request():
    effects = Talk(ALLOW).server(request("elicitation/create", 7, **BAD))

    assert kinds(effects) == ["Record", "Answer"]


def test_agent_answers_for_the_fence_over_http():
    """A proxy cannot answer a server inside its own answer."""
    effects = Talk(ALLOW, transport=Transport.HTTP).server(request("elicitation/create", 7, **BAD))

    (passed,) = forwarded(effects)
    assert passed == {"jsonrpc": "2.0", "id": 7, "method": "agentfence/refused"}


def test_methods_come_first():
    effects = Talk(ALLOW + "methods: {elicitation/create: deny}\n").server(
        request("elicitation/create", 7, mode="url", url="https://login.example.com/")
    )

    assert code_of(effects) == "method_denied"


@pytest.mark.parametrize("entry", ["https://login.example.com/", None, {"mode": "url", "URL": "x"}])
def test_entries_of_an_error_that_have_two_readings_are_refused(entry: Any):
    talk = Talk(ALLOW)
    talk.agent(call("read"))

    (answer,) = forwarded(talk.server(error(1, -32042, data={"elicitations": [entry]})))
    assert answer["error"]["code"] in {-32003, -32001}
