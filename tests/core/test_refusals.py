from __future__ import annotations

import json
from typing import Any

import pytest

from agentfence.core import refusals
from agentfence.core.decision import Decision
from agentfence.core.http.message import HttpRefusal
from agentfence.core.jsonrpc import Request
from agentfence.core.policy.model import Verdict
from agentfence.core.refusals import Refusal
from agentfence.core.revisions import ASSUMED, REVISIONS

NEWEST = REVISIONS[-1]
DENIED = Decision(Verdict.DENY, "rule_match", "tool `rm` has its own rule: deny", "rm")


def test_text_says_what_was_refused_by_which_rule_and_that_it_will_be_again() -> None:
    text = refusals.blocked_text(DENIED, DENIED.reason)

    assert text == (
        "blocked by AgentFence policy: tool `rm` has its own rule: deny; rule `rm`. "
        "The same call will be refused again."
    )


def test_text_has_the_policys_own_words() -> None:
    decision = Decision(Verdict.DENY, "rule_match", "why", "rm", message="ask Eva")

    assert "why (ask Eva); rule `rm`" in refusals.blocked_text(decision, "why")


def test_text_says_when_a_used_up_rate_is_free_again() -> None:
    decision = Decision(Verdict.DENY, "rate_exceeded", "why", "rm", retry_after_ms=1_500)

    assert refusals.blocked_text(decision, "why").endswith("It may pass in 1500 ms.")


def test_text_does_not_keep_from_trying_again_what_found_no_place_to_wait() -> None:
    text = refusals.blocked_text(DENIED, "too many questions wait already", "approval_queue_full")

    assert text.endswith("rule `rm`. It can be asked about when fewer wait.")


def test_details_say_when_to_try_again_only_where_that_is_known() -> None:
    known: dict[str, Any] = {"decision": "deny", "reason_code": "code", "rule": "rule", "call_id": "call-1"}

    assert refusals.details("deny", "code", "rule", "call-1") == {"agentfence": known}
    assert refusals.details("deny", "code", "rule", "call-1", 5) == {
        "agentfence": {**known, "retryAfterMs": 5},
        "retryAfterMs": 5,
    }


@pytest.mark.parametrize(("revision", "code"), [(ASSUMED, -32001), (NEWEST, -31001)])
def test_error_has_the_id_and_the_revisions_code(revision: Any, code: int) -> None:
    answer = json.loads(refusals.blocked_error("7", revision, "text", {"agentfence": {}}))

    assert answer == {
        "jsonrpc": "2.0",
        "id": "7",
        "error": {"code": code, "message": "text", "data": {"agentfence": {}}},
    }


def test_tool_call_is_refused_by_a_result() -> None:
    request = Request(7, "tools/call", {"name": "rm"})
    content = [{"type": "text", "text": "text"}]

    answer = json.loads(refusals.blocked_result(request, ASSUMED, "text") or b"")
    assert answer == {"jsonrpc": "2.0", "id": 7, "result": {"content": content, "isError": True}}
    answer = json.loads(refusals.blocked_result(request, NEWEST, "text") or b"")
    assert answer["result"] == {"content": content, "isError": True, "resultType": "complete"}


@pytest.mark.parametrize(
    "request_",
    [Request(7, "prompts/get", {"name": "a"}), Request(7, "ping"), Request(7, "tools/call", {"task": {}})],
)
def test_other_requests_have_no_result_that_says_no(request_: Request) -> None:
    assert refusals.blocked_result(request_, ASSUMED, "text") is None


@pytest.mark.parametrize(("revision", "code"), [(ASSUMED, -32002), (NEWEST, -31002)])
def test_server_that_is_gone_has_a_code(revision: Any, code: int) -> None:
    error = json.loads(refusals.upstream_answer(7, revision, "text", "call-1"))["error"]

    assert (error["code"], error["data"]["agentfence"]["decision"]) == (code, "allow")


@pytest.mark.parametrize(("revision", "code"), [(ASSUMED, -32003), (NEWEST, -31003)])
def test_failure_of_the_fence_has_a_code(revision: Any, code: int) -> None:
    answer = json.loads(refusals.internal_answer(None, revision, "text", "internal_error", "call-1"))

    assert (answer["id"], answer["error"]["code"]) == (None, code)


def test_answers_to_a_batch_are_one_array() -> None:
    assert refusals.batch_answer([b"{}", b"1"]) == b"[{},1]"


def test_request_of_an_unknown_method_has_the_id_alone() -> None:
    assert json.loads(refusals.unknown_request("7")) == {
        "jsonrpc": "2.0",
        "id": "7",
        "method": "agentfence/refused",
    }


def test_refusal_of_an_exchange_keeps_status_and_headers() -> None:
    exchange = HttpRefusal(405, -32600, "text", "unparsed", (("Allow", "POST"),))

    assert Refusal.of_exchange(exchange) == Refusal(
        -32600, "unparsed", "text", 405, headers=(("Allow", "POST"),)
    )
