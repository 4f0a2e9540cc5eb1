"""Selectors: the table, the grammar, and depth."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.fields import (
    build_fields,
    collect_text,
    has_twin,
    parse_selector,
    parse_selectors,
    text_readings,
    uncovered,
)
from agentfence.core.constraints.interface import Failure, SpecError, together

TABLE = yaml.safe_load((Path(__file__).parents[2] / "cases" / "fields" / "select.yaml").read_text())
CASES = [
    pytest.param(block["fields"], case, id=f"{block['fields']}-{case['arguments']!a}")
    for block in TABLE["selectors"]
    for case in block["cases"]
]


@pytest.mark.parametrize(("fields", "case"), CASES)
def test_selectors_find_exactly_what_the_table_says(fields, case):
    found = collect_text(parse_selectors(fields), case["arguments"], "x_missing")

    if "fails" in case:
        assert isinstance(found, Failure)
        assert found.code == "x_missing"
        assert case["fails"] in found.reason
    else:
        assert case["texts"] == [[item.path, item.text] for item in found]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("a", [("a",)]),
        ("a.b", [("a", "b"), ("a.b",)]),
        ("a.b.c", [("a", "b", "c"), ("a", "b.c"), ("a.b", "c"), ("a.b.c",)]),
        ('"a.b"', [("a.b",)]),
        ('"a.b".c', [("a.b", "c")]),
        ('a."b.c"', [("a", "b.c")]),
        (r'"a\"b"', [('a"b',)]),
        ("a[*]", [("a",)]),
        ("a[*][*].b", [("a", "b")]),
        ("a.b[*].c", [("a", "b", "c"), ("a.b", "c")]),
        ("with blank", [("with blank",)]),
        ("$ref", [("$ref",)]),
        ("**", []),
    ],
)
def test_selector_has_every_reading_of_its_dots(text, readings):
    assert readings == list(parse_selector(text).readings)


@pytest.mark.parametrize("text", TABLE["malformed"])
def test_text_that_is_no_selector_is_an_error(text):
    with pytest.raises(ValueError, match="expected a field"):
        parse_selector(text)


def test_block_with_bad_fields_says_which():
    with pytest.raises(SpecError) as caught:
        build_fields({"fields": ["a", "b["]}, ["path"])

    assert caught.value.path == ("fields", 1)
    with pytest.raises(SpecError):
        build_fields({"fields": []}, ["path"])
    assert [selector.text for selector in build_fields({}, ["path", "file"])] == ["path", "file"]


def test_selector_names_the_arguments_it_reads():
    selectors = parse_selectors(["a.b", '"c.d"', "**"])

    assert [selector.top_level for selector in selectors] == ["a", "c.d", "**"]
    assert selectors.top_levels == ("a", "a.b", "c.d", "**")
    assert len(selectors) == 3
    assert selectors[0].text == "a.b"


def test_twin_is_named_by_the_constrained_key():
    selectors = parse_selectors(["path"])

    assert has_twin({"PATH": 1}, selectors) == "path"
    assert has_twin({"path": 1, "paths": 2}, selectors) is None
    assert has_twin({"PATH": 1}, parse_selectors(["**"])) is None


def test_innocent_keys_are_remembered_only_up_to_a_bound():
    selectors = parse_selectors(["path"])
    for number in range(5_000):
        assert has_twin({f"key{number}": 1}, selectors) is None

    assert len(selectors._names.harmless) <= 1024
    assert has_twin({"key4999": 1, "PATH": 1}, selectors) == "path"


def test_long_keys_are_not_remembered_and_very_many_of_other_scripts_are_refused():
    selectors = parse_selectors(["path"])

    assert has_twin({"k" * 1_000_000: 1}, selectors) is None
    assert max(map(len, selectors._names.harmless)) < 100
    assert has_twin({"\u043a\u043b\u044e\u0447" * 10_000: 1}, selectors) is None
    assert has_twin({f"\u043a\u043b\u044e\u0447{number}": 1 for number in range(90_000)}, selectors) == "path"


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("plain", ["plain"]),
        ('["a", ["b", 1], {"k": "c"}]', ['["a", ["b", 1], {"k": "c"}]', "a", "b", "c"]),
        (' ["a"]', [' ["a"]', "a"]),
        ("[slug]/page.tsx", ["[slug]/page.tsx"]),
        ("[", ["["]),
        ("", [""]),
    ],
)
def test_text_that_is_a_json_list_is_also_its_elements(text, readings):
    assert readings == list(text_readings(text))


def test_depth_is_no_danger():
    deep = value = []
    for _ in range(50_000):
        value.append([])
        value = value[0]
    value.append("x")

    assert len(collect_text(parse_selectors(["**"]), {"a": deep}, "m")) == 1
    assert parse_selector("a").select({"a": deep})[0].value == "x"
    assert text_readings("[" * 100_000) == ("[" * 100_000,)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "A", "a.b", "x"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "a.b", "x"]), json_values, max_size=4))
def test_every_text_below_a_selected_key_is_found_or_the_call_fails(arguments):
    found = collect_text(parse_selectors(["a", "b", "a.b"]), arguments, "m")
    everything = collect_text(parse_selectors(["**"]), {k: v for k, v in arguments.items() if k != "x"}, "m")

    if not isinstance(found, Failure):
        assert {item.text for item in everything} <= {item.text for item in found}


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["a"], "argument `a` is not allowed"),
        (["a", "b", "a"], "arguments `a`, `b` are not allowed"),
        ([*"abcdefg"], "arguments `a`, `b`, `c`, `d`, `e` and 2 more are not allowed"),
    ],
)
def test_every_field_that_is_not_covered_is_named(names: list[str], reason: str) -> None:
    assert uncovered("arg_not_allowed", names, "not allowed") == Failure(
        "arg_not_allowed", reason, "a", allow_list=True
    )


def test_nothing_that_is_not_covered_is_no_failure() -> None:
    assert uncovered("arg_not_allowed", [], "not allowed") is None


def test_all_reasons_are_told_as_one() -> None:
    failures = [Failure(f"code_{n}", f"reason {n}", allow_list=True) for n in range(7)]

    assert together(failures[:1]) is failures[0]
    assert together([*failures[:2], failures[0]]).reason == "reason 0; reason 1"
    assert together(failures).reason.endswith("reason 4; 2 more reasons")
    assert together(failures).code == "code_0"
