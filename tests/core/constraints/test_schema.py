"""JSON Schema of the arguments: the table, hostile values, and bad blocks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.interface import BuildContext, Circumstances, SpecError
from agentfence.core.constraints.schema import build
from agentfence.core.constraints.schema_keywords import _freeze

BLOCKS = yaml.safe_load((Path(__file__).parents[2] / "cases" / "schema" / "arguments.yaml").read_text())
CASES = [
    pytest.param(block, case, id=f"{block['name']}-{case['arguments']!a}")
    for block in BLOCKS
    for case in block["cases"]
]
NOW = Circumstances()


CLOSED = build(BLOCKS[0]["spec"], BuildContext())


def check(schema, arguments):
    return build(schema, BuildContext()).check(arguments, NOW)


@pytest.mark.parametrize(("block", "case"), CASES)
def test_arguments_fit_as_the_table_says(block, case):
    failure = check(block["spec"], case["arguments"])

    if "says" in case:
        assert failure.code == "schema_mismatch"
        assert case["says"] in failure.reason
        assert failure.allow_list is False
    else:
        assert failure is None


def test_a_quarter_of_the_table_is_honest():
    honest = [case for block in BLOCKS for case in block["cases"] if "says" not in case]

    assert len(honest) >= len(CASES) / 4


def test_reason_holds_no_value_and_no_long_or_odd_key():
    schema = {"properties": {"a": {"enum": ["x"]}, "b": {"type": "object", "additionalProperties": False}}}

    assert "s3cret" not in check(schema, {"a": "s3cret"}).reason
    assert "k" * 41 not in check(schema, {"b": {"k" * 41: 1}}).reason
    assert "évil" not in check(schema, {"b": {"évil": 1}}).reason


def test_schema_reads_all_arguments():
    assert build({}, BuildContext()).constrained_fields() == ("**",)
    assert build({}, BuildContext()).kind == "schema"


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [[n] if n % 2 else n for n in range(100_000)]}),
        ({"properties": {"a": {"pattern": "(a*)*b"}}}, {"a": "a" * 1_000_000}),
        ({"patternProperties": {"(a*)*b": False}}, {"a" * 100_000 + str(n): 1 for n in range(10)}),
        ({"properties": {"a": {"enum": [1, 2]}}}, {"a": "x" * 4_000_000}),
        ({"additionalProperties": {"type": "integer"}}, {f"k{n}": n for n in range(100_000)}),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [*range(100_000)]}),
    ],
    ids=["unique", "pattern", "patternProperties", "enum", "keys", "items"],
)
def test_hostile_arguments_take_little_time(schema, arguments):
    constraint = build(schema, BuildContext())
    started = time.perf_counter()
    constraint.check(arguments, NOW)

    assert time.perf_counter() - started < 60.0  # quadratic work would take hours


def test_depth_and_huge_numbers_are_refused_rather_than_raised():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    endless = {"properties": {"a": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"items": {"$ref": "#/$defs/l"}}}}

    assert check(endless, {"a": deep}).code == "schema_mismatch"
    assert check({"properties": {"a": {"multipleOf": 0.5}}}, {"a": 10**400}).code == "schema_mismatch"
    assert check({"properties": {"a": {"maximum": 1}}}, {"a": 10**5000}).code == "schema_mismatch"


def test_loop_that_only_some_arguments_enter_is_refused_rather_than_run():
    schema = {"if": {"required": ["a"]}, "then": {"$ref": "#"}}

    assert check(schema, {}) is None
    assert check(schema, {"a": 1}).reason == "the arguments are too deep or too large for their schema"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(json_values, json_values)
def test_frozen_values_are_equal_exactly_for_equal_json(left, right):
    from jsonschema._utils import equal

    assert equal(left, right) == (_freeze(left) == _freeze(right))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["branch", "count", "Branch", "x"]), json_values))
def test_any_arguments_get_a_verdict(arguments):
    failure = CLOSED.check(arguments, NOW)

    assert failure is None or failure.code == "schema_mismatch"


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    [
        ({"type": "text"}, ("type",), "'text' is not one of ['array', 'boolean'"),
        ({"properties": {"a": {"minimum": "0"}}}, ("properties", "a", "minimum"), "not a JSON Schema"),
        ({"properties": {"a": {"pattern": "("}}}, ("properties", "a", "pattern"), "RE2"),
        ({"patternProperties": {"(?=x)": {}}}, ("patternProperties", "(?=x)"), "RE2"),
        ({"maxLenght": 5}, ("maxLenght",), "is not a keyword here"),
        ({"properties": {"a": {"nullable": True}}}, ("properties", "a", "nullable"), "is not a keyword here"),
        ({"$ref": "https://example.com/schema"}, ("$ref",), "expected a schema in this block"),
        ({"$ref": "other.json"}, ("$ref",), "expected a schema in this block"),
        ({"$ref": "#/$defs/none"}, ("$ref",), "expected a schema in this block"),
        ({"allOf": [{"$ref": "#anchor"}]}, ("allOf", 0, "$ref"), "expected a schema in this block"),
        ({"$id": "https://example.com/a"}, ("$id",), "is not a keyword here"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, ("$schema",), "expected the dialect"),
        ({"$ref": "#"}, (), "without end"),
        (
            {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}},
            (),
            "without end",
        ),
        (
            {"patternProperties": {"^a": {}}, "unevaluatedProperties": False},
            ("unevaluatedProperties",),
            "does not go with",
        ),
    ],
)
def test_block_that_cannot_be_compiled_says_where_and_why(spec, path, says):
    with pytest.raises(SpecError) as caught:
        build(spec, BuildContext())

    assert path == caught.value.path
    assert says in caught.value.message


def test_references_of_every_local_form_are_followed():
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"a": {"$ref": "#/$defs/x~1y~0z"}, "b": {"$ref": "#/allOf/0"}},
        "allOf": [{"maxProperties": 2}],
        "$defs": {"x/y~z": {"type": "string"}},
        "x-note": "ours",
    }

    assert check(schema, {"a": "t", "b": {}}) is None
    assert check(schema, {"a": 1}) is not None
    assert check(schema, {"b": {"1": 1, "2": 2, "3": 3}}) is not None


def test_schema_that_looks_at_a_tree_twice_at_each_level_does_not_hang():
    tree = {"properties": {"below": {"$ref": "#/$defs/tree"}}}
    twice = {**tree, "anyOf": [{"$ref": "#/$defs/again"}, True]}
    constraint = build({"$ref": "#/$defs/tree", "$defs": {"tree": twice, "again": tree}}, BuildContext())
    shallow: dict[str, object] = {}
    for _ in range(4):
        shallow = {"below": shallow}
    deep = shallow
    for _ in range(60):
        deep = {"below": deep}

    assert constraint.check(shallow, Circumstances()) is None
    assert constraint.check(deep, Circumstances()).code == "schema_mismatch"


def test_misspelt_keyword_gets_the_one_that_is_meant():
    with pytest.raises(SpecError) as caught:
        build({"maxLenght": 5}, BuildContext())

    assert caught.value.help == "did you mean `maxLength`?"
