"""The cookbook's policies, with what its tables say becomes of calls."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs.pages import ROOT, code, examples, read, section, tables

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call, Engine
from agentfence.core.session import Session
from agentfence.policy_files import FoundPolicy, load_document, packaged_folder

PAGE = "docs/cookbook.md"
HEADINGS = re.findall(r"^## (.+)$", read(PAGE), re.MULTILINE)
RECIPES = dict(
    zip(
        [heading for heading in HEADINGS if heading != "Ready policies"],
        examples("yaml recipe", ROOT / PAGE),
        strict=True,
    )
)
CALL = re.compile(r"(?:(?P<server>[a-z]+)/)?(?P<tool>\w+) (?P<arguments>\{.*\})")


def rows_of(heading):
    (rows,) = tables(section(read(PAGE), heading))
    return rows


@pytest.mark.parametrize("heading", RECIPES)
def test_recipe_does_what_its_table_says(heading, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(RECIPES[heading].text)
    loaded = load_document(FoundPolicy(str(path), "test"), {"HOME": "/home/me"})
    engine, session = Engine(loaded.policy), Session("agent", is_identified=True)
    rows = [(code(cell), expected) for cell, expected in rows_of(heading)]
    got = []
    for text, _ in rows:
        call = CALL.fullmatch(text)
        arguments = json.loads(call["arguments"])
        decision = engine.decide_call(Call(call["tool"], arguments, call["server"]), session, Circumstances())
        got.append((text, decision.verdict.value))

    assert loaded.problems == ()
    assert got == rows
    assert {"allow", "ask", "deny"} == {expected for _, expected in rows}


@pytest.mark.parametrize("heading", RECIPES)
def test_recipe_has_ten_lines_at_most(heading):
    assert RECIPES[heading].text.count("\n") <= 10


def test_there_are_five_recipes_and_one_that_shows_how_to_build_on():
    assert len(RECIPES) == 5 + 1


def test_every_ready_policy_is_in_the_table():
    shown = {code(row[0]) for row in rows_of("Ready policies")}

    assert shown == {f"agentfence:{path.stem}" for path in Path(packaged_folder()).glob("*.yaml")}
