"""Programs that are known to run none of their words."""

from __future__ import annotations

import pytest

from agentfence.core.constraints.command_known import INTERPRETERS, runs_no_words
from agentfence.core.constraints.command_launchers import PREFIXES


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls rm", True),
        ("npm rm a", True),
        ("get-childitem run", True),
        ("echo run rm", True),
        ("npx rm", True),
        ("docker rm a", True),
        ("docker run --rm a", True),
        ("podman unshare rm a", False),
        ("heroku run rm a", False),
        ("gcloud compute ssh vm rm", False),
        ("gcloud a b c d run", True),
        ("foo rm", False),
    ],
)
def test_program_is_known(line, expected):
    name, *words = line.split(" ")

    assert expected == runs_no_words(name, words)


def test_no_program_is_both_known_and_one_that_runs_others():
    assert not [name for name in (*PREFIXES, *INTERPRETERS - {"bun"}) if runs_no_words(name, [])]
