"""Tools that the policy can only deny are left out of lists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from talking import Talk

from agentfence.core.effects import Ask, Forward
from agentfence.core.jsonrpc import Response
from agentfence.core.session import Transport
from agentfence.core.tool_lists import without_denied

TOOLS: list[Any] = [{"name": "read", "description": "é", "n": 1.0}, {"name": "drop"}, {"name": "Drop"}]


def listed(**more: Any) -> Response:
    return Response(7, {"tools": TOOLS, **more})


def denied(tool: dict[str, Any]) -> bool:
    return bool(tool["name"] == "drop")


def test_denied_tools_are_left_out_and_the_rest_stays() -> None:
    changed = without_denied(listed(nextCursor="c", _meta={"x": 1}), denied)

    assert changed is not None
    assert json.loads(changed) == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"tools": [TOOLS[0], TOOLS[2]], "nextCursor": "c", "_meta": {"x": 1}},
    }


def test_a_page_may_become_empty_and_keeps_its_cursor() -> None:
    changed = without_denied(listed(nextCursor=""), lambda _: True)

    assert changed is not None
    assert json.loads(changed)["result"] == {"tools": [], "nextCursor": ""}


def test_a_filtered_list_is_no_longer_shared() -> None:
    changed = without_denied(listed(ttlMs=5, cacheScope="public"), denied)

    assert changed is not None
    assert json.loads(changed)["result"]["cacheScope"] == "private"


def test_a_list_without_denied_tools_stays_as_it_is() -> None:
    assert without_denied(listed(cacheScope="public"), lambda _: False) is None


@pytest.mark.parametrize(
    "result",
    [None, 1, [], {}, {"tools": None}, {"tools": {"name": "drop"}}, {"tools": [None, 1, {}, {"name": 1}]}],
)
def test_a_result_that_is_no_list_stays_as_it_is(result: Any) -> None:
    assert without_denied(Response(1, result), lambda _: True) is None


def test_an_error_stays_as_it_is() -> None:
    assert (
        without_denied(Response(None, None, {"code": 1, "message": "x"}, is_error=True), lambda _: True)
        is None
    )


POLICY = """
version: "1"
defaults: {decision: deny}
forbid: [{tools: ["*_now"]}]
tools:
  read: allow
  send: ask
  write: {decision: allow, constraints: {paths: {roots: ["/work"]}}}
  old: {decision: allow, expires: 2001-01-01}
  drop_now: allow
  drop: deny
methods: {roots/list: allow}
"""
LISTED = {
    "tools": [{"name": name} for name in ("read", "send", "write", "old", "drop_now", "drop", "unknown")]
}


def shown(policy: str, *, server: str | None = None, listed: Any = LISTED, **options: str) -> list[str]:
    """The tools that an agent sees."""
    talk = Talk(policy, options, server=server)
    talk.agent({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    _, effect = talk.server({"jsonrpc": "2.0", "id": 1, "result": listed})
    assert isinstance(effect, Forward)
    return [tool["name"] for tool in json.loads(effect.body)["result"]["tools"]]


def test_agent_sees_what_it_could_ever_call() -> None:
    assert shown(POLICY) == ["read", "send", "write"]


def test_the_policy_may_show_everything() -> None:
    assert shown(POLICY + "hide_denied: false\n") == [tool["name"] for tool in LISTED["tools"]]


@pytest.mark.parametrize(("server", "tools"), [("files", ["read"]), ("mail", ["read", "send"]), (None, [])])
def test_rules_and_denials_of_its_own_server_hide_a_tool(server: str | None, tools: list[str]) -> None:
    policy = """
