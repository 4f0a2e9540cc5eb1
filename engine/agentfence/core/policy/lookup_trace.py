"""How a tool's rule is found, step by step, for people: `policy/lookup.py` in words.

It looks at every level by itself and without an index, so that tests can hold the two to each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.constraints.original_globs import original_spellings
from agentfence.core.decision import quoted
from agentfence.core.policy.model import RuleKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentfence.core.policy.model import Policy


def trace_lookup(policy: Policy, server: str | None, tool: str) -> tuple[list[str], str | None]:
    """Give what each level of precedence says of a tool that nothing forbids, and the rule that applies.

    The levels behind that rule's are not looked at; without a rule its name is None.
    """
    names = _names(server, tool)
    shown = " or ".join(quoted(name) for name, _ in names)
    steps = ["forbid: no entry covers it"] if policy.forbid else []
    for kind, missing in (
        (RuleKind.EXACT, f"no rule has the name {shown}"),
        (RuleKind.GROUP, "no group with a rule has a member that fits"),
        (RuleKind.WILDCARD, "no pattern fits"),
    ):
        for name, is_qualified in names:
            found = next(_fitting(policy, kind, name, is_qualified=is_qualified), None)
            if found is not None:
                rule, how = found
                return [*steps, f"{kind}: {how}"], rule
        steps.append(f"{kind}: {missing}")
    return steps, None


def _names(server: str | None, tool: str) -> Sequence[tuple[str, bool]]:
    return [(tool, False)] if server is None else [(f"{server}/{tool}", True), (tool, False)]


def _fitting(policy: Policy, kind: RuleKind, name: str, *, is_qualified: bool) -> Iterator[tuple[str, str]]:
    """Give the rules of a level that fit a name, in order of precedence, each with how it does."""
    rules = sorted({rule.name for rule in policy.tools.rules if rule.kind is kind})
    for rule in rules:
        for pattern in policy.groups[rule] if kind is RuleKind.GROUP else (rule,):
            if _fits(policy, kind, pattern, name, is_qualified=is_qualified):
                yield rule, _how(kind, rule, pattern, quoted(name))


def _how(kind: RuleKind, rule: str, pattern: str, name: str) -> str:
    match kind:
        case RuleKind.EXACT:
            return f"{name} has a rule of its own"
        case RuleKind.GROUP:
            return f"`{rule}` has the member `{pattern}`, which fits {name}"
        case _:
            return f"`{pattern}` fits {name}"


def _fits(policy: Policy, kind: RuleKind, pattern: str, name: str, *, is_qualified: bool) -> bool:
    is_original = policy.version.startswith("0")
    if not is_original and ("/" in pattern) is not is_qualified:
        return False
    if is_original and is_qualified:
        return False
    if kind is RuleKind.EXACT:
        return pattern == name
    spellings = original_spellings(pattern) if is_original else (pattern,)
    return any(compile_glob(spelling).matches(name) for spelling in spellings)
