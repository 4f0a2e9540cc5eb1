"""Blocks with `required: false`: a table of calls."""

from __future__ import annotations

import pytest

from agentfence.core.constraints.interface import BuildContext, Circumstances
from agentfence.core.constraints.registry import build_constraint


def code(kind, spec, arguments):
    failure = build_constraint(kind, spec, BuildContext()).check(arguments, Circumstances())
    return failure.code if failure else None


FIELDS = {"fields": ["path", "files[*].path", "a.b"], "deny": ["secrets/**"]}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, None),
        ({"other": "secrets/key"}, None),
        ({"path": None}, None),
        ({"files": []}, None),
        ({"files": [{"name": "x"}]}, None),
        ({"a": {"c": "d"}}, None),
        ({"path": "docs/a"}, None),
        ({"path": "secrets/key"}, "path_denied"),
        ({"files": [{"name": "x"}, {"path": "secrets/key"}]}, "path_denied"),
        ({"a.b": "secrets/key"}, "path_denied"),
        ({"a": {"b": "../x"}}, "path_unsafe"),
        ({"path": 1}, "path_missing"),
        ({"path": ""}, "path_missing"),
        ({"a": "secrets/key"}, "path_missing"),
        ({"Path": "secrets/key"}, "path_missing"),
        ({"path\0": "secrets/key"}, "path_missing"),
    ],
)
def test_call_without_the_fields_passes_and_any_other_is_judged(arguments, expected):
    assert code("paths", {**FIELDS, "required": False}, arguments) == expected


def test_fields_are_required_unless_said_otherwise():
    assert code("paths", FIELDS, {}) == "path_missing"
    assert code("paths", {**FIELDS, "required": True}, {}) == "path_missing"


@pytest.mark.parametrize(
    ("kind", "field", "bad"),
    [("paths", "path", "/etc/passwd"), ("urls", "url", "ftp://x/"), ("command", "command", "ls; rm")],
)
def test_a_kinds_own_field_is_the_one_that_may_be_missing(kind, field, bad):
    spec = {"required": False} | ({"allow": ["ls"]} if kind == "command" else {})

    assert code(kind, spec, {}) is None
    assert code(kind, spec, {field: bad}) is not None


def test_words_of_a_command_count_as_its_fields():
    spec = {"argv": ["program", "args[*]"], "allow": ["ls"], "required": False}

    assert code("command", spec, {}) is None
    assert code("command", spec, {"program": "rm"}) is not None
    assert code("command", spec, {"args": ["x"]}) is not None


def test_wrapped_block_reads_the_same_fields():
    constraint = build_constraint("paths", {**FIELDS, "required": False}, BuildContext())

    assert constraint.kind == "paths"
    assert set(constraint.constrained_fields()) >= {"path", "files", "a"}
