"""What keywords take is what the schema of all schemas says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agentfence.core.constraints.schema_shapes import SHAPES

VALUES = (
    *(None, True, False, 0, 1, -1, 1.0, 1.5, -0.5, 10**30, "", "string", "text", "#", [], {}),
    *([{}], [True], [1], ["a"], ["a", "a"], ["string"], ["string", "null"], ["string", "string"], [[]]),
    *({"a": {}}, {"a": False}, {"a": 1}, {"a": ["b"]}, {"a": ["b", "b"]}, {"a": []}, {"a": [1]}),
)
values = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


def is_schema(schema):
    return Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema)


@pytest.mark.parametrize("keyword", sorted(SHAPES))
def test_keyword_takes_what_the_schema_of_schemas_has_it_take(keyword):
    for value in VALUES:
        expected = is_schema({keyword: value})
        if keyword == "$schema" and isinstance(value, str):
            expected = True  # which of them is for the dialect to say

        assert expected == bool(SHAPES[keyword].holds(value)), value


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(set(SHAPES) - {"$schema", "$ref"})), values)
def test_any_value_is_taken_as_there(keyword, value):
    # Schemas inside are looked at by themselves, so here they are empty.
    if "a" in str(value) and "{" in str(value):
        return

    assert is_schema({keyword: value}) == bool(SHAPES[keyword].holds(value))
