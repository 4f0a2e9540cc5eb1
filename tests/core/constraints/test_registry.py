"""The registry: order, and that a kind costs nothing until it is used."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from agentfence.core.constraints.interface import BuildContext, Circumstances
from agentfence.core.constraints.registry import KINDS, build_constraint
from agentfence.core.policy.language import LANGUAGE

ENGINE = str(Path(__file__).parents[3] / "engine")
EXAMPLES = {
    "schema": {"type": "object"},
    "paths": {"fields": ["path"], "allow": ["a/*"]},
    "args": {"branch": {"allow": ["a*"]}},
    "urls": {"fields": ["url"], "allow": ["https://a.example/**"]},
    "command": {"fields": ["command"], "allow": ["ls"]},
    "memory_write": {"max_bytes": 10},
}


def test_kinds_are_in_the_order_in_which_they_are_checked():
    assert list(KINDS) == ["schema", "paths", "args", "urls", "command", "memory_write"]


def test_every_kind_of_the_language_has_a_module():
    rule = LANGUAGE.keys["tools"].shape.value.shapes[1]
    kinds = set(rule.keys["constraints"].shape.keys)

    assert kinds - {"rate"} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_kind_builds_a_constraint_of_that_name(kind):
    constraint = build_constraint(kind, EXAMPLES[kind], BuildContext())

    assert constraint.kind == kind
    assert constraint.constrained_fields()
    assert callable(import_module(KINDS[kind]).build)
    constraint.check({}, Circumstances())


@pytest.mark.parametrize("kind", KINDS)
def test_kind_imports_no_other_kind(kind):
    others = [module for other, module in KINDS.items() if other != kind]
    code = (
        "import sys; from agentfence.core.constraints.interface import BuildContext\n"
        "from agentfence.core.constraints.registry import build_constraint\n"
        f"build_constraint({kind!r}, {EXAMPLES[kind]!r}, BuildContext())\n"
        f"print([name for name in {others!r} if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": ENGINE}
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )

    assert output.stdout.strip() == "[]"


def test_required_is_no_key_of_args():
    """There it is the name of a field."""
    constraint = build_constraint("args", {"required": {"allow": ["yes"]}}, BuildContext())

    assert constraint.constrained_fields() == ("required",)
