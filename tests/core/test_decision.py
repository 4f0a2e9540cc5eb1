from __future__ import annotations

import pytest

from agentfence.core.decision import Decision, quoted
from agentfence.core.policy.model import Verdict


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("read_file", "`read_file`"),
        ("a\nb\u202e", "`a\\u{a}b\\u{202e}`"),
        ("x" * 128, "`" + "x" * 128 + "`"),
        ("x" * 129, "`" + "x" * 128 + "…`"),
        ("", "``"),
    ],
)
def test_name_is_shown_cut_and_with_nothing_invisible(name: str, shown: str) -> None:
    assert quoted(name) == shown


@pytest.mark.parametrize("verdict", Verdict)
def test_only_an_allow_lets_a_message_go_on_unasked(verdict: Verdict) -> None:
    assert Decision(verdict, "rule_match", "why", "rule").is_allowed is (verdict is Verdict.ALLOW)