version: "1"
servers: {files: {command: [files]}, mail: {command: [mail]}}
forbid: [{tools: ["files/send"]}]
tools: {"*/read": allow, "*/send": allow, "**": deny}
"""
    names = ["read", "send", "other/read"]
    assert shown(policy, server=server, listed={"tools": [{"name": name} for name in names]}) == tools


@pytest.mark.parametrize("result", [None, 1, [], {}, {"tools": {"name": "x"}}, {"tools": [None, 1, "x", {}]}])
def test_answer_to_a_list_that_is_none_passes(result: Any) -> None:
    talk = Talk(POLICY)
    talk.agent({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    *_, effect = talk.server({"jsonrpc": "2.0", "id": 1, "result": result})

    assert isinstance(effect, Forward)
    assert json.loads(effect.body)["result"] == result


def test_observing_hides_nothing() -> None:
    assert shown(POLICY, mode="observe") == [tool["name"] for tool in LISTED["tools"]]


def test_another_result_with_tools_is_left_alone() -> None:
    talk = Talk(POLICY)
    talk.agent({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})
    _, effect = talk.server({"jsonrpc": "2.0", "id": 1, "result": LISTED})

    assert isinstance(effect, Forward)
    assert json.loads(effect.body)["result"] == LISTED


def test_lists_in_an_array_are_filtered_and_the_rest_of_it_stays() -> None:
    talk = Talk(POLICY, {"on_batch": "evaluate"})
    listing = [{"jsonrpc": "2.0", "id": id_, "method": "tools/list"} for id_ in (1, "b")]
    talk.agent([*listing, {"jsonrpc": "2.0", "id": 3, "method": "ping"}])
    pong = {"jsonrpc": "2.0", "id": 3, "result": {"é": 1.5}}
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    answers = [{"jsonrpc": "2.0", "id": id_, "result": LISTED} for id_ in ("b", 1)]
    *_, effect = talk.server([answers[0], pong, progress, answers[1]])

    assert isinstance(effect, Forward)
    passed = json.loads(effect.body)
    assert passed[1:3] == [pong, progress]
    for answer, id_ in ((passed[0], "b"), (passed[3], 1)):
        assert answer["id"] == id_
        assert [tool["name"] for tool in answer["result"]["tools"]] == ["read", "send", "write"]


@pytest.mark.parametrize("policy", [POLICY, POLICY.replace("roots/list: allow", "roots/list: ask")])
def test_a_list_that_asks_the_agent_for_something_is_filtered_too(policy: str) -> None:
    talk = Talk(policy)
    talk.agent({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    asking = {**LISTED, "inputRequests": {"a": {"method": "roots/list"}}}
    effects = talk.server({"jsonrpc": "2.0", "id": 1, "result": asking})
    *_, effect = talk.say(effects) if isinstance(effects[-1], Ask) else effects

    assert isinstance(effect, Forward)
    result = json.loads(effect.body)["result"]
    assert [tool["name"] for tool in result["tools"]] == ["read", "send", "write"]
    assert result["inputRequests"] == asking["inputRequests"]


def test_list_that_a_stream_brings_to_an_unknown_call_is_filtered_whatever_stands_between_its_tools() -> None:
    talk = Talk(POLICY, transport=Transport.HTTP)
    talk.conversation.carries_other_answers = talk.conversation.resumes = True
    mixed = {"tools": [{"title": "no name"}, *LISTED["tools"], 1]}
    *_, effect = talk.server({"jsonrpc": "2.0", "id": 1, "result": mixed})

    assert isinstance(effect, Forward)
    tools = json.loads(effect.body)["result"]["tools"]
    assert [tool.get("name") for tool in tools if isinstance(tool, dict)] == [None, "read", "send", "write"]


@pytest.mark.parametrize("tools", [[1], ["name"], [None, {}], []])
def test_answer_of_a_stream_that_only_looks_like_a_list_passes(tools: list[Any]) -> None:
    talk = Talk(POLICY, transport=Transport.HTTP)
    talk.conversation.carries_other_answers = talk.conversation.resumes = True
    *_, effect = talk.server({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})

    assert isinstance(effect, Forward)
    assert json.loads(effect.body)["result"] == {"tools": tools}
