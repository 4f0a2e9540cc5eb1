"""Bad policies, each with what is said of it in the file beside it.

Run this file as a script to write those files anew, and then read what has changed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentfence.core.errors import PolicyError
from agentfence.core.policy.rendering import render_text
from agentfence.policy_files import FoundPolicy, load_policy

FOLDER = Path(__file__).parent / "bad_policies"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def said_of(name: str) -> str:
    """Give the codes in a line, then the problems as people see them."""
    try:
        load_policy(FoundPolicy(f"{name}.yaml", "as given"), {"HOME": "/home/me"})
    except PolicyError as error:
        codes = " ".join(problem.code for problem in error.problems)
        return f"{codes}\n\n{render_text(error.problems)}\n"
    return "no problem\n"


@pytest.mark.parametrize("name", NAMES)
def test_bad_policy_is_explained(name, monkeypatch):
    monkeypatch.chdir(FOLDER)

    assert said_of(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_explanation_has_its_policy():
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == NAMES


if __name__ == "__main__":
    os.chdir(FOLDER)
    for each in NAMES:
        Path(f"{each}.txt").write_text(said_of(each))
