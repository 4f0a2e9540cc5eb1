"""Commands: the tables, and blocks that cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agentfence.core.constraints.command import build
from agentfence.core.constraints.interface import BuildContext, Circumstances, Failure, SpecError

FOLDER = Path(__file__).parents[2] / "cases" / "command"
BLOCKS = [
    block for file in sorted(FOLDER.glob("*.yaml")) for block in yaml.safe_load(file.read_text("utf-8"))
]
CASES = [
    pytest.param(block, case, id=f"{block['name']}-{case.get('arguments', case.get('value'))!a}")
    for block in BLOCKS
    for case in block["cases"]
]


def judge(block, case) -> Failure | None:
    arguments = case["arguments"] if "arguments" in case else {"command": case["value"]}
    return build(block["spec"], BuildContext(**block.get("context", {}))).check(arguments, Circumstances())


@pytest.mark.parametrize(("block", "case"), CASES)
def test_command_is_judged_as_the_table_says(block, case):
    failure = judge(block, case)

    assert case["expect"] == ("allow" if failure is None else failure.code)
    if "ask" in case:
        assert case["ask"] == failure.allow_list


@pytest.mark.parametrize(("block", "case"), CASES)
def test_reason_holds_no_value(block, case):
    failure = judge(block, case)

    value = case.get("value")
    if failure is not None and isinstance(value, str) and len(value) > 4 and value not in str(block["spec"]):
        assert value not in failure.reason


def test_table_has_attacks_and_a_quarter_of_honest_calls():
    honest = [case for block in BLOCKS for case in block["cases"] if case["expect"] == "allow"]
    total = sum(len(block["cases"]) for block in BLOCKS)

    assert len(honest) >= total / 4
    assert total - len(honest) >= 200


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({}, ()),
        ({"syntax": "none"}, ()),
        ({"allow": []}, ("allow",)),
        ({"deny_patterns": []}, ("deny_patterns",)),
        ({"allow_executables": []}, ("allow_executables",)),
        ({"allow": ["ls", "ls; id"]}, ("allow", 1)),
        ({"allow": ["ls [a"]}, ("allow", 0)),
        ({"deny_patterns": ["ls", "ls [a"]}, ("deny_patterns", 1)),
        ({"allow": ["ls"], "fields": []}, ("fields",)),
        ({"allow": ["ls"], "fields": ["a", "b["]}, ("fields", 1)),
        ({"allow": ["ls"], "argv": []}, ("argv",)),
        ({"allow": ["ls"], "argv": ["a."]}, ("argv", 0)),
    ],
)
def test_block_that_cannot_be_built_names_the_place(spec, path):
    with pytest.raises(SpecError) as error:
        build(spec, BuildContext())

    assert path == error.value.path


def test_constrained_fields_are_those_that_are_read():
    spec = {"fields": ["a.b", "c[*]"], "argv": ["d", "e[*].f"], "deny_patterns": ["x"]}

    assert {"a", "a.b", "c", "d", "e"} == set(build(spec, BuildContext()).constrained_fields())
    assert build({"allow": ["x"]}, BuildContext()).constrained_fields() == ("command",)
    assert build({"allow": ["x"]}, BuildContext()).kind == "command"
