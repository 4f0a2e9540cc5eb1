"""Expressions of the package that are compiled late are all right, and act as compiled ones do."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import agentfence
from agentfence.core.late_regex import _Late, late_regex

EVERY = [
    (module.name, name)
    for module in pkgutil.walk_packages(agentfence.__path__, "agentfence.")
    if ".mitm" not in module.name and not module.name.endswith("__main__")
    for name, value in vars(importlib.import_module(module.name)).items()
    if isinstance(value, _Late)
]


@pytest.mark.parametrize(("module", "name"), EVERY)
def test_every_expression_compiles(module, name):
    late = getattr(importlib.import_module(module), name)

    assert re.compile(late.pattern, late.flags).pattern == late.pattern


def test_an_expression_is_compiled_once_and_only_when_it_is_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(
        re, "compile", lambda *given, found=re.compile: compiled.append(given) or found(*given)
    )
    late = late_regex("a(b)", re.IGNORECASE)
    before = len(compiled)
    found = [late.match("AB"), late.match("ab"), late.match("b")]

    assert (before, len(compiled)) == (0, 1)
    assert [match and match[1] for match in found] == ["B", "b", None]


def test_expressions_of_bytes_are_read_as_such():
    assert late_regex(rb"\d+").fullmatch(b"12")


def test_there_are_some():
    assert len(EVERY) > 30
