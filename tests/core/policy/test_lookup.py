"""The table of rules: that it finds what a plain search would, and stays small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.policy import lookup
from agentfence.core.policy.lookup import ToolTable
from agentfence.core.policy.model import Rule, RuleKind, Verdict

if TYPE_CHECKING:
    import pytest

NAMES = ["a", "ab", "abc", "b", "s/a", "s/ab", "*", "a*", "ab*", "?b", "[ab]*", "s/*", "s/a*", "*b", r"a\*"]


def rule(name: str, kind: RuleKind = RuleKind.EXACT) -> Rule:
    return Rule(name, kind, Verdict.ALLOW)


def table(
    exact: list[str] = [],  # noqa: B006 - never changed
    groups: list[str] = [],  # noqa: B006
    wildcards: list[str] = [],  # noqa: B006
    *,
    original: bool = False,
) -> ToolTable:
    return ToolTable(
        {name: rule(name) for name in exact},
        [(name, compile_glob(name, separator="/"), rule(f"group {name}", RuleKind.GROUP)) for name in groups],
        [(name, compile_glob(name, separator="/"), rule(name, RuleKind.WILDCARD)) for name in wildcards],
        original=original,
    )


def found(tools: ToolTable, server: str | None, tool: str) -> str | None:
    rule = tools.find(server, tool)
    return rule.name if rule else None


def plain_search(
    exact: list[str], groups: list[str], wildcards: list[str], server: str | None, tool: str
) -> str | None:
    """The rule of the policy language, as it is written down."""
    qualified = None if server is None else f"{server}/{tool}"
    for level, shown in ((exact, "{}"), (groups, "group {}"), (wildcards, "{}")):
        for name in (qualified, tool):
            for pattern in level:
                fits = pattern == name if level is exact else _matches(pattern, name)
                if ("/" in pattern) == (name is qualified) and name is not None and fits:
                    return shown.format(pattern)
    return None


def _matches(pattern: str, name: str | None) -> bool:
    return name is not None and compile_glob(pattern, separator="/").matches(name)


@given(
    st.lists(st.sampled_from(NAMES[:6]), unique=True),
    st.lists(st.sampled_from(NAMES), unique=True),
    st.lists(st.sampled_from(NAMES[6:]), unique=True).map(sorted),
    st.sampled_from([None, "s", "t"]),
    st.sampled_from(["a", "ab", "abc", "b", "bb", "a*", "x", ""]),
)
@settings(max_examples=200, deadline=None)
def test_index_finds_what_a_plain_search_finds(
    exact: list[str], groups: list[str], wildcards: list[str], server: str | None, tool: str
) -> None:
    tools = table(exact, groups, wildcards)

    assert plain_search(exact, groups, wildcards, server, tool) == found(tools, server, tool)
    assert found(tools, server, tool) == found(tools, server, tool), "remembered"


def test_in_policies_of_the_go_agentfence_a_slash_is_a_character() -> None:
    tools = table(["s/a"], wildcards=["s/*"], original=True)

    assert found(tools, None, "s/a") == "s/a"
    assert found(tools, None, "s/b") == "s/*"
    assert found(tools, "s", "b") is None


def test_table_knows_each_of_its_rules_once() -> None:
    one = rule("readers", RuleKind.GROUP)
    glob = compile_glob("*", separator="/")
    tools = ToolTable({"a": rule("a")}, [("x*", glob, one), ("y*", glob, one)], [("*", glob, rule("*"))])

    assert [r.name for r in tools.rules] == ["a", "readers", "*"]


def test_remembered_lookups_stay_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_REMEMBERED_LOOKUPS", 3)
    tools = table(["a"])
    for number in range(10):
        tools.find(None, f"tool-{number}")

    assert len(tools._known) <= 3
    assert found(tools, None, "a") == "a"


def test_long_names_are_looked_up_and_not_remembered() -> None:
    tools = table(wildcards=["a*"])

    assert found(tools, None, "a" * 257) == "a*"
    assert not tools._known
    assert found(tools, None, "a" * 256) == "a*"
    assert len(tools._known) == 1
