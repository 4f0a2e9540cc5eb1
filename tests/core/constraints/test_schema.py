"""JSON Schema of the arguments: the table, hostile values, and bad blocks."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import BuildContext, Circumstances, SpecError
from agentfence.core.constraints.schema import build, compile_schema
from agentfence.core.constraints.schema_keywords import Steps, freeze, make_validator
from agentfence.core.tool_schemas import arguments_constraint

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


MANY = [*range(90_000)]
KEYS = {f"k{n}": n for n in range(90_000)}
EXPRESSIONS = {f"x{n}": {} for n in range(1_000)}


def below(schema):
    return {"properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        (below({"uniqueItems": True}), {"a": [[n] if n % 2 else n for n in range(100_000)]}),
        (below({"uniqueItems": True}), {"a": [n * (2**61 - 1) for n in MANY]}),
        (below({"allOf": [{"uniqueItems": True}] * 800}), {"a": MANY}),
        (below({"pattern": "(a*)*b"}), {"a": "a" * 1_000_000}),
        (
            below({"allOf": [{"pattern": f"^[^{chr(n)}]*$"} for n in range(0x4E00, 0x5100)]}),
            {"a": "x" * 10**6},
        ),
        ({"patternProperties": {"(a*)*b": False}}, {"a" * 100_000 + str(n): 1 for n in range(10)}),
        ({"patternProperties": EXPRESSIONS}, KEYS),
        ({"patternProperties": EXPRESSIONS, "additionalProperties": {"type": "integer"}}, KEYS),
        (
            {"allOf": [{"patternProperties": {"^(a*)*b$": True}}], "unevaluatedProperties": True},
            {"a" * 40: 1},
        ),
        ({"properties": {"a": {}}, "unevaluatedProperties": {"type": "integer"}}, KEYS),
        ({"allOf": [{"additionalProperties": True}], "unevaluatedProperties": False}, KEYS),
        ({"allOf": [{"propertyNames": {}}] * 800}, KEYS),
        ({"allOf": [{"propertyNames": {"maxLength": 9}}] * 800}, KEYS),
        ({"additionalProperties": {"type": "integer"}}, {f"k{n}": n for n in range(100_000)}),
        (below({"enum": [1, 2]}), {"a": "x" * 4_000_000}),
        (below({"anyOf": [{"const": [*MANY, n]} for n in range(2)] * 50}), {"a": MANY}),
        (below({"anyOf": [{"type": "string"}] * 1_500}), {"a": MANY}),
        (below({"items": {"type": "integer"}}), {"a": [*range(100_000)]}),
        (below({"allOf": [{"items": {"title": "x"}}] * 800}), {"a": MANY}),
        (below({"allOf": [{"items": False}] * 800}), {"a": []}),
        (below({"allOf": [{"contains": {}, "maxContains": 90_000}] * 800}), {"a": MANY}),
        (below({"contains": {"type": "integer"}, "unevaluatedItems": False}), {"a": MANY}),
    ],
)
def test_hostile_arguments_take_little_time(schema, arguments):
    constraint = build(schema, BuildContext())
    started = time.process_time()
    constraint.check(arguments, Circumstances(effort=Effort()))

    assert time.process_time() - started < 2.0  # a tenth of a second; without bounds it is many


@pytest.mark.parametrize(
    "schema",
    [
        {"allOf": [{}] * 20_000},
        {"anyOf": [True] * 12_000},
        {"properties": {f"{n:x}": {} for n in range(7_000)}},
        {"properties": {f"{n:x}": True for n in range(5_800)}},
        {"properties": {f"\u0130{n:x}": True for n in range(4_300)}},
        {"patternProperties": {f"{n:x}": True for n in range(5_800)}},
        {"$defs": {"a": {}}, "allOf": [{"$ref": "#/$defs/a"}] * 2_800},
        {"items": [{}] * 20_000},
        {"dependencies": {f"{n:x}": ["a"] for n in range(5_000)}},
        {"pattern": r"\pL" * 16_000},
        {"allOf": [{"pattern": rf"\pL{{99}}{n}"} for n in range(1_200)]},
        {"allOf": [{"pattern": f".{{1000}}{n}"} for n in range(1_200)]},
        {"$defs": {f"{n}": {"allOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(99)} | {"99": {}}}
        | {"$ref": "#/$defs/0"},
        {
            "$defs": {
                f"{n}": {"properties": {key: {"$ref": f"#/$defs/{n + 1}"} for key in "abcdefgh"}}
                for n in range(20)
            }
        }
        | {"$ref": "#/$defs/0"},
    ],
)
def test_hostile_schema_of_a_tool_takes_little_time(schema):
    compile_schema({}, is_strangers=True)  # RE2 is loaded
    started = time.process_time()
    with contextlib.suppress(SpecError):
        arguments_constraint(schema)

    assert time.process_time() - started < 1.0  # a twelfth of a second


def test_expressions_of_a_stranger_are_held_to_their_size():
    slow = compile_schema(below({"pattern": "a[ab]{900}c"}), is_strangers=True)
    text = "abbabaabab" * 100_000

    assert slow.check({"a": text}, Circumstances(effort=Effort())).reason.endswith("for their schema")
    plain = compile_schema(below({"pattern": "^(?:[0-9a-zA-Z+/]{4})*$"}), is_strangers=True)
    assert plain.check({"a": "abcd" * 500_000}, Circumstances(effort=Effort())) is None


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

    assert equal(left, right) == (freeze(left, lambda _: None) == freeze(right, lambda _: None))


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["branch", "count", "Branch", "x"]), json_values))
def test_any_arguments_get_a_verdict(arguments):
    failure = CLOSED.check(arguments, NOW)

    assert failure is None or failure.code == "schema_mismatch"


@pytest.mark.parametrize(
    ("spec", "path", "says"),
    [
        (
            {"type": "text"},
            ("type",),
            "takes one of the types of JSON, or a list of different ones, got `'text'`",
        ),
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
    ],
)
def test_block_that_cannot_be_compiled_says_where_and_why(spec, path, says):
    with pytest.raises(SpecError) as caught:
        build(spec, BuildContext())

    assert path == caught.value.path
    assert says in caught.value.message


small = st.sampled_from(
    [None, True, False, 0, 1, 2, 1.0, 1.5, "", "a", "bb", [], [1], [1, 1], [True, 1], {}, {"a": 1}]
)
instances = st.recursive(
    small,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
counts = st.integers(0, 3)
types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
schemas = st.recursive(
    st.booleans() | st.fixed_dictionaries({}, optional={"type": types, "minimum": counts}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": types | st.lists(types, min_size=1, max_size=2, unique=True),
            "const": small,
            "enum": st.lists(small, max_size=3),
            "uniqueItems": st.booleans(),
            **dict.fromkeys(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], counts),
            **dict.fromkeys(["minLength", "maxLength", "minItems", "maxItems"], counts),
            **dict.fromkeys(["minProperties", "maxProperties", "minContains", "maxContains"], counts),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "dependentRequired": st.dictionaries(st.sampled_from("abc"), st.just(["b"]), max_size=2),
            **dict.fromkeys(
                ["allOf", "anyOf", "oneOf", "prefixItems"], st.lists(inner, min_size=1, max_size=3)
            ),
            **dict.fromkeys(
                ["properties", "dependentSchemas"], st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
            ),
            **dict.fromkeys(["items", "contains", "additionalProperties", "propertyNames", "not"], inner),
            **dict.fromkeys(["if", "then", "else", "unevaluatedItems", "unevaluatedProperties"], inner),
        },
    ),
    max_leaves=8,
)


@settings(max_examples=1_000, deadline=None)
@given(schemas, instances)
def test_any_schema_holds_any_value_as_the_library_has_it(schema, instance):
    ours = make_validator(schema, {}, Steps(10**9), {})

    assert Draft202012Validator(schema).is_valid(instance) == ours.is_valid(instance)


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
    escaped = {
        "$defs": {"Pick<A, b>": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/Pick%3CA%2C%20b%3E"}},
    }
    assert check(escaped, {"a": "t"}) is None
    assert check(escaped, {"a": 1}) is not None
    for reference in ("#/allOf/1", "#/allOf/00", "#/allOf/-1", "#/allOf", "#/allOf/0/maxProperties", "#/a/b"):
        with pytest.raises(SpecError):
            check({"allOf": [{"maxProperties": 2}], "not": {"$ref": reference}}, {})


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
