"""Arguments: the table, properties of typed comparison, and bad blocks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.args import build
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import BuildContext, Circumstances, SpecError

BLOCKS = yaml.safe_load((Path(__file__).parents[2] / "cases" / "args" / "limits.yaml").read_text())
CASES = [
    pytest.param(block, case, id=f"{block['name']}-{case.get('arguments', case.get('v'))!a}")
    for block in BLOCKS
    for case in block["cases"]
]
NOW = Circumstances()


def check(spec, value):
    return build({"v": spec}, BuildContext()).check({"v": value}, NOW)


@pytest.mark.parametrize(("block", "case"), CASES)
def test_arguments_are_judged_as_the_table_says(block, case):
    constraint = build(block["spec"], BuildContext(**block.get("context", {})))

    failure = constraint.check(case["arguments"] if "arguments" in case else {"v": case["v"]}, NOW)

    assert case["expect"] == ("allow" if failure is None else failure.code)


def test_a_quarter_of_the_table_is_honest():
    honest = [case for block in BLOCKS for case in block["cases"] if case["expect"] == "allow"]

    assert len(honest) >= sum(len(block["cases"]) for block in BLOCKS) / 4


def test_only_the_lists_of_allowed_values_leave_room_for_asking():
    assert check({"allow": ["a"]}, "b").allow_list is True
    assert check({"in": ["a"]}, "b").allow_list is True
    for limits in ({"deny": ["b"]}, {"equals": "a"}, {"regex": "a"}, {"type": "integer"}, {"max": 1}):
        assert check({"allow": ["a"], **limits}, "b").allow_list is False


def test_violation_of_a_later_field_outweighs_an_earlier_one_that_is_merely_not_listed():
    constraint = build({"a": {"allow": ["x"]}, "b": {"deny": ["y"]}}, BuildContext())

    assert constraint.check({"a": "z", "b": "y"}, NOW).code == "arg_denied"


def test_reason_names_the_field_and_the_pattern_but_never_the_value():
    failure = check({"deny": ["tok*"]}, "token-12345")

    assert failure.reason == "argument `v` is denied by pattern `tok*`"
    assert failure.field == "v"
    for limits in ({"allow": ["a"]}, {"equals": "a"}, {"regex": "a"}, {"type": "integer"}, {"max_length": 3}):
        assert "token" not in check(limits, "token-12345").reason


def test_constrained_fields_are_the_top_level_names():
    assert build({"a.b": {}, "c": {}}, BuildContext()).constrained_fields() == ("a", "a.b", "c")
    assert build({"a": {}}, BuildContext()).kind == "args"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
LIMITS = {"allow": ["a*"], "deny": ["ab*"], "regex": "a.*", "max_length": 9, "type": "string"}


@settings(max_examples=200, deadline=None)
@given(json_values, st.sets(st.sampled_from([*LIMITS])))
def test_any_json_value_gives_a_verdict_and_more_limits_never_allow_more(value, keys):
    fewer = check({key: LIMITS[key] for key in keys}, value)
    all_of_them = check(LIMITS, value)

    assert all_of_them is not None or fewer is None


@settings(max_examples=200, deadline=None)
@given(json_values, json_values)
def test_values_that_pass_equals_are_the_same_json(value, expected):
    if value is not None and check({"equals": expected}, value) is None:
        assert repr(value).replace(".0", "") == repr(expected).replace(".0", "") or value == expected
        assert isinstance(value, bool) == isinstance(expected, bool)


@pytest.mark.parametrize(
    "value", [10**5000, -(10**5000), float("inf"), float("nan"), "\ud800", 1e300, -0.0], ids=range(7)
)
def test_extreme_values_give_a_verdict(value):
    assert check({"type": "integer", "min": 0, "max": 9}, value) is not None
    assert check({"allow": ["a"]}, value) is not None
    assert check({"regex": "a"}, value) is not None
    check({"deny": ["a"]}, value)


def test_depth_is_no_danger():
    deep = []
    for _ in range(50_000):
        deep = [deep]

    assert check({"equals": [[1]]}, deep) is not None
    assert check({"in": [[1]]}, deep) is not None
    assert check({"deny": ["a"]}, deep).code == "arg_missing"


@pytest.mark.parametrize(
    ("limits", "value"),
    [
        ({"regex": "(a|aa)+b"}, "a" * 1_000_000),
        ({"regex": "(a*)*(a*)*b"}, "a" * 1_000_000),
        ({"regex": "a" * 10}, "a" * 5_000_000),
        ({"deny": ["*a*a*a*b", "**/x*/y*/**"]}, "a" * 2_000_000),
        ({"allow": ["*a*a*a*b"]}, "a" * 2_000_000),
        ({"deny": ["x"]}, "[" * 1_000_000),
    ],
    ids=lambda value: value if isinstance(value, dict) else value[:3],
)
def test_hostile_value_takes_little_time(limits, value):
    started = time.process_time()
    check(limits, value)

    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "value",
    [["abc"] * 100_000, ["\u00e9 " * 15] * 90_000, "[" + '"a",' * 800_000 + '"a"]', "\u00e9" * 2_000_000],
)
def test_many_values_are_refused_before_they_hold_up_others(value):
    constraint = build({"a": {"deny": ["x*"], "allow": ["**"]}}, BuildContext())
    started = time.process_time()
    failure = constraint.check({"a": value}, Circumstances(effort=Effort()))

    assert time.process_time() - started < 10
    assert failure.code == "arg_not_allowed"
    assert failure.reason.endswith("more to look through than one message may have")


@pytest.mark.parametrize(
    "value", ["a text " * 590_000, "\u6587" * 1_390_000, ["tag"] * 5_000, '["a", "b"]' + " " * 999]
)
def test_as_much_as_people_send_is_looked_through(value):
    constraint = build({"a": {"deny": ["x*"], "allow": ["**"]}}, BuildContext())

    assert constraint.check({"a": value}, Circumstances(effort=Effort())) is None


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    [
        ({"a..b": {}}, ("a..b",), "expected a field"),
        ({"a": {"allow": ["ok", "["]}}, ("a", "allow", 1), "without its"),
        ({"a": {"deny": [""]}}, ("a", "deny", 0), "empty"),
        ({"a": {"regex": "("}}, ("a", "regex"), "expected an RE2 expression, got `(`"),
        ({"a": {"regex": "(?=x)"}}, ("a", "regex"), "RE2"),
        ({"a": {"regex": r"(x)\1"}}, ("a", "regex"), "RE2"),
        ({"a": {"min": 2, "max": 1}}, ("a", "max"), "no value passes"),
        ({"a": {"min": 0, "max": float("nan")}}, ("a", "max"), "no value passes"),
    ],
)
def test_block_that_cannot_be_compiled_says_where_and_why(spec, path, says):
    with pytest.raises(SpecError) as caught:
        build(spec, BuildContext())

    assert path == caught.value.path
    assert says in caught.value.message
