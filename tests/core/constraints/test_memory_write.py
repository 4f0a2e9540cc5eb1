"""Memory writes: the table, the reasons, and bad blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import BuildContext, Circumstances, SpecError
from agentfence.core.constraints.memory_write import build

BLOCKS = yaml.safe_load((Path(__file__).parents[2] / "cases" / "memory_write" / "writes.yaml").read_text())
CASES = [
    pytest.param(block, case, id=f"{block['name']}-{case['arguments']!a}")
    for block in BLOCKS
    for case in block["cases"]
]
NOW = Circumstances()


def constraint_of(block):
    secrets = tuple(map(tuple, block.get("secrets", ())))
    return build(block["spec"], BuildContext(secret_patterns=secrets, **block.get("context", {})))


@pytest.mark.parametrize(("block", "case"), CASES)
def test_write_is_judged_as_the_table_says(block, case):
    failure = constraint_of(block).check(case["arguments"], NOW)

    assert case["expect"] == ("allow" if failure is None else failure.code)


def test_a_quarter_of_the_table_is_honest():
    assert sum(case.values[1]["expect"] == "allow" for case in CASES) >= len(CASES) / 4


def test_reason_names_limits_and_never_what_was_written():
    constraint = constraint_of(BLOCKS[0])

    assert "TCK" not in constraint.check({"value": "TCK-123456"}, NOW).reason
    assert "oddity" not in constraint.check({"value": "a", "scope": "oddity"}, NOW).reason
    assert (
        constraint.check({"value": "a", "scope": "global"}, NOW).reason
        == "scope `global` is beyond `project`"
    )


def test_constrained_fields_are_payload_scope_and_sensitivity():
    assert constraint_of(BLOCKS[0]).constrained_fields() == ("value", "items", "scope", "sensitivity")
    assert constraint_of(BLOCKS[0]).kind == "memory_write"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["value", "content", "scope", "sensitivity"]), json_values))
def test_any_arguments_get_a_verdict_and_fewer_bytes_never_allow_more(arguments):
    small = build({"max_bytes": 3, "max_scope": "project"}, BuildContext()).check(arguments, NOW)
    large = build({"max_bytes": 9}, BuildContext()).check(arguments, NOW)

    assert small is not None or large is None


def test_payload_of_very_many_texts_is_refused_before_it_holds_up_others():
    patterns = tuple((f"p{n}", f"T{n}-[0-9]+") for n in range(20))
    memory = build({"max_sensitivity": "low"}, BuildContext(secret_patterns=patterns))

    assert (
        memory.check({"value": ["a text"] * 90_000}, Circumstances(effort=Effort())).code
        == "memory_size_exceeded"
    )
    for value in (["a text"] * 1_000, "a text " * 590_000):
        assert memory.check({"value": value}, Circumstances(effort=Effort())) is None


@pytest.mark.parametrize(
    ("spec", "secrets", "path", "says"),
    [
        ({"payload_fields": ["a", ".b"]}, (), ("payload_fields", 1), "expected a field"),
        ({"payload_fields": []}, (), ("payload_fields",), "is empty"),
        ({"max_sensitivity": "low"}, (("bad", "("),), (), "redaction pattern `bad`"),
    ],
)
def test_block_that_cannot_be_compiled_says_where_and_why(spec, secrets, path, says):
    with pytest.raises(SpecError) as caught:
        build(spec, BuildContext(secret_patterns=secrets))

    assert path == caught.value.path
    assert says in caught.value.message
