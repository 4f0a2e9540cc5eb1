"""When the fence fails after a person was asked, nothing goes on and nobody hangs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from talking import Talk, call, events, kinds, notification, request, result

from agentfence.core.effects import Answer, Ask, Forward
from agentfence.core.failing import fail_asked

if TYPE_CHECKING:
    from agentfence.core.effects import Effects


def fail(talk: Talk, effects: Effects) -> Effects:
    (ask,) = effects
    assert isinstance(ask, Ask)
    return fail_asked(talk.gate, ask.pending, talk.circumstances)


def bodies(effects: Effects, kind: type[Any]) -> list[Any]:
    return [json.loads(effect.body) for effect in effects if isinstance(effect, kind)]


def test_call_is_answered_and_its_id_is_free_again() -> None:
    talk = Talk()
    failed = fail(talk, talk.agent(call("send", 1)))

    (answer,) = bodies(failed, Answer)
    assert (answer["id"], answer["error"]["code"]) == (1, -32003)
    assert bodies(failed, Forward) == []
    assert [event["reason_code"] for event in events(failed)] == ["internal_error"]
    assert kinds(talk.agent(call("send", 1))) == ["Ask"]


def test_notification_is_dropped() -> None:
    talk = Talk('version: "1"\ndefaults: {decision: ask, methods: ask}\n')
    failed = fail(talk, talk.agent(notification("vendor/note")))

    assert kinds(failed) == ["Record", "Drop"]


def test_request_of_a_server_is_answered_and_its_id_is_free_again() -> None:
    talk = Talk()
    talk.agent(call("read", 7))
    failed = fail(talk, talk.server(request("sampling/createMessage", 7)))

    (answer,) = bodies(failed, Answer)  # it goes back to the server
    assert (answer["id"], answer["error"]["code"]) == (7, -32003)
    assert bodies(failed, Forward) == []
    assert kinds(talk.server(request("sampling/createMessage", 7))) == ["Ask"]
    assert bodies(talk.server(result(7)), Forward) == [
        result(7)
    ]  # the agent's own call under that id goes on


@pytest.mark.parametrize("id_", [7, "x"])
def test_caller_of_a_held_answer_gets_an_error(id_: Any) -> None:
    talk = Talk()
    talk.settle("2025-11-25")
    talk.agent(call("read", id_))
    asks = {"inputRequests": {"a": {"method": "sampling/createMessage", "params": {}}}}
    failed = fail(talk, talk.server(result(id_, asks)))

    (answer,) = bodies(failed, Forward)
    assert (answer["id"], answer["error"]["code"]) == (id_, -32003)
    assert "inputRequests" not in str(answer)
