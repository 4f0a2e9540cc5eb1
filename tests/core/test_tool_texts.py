"""What is odd in the descriptions of tools; plain ones are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentfence.core.tool_texts import _MOST_CHARACTERS, ToolTexts

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "tool_texts" / "descriptions.yaml").read_text()
)["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_odd_descriptions_are_noted_and_plain_ones_are_not(case: dict[str, Any]):
    tool = {
        "name": "a",
        "description": case.get("description", "reads"),
        "inputSchema": case.get("schema", {}),
    }

    assert [code for code, _ in ToolTexts().oddities(tool)] == case["codes"]


def test_long_descriptions_cost_little():
    """What would take the square of the length in a careless expression."""
    for text in ("ignore " * 100_000, "do not " * 100_000, "read " * 100_000, "\n \t" * 100_000):
        assert len([*ToolTexts().oddities({"name": "a", "description": text})]) <= 1


def test_what_is_behind_all_that_people_might_read_is_odd():
    texts, definition = ToolTexts(), {"name": "a", "description": "reads " * (_MOST_CHARACTERS // 12)}

    assert [[code for code, _ in texts.oddities(definition)] for _ in range(3)] == [
        [],
        ["tool_text_hidden"],
        ["tool_text_hidden"],
    ]
