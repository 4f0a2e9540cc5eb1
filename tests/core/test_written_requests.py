"""Requests that people write down: the policy is asked as for those that come."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Engine
from agentfence.core.jsonrpc import Request
from agentfence.core.session import Session
from agentfence.core.written_requests import decide_request, request_for_method, request_for_tool

POLICY = """
version: "1"
defaults: {decision: deny, methods: deny}
servers: {s: {command: [s]}}
tools: {s/t: allow, t: ask}
methods: {roots/list: allow}
prompts: {p: ask}
"""


def decide(request, server=None, tell=None):
    session = Session("me", is_identified=True)
    return decide_request(Engine(load_text(POLICY)), request, server, session, Circumstances(), tell).verdict


def test_tools_are_decided_by_their_rules_and_the_rest_by_method_and_name():
    call = request_for_tool("1", "t", {})

    assert (decide(call, "s"), decide(call)) == ("allow", "ask")
    assert decide(request_for_method("1", "roots/list")) == "allow"
    assert decide(request_for_method("1", None, prompt="p")) == "ask"
    assert decide(request_for_method("1", None, uri="a:b")) == "deny"


def test_whoever_listens_hears_what_was_looked_at():
    heard: list[str] = []
    decide(request_for_tool("1", "t", {}), "s", heard.append)

    assert heard[0].startswith("exact rule `s/t` covers tool `t`")


@pytest.mark.parametrize("params", [None, {}, {"name": 1, "arguments": {}}, {"name": "t"}])
def test_call_that_was_not_made_here_is_our_own_fault(params):
    with pytest.raises(TypeError):
        decide(Request("1", "tools/call", params))
