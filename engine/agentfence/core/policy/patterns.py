"""`resources:` and `prompts:` into decisions that are tried in order: deny, ask, allow.

An entry for everything, `*` or `**`, comes after all others, so that it can be any decision's default.
An entry that allows must be sure of what it covers; one that denies or asks covers what it cannot read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.policy.building import text_of
from agentfence.core.policy.model import PatternRule, Verdict
from agentfence.core.policy.nodes import Table
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.constraints.globs import Glob
    from agentfence.core.policy.building import Building
    from agentfence.core.policy.model import Matcher
    from agentfence.core.policy.nodes import Node

_EVERYTHING = ("*", "**")
_STRICTNESS = (Verdict.DENY, Verdict.ASK, Verdict.ALLOW)


def compile_resources(node: Node | None, building: Building) -> tuple[PatternRule, ...] | None:
    """Give the entries of `resources:`; None when there is no such section."""
    return _compile(node, "resources", _resource_matcher, building)


def compile_prompts(node: Node | None, building: Building) -> tuple[PatternRule, ...] | None:
    """Give the entries of `prompts:`; None when there is no such section."""
    return _compile(node, "prompts", _prompt_matcher, building)


type _Compile = Callable[[str, Verdict, Building], Matcher]


def _compile(
    node: Node | None, section: str, compile_one: _Compile, building: Building
) -> tuple[PatternRule, ...] | None:
    if not isinstance(node, Table):
        return None
    rules: list[PatternRule] = []
    for pattern, entry in node.entries.items():
        decision = Verdict(text_of(entry.value))
        try:
            matcher = compile_one(pattern, decision, building)
        except ValueError as error:
            advice = f"write `file://{pattern}` for files" if pattern.startswith("/") else None
            building.note(entry.key, "wrong_pattern", str(error), (section, pattern), advice)
        else:
            rules.append(PatternRule(pattern, decision, matcher, entry.key.place))
    return tuple(sorted(rules, key=_precedence))


def _precedence(rule: PatternRule) -> tuple[bool, int, str]:
    return rule.pattern in _EVERYTHING, _STRICTNESS.index(rule.decision), rule.pattern


def _prompt_matcher(pattern: str, _decision: Verdict, _building: Building) -> Matcher:
    return _NamePattern(compile_glob(pattern, separator=None))


def _resource_matcher(pattern: str, decision: Verdict, building: Building) -> Matcher:
    is_deny = decision is not Verdict.ALLOW
    if pattern in _EVERYTHING:
        return _NamePattern(compile_glob(pattern, separator=None))
    # Only here, as most policies have no resources, and a URL parser comes along.
    from agentfence.core.constraints.file_uris import compile_file_uri_pattern, is_file_uri
    from agentfence.core.constraints.url_patterns import compile_url_pattern

    if is_file_uri(pattern):
        return compile_file_uri_pattern(pattern, building.context, deny=is_deny)
    return compile_url_pattern(pattern, deny=is_deny)


@frozen
class _NamePattern:
    """A pattern of a name that has no parts: `*` is any text."""

    glob: Glob

    def matches(self, name: str, /) -> bool:
        """Whether the whole name fits."""
        return self.glob.matches(name)
