from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core import jsonrpc
from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import (
    Notification,
    Request,
    Response,
    error_answer,
    legal_id,
    read_message,
    result_answer,
)

MESSAGES = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "wire" / "reader_messages.yaml").read_text("utf-8")
)
HONEST = [case for case in MESSAGES if "kind" in case]
KEYS = ["jsonrpc", "id", "method", "params", "result", "error", "Method", "x"]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    scalars | st.text(max_size=8) | st.sampled_from(["2.0", "ping", "tools/call"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*KEYS, "name", "_meta", "code", "message"]) | st.text(max_size=8), inner
        )
    ),
    max_leaves=12,
)
messages = st.fixed_dictionaries({"jsonrpc": st.just("2.0")}, optional=dict.fromkeys(KEYS[1:], values))


def kind_of(value: Any, *, lenient_error_id: bool = False) -> str:
    try:
        message = read_message(value, lenient_error_id=lenient_error_id)
    except ProtocolViolation:
        return "refusal"
    match message:
        case Request():
            return "request"
        case Notification():
            return "notification"
        case Response(is_error=is_error):
            return "error" if is_error else "result"


@pytest.mark.parametrize("case", MESSAGES, ids=lambda case: case["id"])
def test_value_is_one_message_or_refused_with_its_reason(case: dict[str, Any]) -> None:
    value = json.loads(case["text"])
    expected = case.get("kind", "refusal")

    assert expected == kind_of(value)
    assert case.get("lenient", expected) == kind_of(value, lenient_error_id=True)
    if "problem" in case:
        with pytest.raises(ProtocolViolation) as caught:
            read_message(value)

        assert caught.value.code == -32600
        assert case["problem"] in str(caught.value)
        assert str(caught.value).isprintable()


def test_a_quarter_of_the_messages_is_honest() -> None:
    assert len(HONEST) * 4 >= len(MESSAGES)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case["id"])
def test_message_holds_what_the_value_holds(case: dict[str, Any]) -> None:
    value = json.loads(case["text"])
    message = read_message(value)

    assert value.get("id") == getattr(message, "id", None)
    assert value.get("method") == getattr(message, "method", None)
    assert value.get("params") == getattr(message, "params", None)
    assert value.get("result") == getattr(message, "result", None)
    assert value.get("error") == getattr(message, "error", None)


@pytest.mark.parametrize(
    "case", [case for case in MESSAGES if case["text"][0] == "{"], ids=lambda case: case["id"]
)
def test_order_of_keys_does_not_matter(case: dict[str, Any]) -> None:
    value = json.loads(case["text"])
    turned = dict(reversed(value.items()))

    assert kind_of(value) == kind_of(turned)


@given(values | messages)
@settings(max_examples=100)
def test_any_value_is_a_message_or_refused(value: Any) -> None:
    before = json.dumps(value)
    kind = kind_of(value)

    assert kind == kind_of(value)
    assert before == json.dumps(value)
    if kind != "refusal":
        assert {"request": "method", "notification": "method"}.get(kind, kind) in value
        assert (kind == "notification") is ("id" not in value)
    if kind in ("refusal", "request"):
        assert kind == kind_of(value, lenient_error_id=True) or "error" in value


@given(messages)
@settings(max_examples=100)
def test_lenience_changes_nothing_but_errors_without_id(value: dict[str, Any]) -> None:
    strict, lenient = kind_of(value), kind_of(value, lenient_error_id=True)

    assert strict == lenient or (lenient == "error" and value.get("id") is None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"id": 1}, 1),
        ({"id": "1", "method": 5}, "1"),
        ({"id": 0}, 0),
        ({"id": ""}, ""),
        ({"id": 2**53 - 1}, 2**53 - 1),
        ({"id": 2**53}, None),
        ({"id": True}, None),
        ({"id": 1.0}, None),
        ({"id": None}, None),
        ({"id": [1]}, None),
        ({}, None),
        ([{"id": 1}], None),
        ("id", None),
    ],
)
def test_id_is_given_only_if_it_is_legal(value: Any, expected: Any) -> None:
    found = legal_id(value)

    assert expected == found
    assert type(expected) is type(found)


@pytest.mark.parametrize("id_", [1, 0, -5, "1", "", "caf\u00e9\u2028\n", None])
def test_error_answer_has_the_id_of_the_same_type(id_: Any) -> None:
    answer = error_answer(id_, -32001, "blocked: \u2028 \U0001f600", {"agentfence": {"rule": None}})

    assert {
        "jsonrpc": "2.0",
        "id": id_,
        "error": {
            "code": -32001,
            "message": "blocked: \u2028 \U0001f600",
            "data": {"agentfence": {"rule": None}},
        },
    } == json.loads(answer)
    assert answer.isascii()
    assert len(answer.splitlines()) == 1


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        (None, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}'),
        ({}, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":{}}}'),
    ],
)
def test_error_answer_is_compact_and_has_data_only_if_there_is_some(details: Any, expected: bytes) -> None:
    assert expected == error_answer(None, -32700, "m", details)


def test_result_answer_is_compact() -> None:
    assert result_answer("1", {"é": [1]}) == b'{"jsonrpc":"2.0","id":"1","result":{"\\u00e9":[1]}}'


@given(st.integers(-(2**53) + 1, 2**53 - 1) | st.text(), values)
@settings(max_examples=100)
def test_result_answer_is_read_back_by_the_reader(id_: int | str, result: Any) -> None:
    answer = result_answer(id_, result)

    assert {"jsonrpc": "2.0", "id": id_, "result": result} == jsonrpc.parse_json(answer)
    assert answer.isascii()
    assert b"\n" not in answer


def test_module_offers_the_reader_of_texts() -> None:
    assert {"Json", "parse_json", "harmless_line", "fold_key", "MAX_DEPTH", "MAX_VALUES"} <= set(
        jsonrpc.__all__
    )
    assert all(hasattr(jsonrpc, name) for name in jsonrpc.__all__)
