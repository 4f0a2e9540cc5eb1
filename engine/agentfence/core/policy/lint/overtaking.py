"""Lint of patterns that deny, and of which something that comes first takes a part.

One that comes first and lies wholly inside is an exception, as people write them; one that takes all is
`hidden_pattern`. What is left was seldom meant: `"*_file": allow` takes `delete_file` from
`"delete_*": deny`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentfence.core.policy.globs_covering import common, covers
from agentfence.core.policy.model import RuleKind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, ToolPattern

_LEVELS = (RuleKind.EXACT, RuleKind.GROUP, RuleKind.WILDCARD)
_ADVICE = "write it under `forbid`, which comes before every rule"


class _Placed(NamedTuple):
    """A name or a pattern with its place in the order of look-up."""

    pattern: ToolPattern
    rule: str
    decision: Verdict
    order: tuple[int, bool, str]

    @property
    def is_qualified(self) -> bool:
        return "/" in self.pattern.text

    def takes(self, other: _Placed) -> str | None:
        """Give a tool that this decides on and `other` fits too; None where this is an exception to it."""
        if self.order >= other.order or self.rule == other.rule:
            return None
        one, two = self.pattern.text, other.pattern.text
        is_alike = self.is_qualified is other.is_qualified
        if not is_alike:
            one, two = one.rpartition("/")[2], two.rpartition("/")[2]
        tool = common(one, two)
        if tool is None:
            return None
        # On its own server a qualified pattern is the more particular one, whatever its tool's part is.
        is_exception = (is_alike or self.is_qualified) and covers(two, one)
        is_hiding = (is_alike or other.is_qualified) and covers(one, two)
        return None if is_exception or is_hiding else tool


def overtaken_denials(basis: Basis) -> Iterator[Problem]:
    """Find patterns that deny, and of which a rule that comes first allows a part."""
    if basis.is_original:
        return
    placed = [
        _Placed(
            pattern,
            rule.name,
            rule.decision,
            (
                _LEVELS.index(rule.kind),
                "/" not in pattern.text,
                rule.name if rule.kind is RuleKind.GROUP else pattern.text,
            ),
        )
        for rule, entry in basis.rules()
        for pattern in basis.patterns_of(rule, entry)
    ]
    denying = [one for one in placed if one.decision is Verdict.DENY and one.order[0] > 0]
    allowing = [one for one in placed if one.decision is Verdict.ALLOW]
    for denied in denying:
        taken = ((one, one.takes(denied)) for one in allowing)
        first, tool = next((found for found in taken if found[1]), (denied, None))
        if tool:
            by = f"`{first.pattern.text}` comes first, and allows `{tool}`"
            message = f"`{denied.pattern.text}` denies less than it looks: {by}"
            yield denied.pattern.position.problem("narrow_pattern", message, denied.pattern.path, _ADVICE)
