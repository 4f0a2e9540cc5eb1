from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import Notification, Response
from agentfence.core.nested_requests import nested_requests

FORM = {"method": "elicitation/create", "params": {"message": "hi"}}


def of_result(value: Any) -> list[Notification]:
    return nested_requests(Response(1, value))


def of_error(code: int, data: Any) -> list[Notification]:
    return nested_requests(Response(1, error={"code": code, "message": "m", "data": data}, is_error=True))


@pytest.mark.parametrize(
    ("value", "methods"),
    [
        ({"inputRequests": {"a": FORM, "b": {"method": "roots/list"}}}, ["elicitation/create", "roots/list"]),
        ({"inputRequests": {"a": {"method": "roots/list", "params": None}}}, ["roots/list"]),
        ({"inputRequests": {}}, []),
        ({"inputRequests": None}, []),
        ({"content": [{"inputRequests": {"a": FORM}}]}, []),
        ([{"inputRequests": {"a": FORM}}], []),
        (None, []),
    ],
)
def test_result_holds_requests_under_one_key(value: Any, methods: list[str]) -> None:
    assert methods == [request.method for request in of_result(value)]


def test_request_keeps_its_params() -> None:
    assert of_result({"inputRequests": {"a": FORM}}) == [Notification(FORM["method"], FORM["params"])]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "requests",
    [
        [FORM],
        "all",
        {"a": "roots/list"},
        {"a": {"params": {}}},
        {"a": {"method": ["roots/list"]}},
        {"a": {"method": "roots/list", "params": []}},
        {"a": {"Method": "sampling/createMessage", "method": "roots/list"}},
        {"a": {"method": "Sampling/CreateMessage"}},
        {str(number): FORM for number in range(101)},
    ],
)
def test_requests_that_clients_may_read_in_two_ways_are_refused(requests: Any) -> None:
    with pytest.raises(ProtocolViolation):
        of_result({"inputRequests": requests})


@pytest.mark.parametrize(
    ("code", "data", "number"),
    [
        (-32042, {"elicitations": [{"mode": "url", "url": "https://a"}, {}]}, 2),
        (-32042, {"elicitations": []}, 0),
        (-32042, {}, 0),
        (-32042, None, 0),
        (-32000, {"elicitations": [{}]}, 0),
    ],
)
def test_one_error_asks_the_client_to_open_pages(code: int, data: Any, number: int) -> None:
    assert [request.method for request in of_error(code, data)] == ["elicitation/create"] * number


@pytest.mark.parametrize(
    "data",
    [
        {"elicitations": {}},
        {"Elicitations": []},
        {"elicitations": [{}] * 101},
        {"elicitations": ["https://a"]},
        {"elicitations": [None]},
        {"elicitations": [{"URL": "https://a"}]},
    ],
)
def test_pages_that_clients_may_read_in_two_ways_are_refused(data: Any) -> None:
    with pytest.raises(ProtocolViolation):
        of_error(-32042, data)


def test_only_notifications_about_tasks_hold_requests() -> None:
    params = {"inputRequests": {"a": {"method": "roots/list"}}}

    assert len(nested_requests(Notification("notifications/tasks", params))) == 1  # type: ignore[arg-type]
    assert nested_requests(Notification("notifications/tasks")) == []
    assert nested_requests(Notification("notifications/message", params)) == []  # type: ignore[arg-type]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["inputRequests", "method", "a", "params"]), inner)
    ),
    max_leaves=10,
)


@given(values)
def test_any_result_gives_requests_or_a_violation(value: Any) -> None:
    try:
        found = of_result({"inputRequests": value})
    except ProtocolViolation:
        return

    assert all(isinstance(request, Notification) for request in found)
