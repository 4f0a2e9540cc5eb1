"""Lint of the rules themselves: those that never decide, and those that decide more than they seem to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.constraints.original_globs import original_spellings
from agentfence.core.policy.globs_covering import covers, samples
from agentfence.core.policy.model import Verdict
from agentfence.core.policy.nodes import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from agentfence.core.errors import Problem
    from agentfence.core.policy.lint.basis import Basis, ToolPattern
    from agentfence.core.policy.model import Rule
    from agentfence.core.policy.nodes import Path, Position

    type _Samples = list[tuple[str, list[str]]]
    """Spellings of a pattern, each with texts that fit it."""

_SOON = 30 * 86_400.0


def hidden_patterns(basis: Basis) -> Iterator[Problem]:
    """Find patterns of tools that never decide, because one that comes first covers all that they do."""
    members = [
        (_Pattern(pattern, basis), rule.name)
        for rule, entry in basis.rules()
        if rule.name in basis.policy.groups
        for pattern in basis.patterns_of(rule, entry)
    ]
    for position, (member, group) in enumerate(members):
        for earlier, other in members[:position]:
            if other != group and earlier.covers(member):
                yield member.hidden(
                    f"the member `{earlier.text}` of group `{other}`",
                    f"take it out, or rename the groups: `{other}` comes first in alphabetical order",
                )
                break
    yield from _hidden_wildcards(basis, members)


def _hidden_wildcards(basis: Basis, members: list[tuple[_Pattern, str]]) -> Iterator[Problem]:
    wildcards = [
        _Pattern(pattern, basis)
        for rule, entry in basis.rules()
        if basis.is_wildcard(rule)
        for pattern in basis.patterns_of(rule, entry)
    ]
    wildcards.sort(key=lambda pattern: pattern.text)
    for position, wildcard in enumerate(wildcards):
        hiding = next((one for one, _ in members if one.covers(wildcard) or one.covers_bare(wildcard)), None)
        if hiding is not None:
            yield wildcard.hidden(
                f"the group member `{hiding.text}`", "take it out: groups come before patterns"
            )
            continue
        earlier = next((one for one in wildcards[:position] if one.covers(wildcard)), None)
        if earlier is not None:
            yield wildcard.hidden(
                f"the pattern `{earlier.text}`",
                f"give the rule to a group with the member `{wildcard.text}`: groups come before patterns",
            )


class _Pattern:
    """A pattern of tools that can be compared with others."""

    def __init__(self, pattern: ToolPattern, basis: Basis) -> None:
        self.text, self._position, self._path = pattern
        spellings = original_spellings(self.text) if basis.is_original else (self.text,)
        self._is_qualified = "/" in self.text and not basis.is_original
        self._outer = [(spelling, compile_glob(spelling)) for spelling in spellings]
        self._inner = _with_samples(spellings)
        tool = self.text.rpartition("/")[2]
        self._inner_tool = _with_samples((tool,) if self._is_qualified and tool else ())

    def covers(self, other: _Pattern) -> bool:
        """Whether every name that `other` fits is this one's, where both are asked about the same name."""
        return self._is_qualified is other._is_qualified and self._covers(other._inner)

    def covers_bare(self, other: _Pattern) -> bool:
        """Whether this one, a bare pattern, has every tool that `other` means on its server."""
        return not self._is_qualified and bool(other._inner_tool) and self._covers(other._inner_tool)

    def hidden(self, by: str, advice: str) -> Problem:
        """Give the problem of this pattern."""
        message = f"`{self.text}` never decides: {by} covers all that it does, and comes first"
        return self._position.problem("hidden_pattern", message, self._path, advice)

    def _covers(self, inner: _Samples) -> bool:
        # A few texts tell, by far the most often, that the walk of both patterns is not needed.
        for _, texts in inner:
            for text in texts:
                if not any(glob.matches(text) for _, glob in self._outer):
                    return False
        return all(any(covers(outer, one) for outer, _ in self._outer) for one, _ in inner)


def _with_samples(spellings: Iterable[str]) -> _Samples:
    return [(spelling, samples(spelling)) for spelling in spellings]


def groups_without_rule(basis: Basis) -> Iterator[Problem]:
    """Find groups that have no effect."""
    tools = basis.table.table("tools").entries
    for name, entry in basis.table.table("groups").entries.items():
        if name not in tools:
            message = f"group `{name}` has no rule, so it has no effect"
            advice = f"add a rule `{name}` under `tools`, or take the group out"
            yield entry.key.problem("group_without_rule", message, ("groups", name), advice)


def bare_allows(basis: Basis) -> Iterator[Problem]:
    """Find rules that allow a tool on every server, in a policy that knows its servers."""
    names = [server.name for server in basis.policy.servers]
    if not names:
        return
    for rule, entry in basis.rules():
        if rule.decision is not Verdict.ALLOW:
            continue
        bare = next((one for one in basis.patterns_of(rule, entry) if "/" not in one.text), None)
        if bare is not None:
            message = f"`{bare.text}` is allowed on every server, also on one that is added later"
            advice = f"name the server that is meant, as `{min(names)}/{bare.text}`"
            yield bare.position.problem("bare_allow", message, bare.path, advice)


def expiries(basis: Basis) -> Iterator[Problem]:
    """Find rules that have expired, or will within 30 days."""
    for rule, entry in basis.rules():
        if rule.expires is None or rule.expires > basis.time + _SOON:
            continue
        node = getattr(entry.value, "entries", {})["expires"].value
        day = datetime.fromtimestamp(rule.expires, UTC).date().isoformat()
        path = ("tools", rule.name, "expires")
        if rule.expires <= basis.time:
            message = f"rule `{rule.name}` has expired on {day}, so it denies"
            yield node.position.problem("rule_expired", message, path, "take the rule out, or renew the date")
        else:
            message = f"rule `{rule.name}` expires on {day}, and denies from then on"
            yield node.position.problem("rule_expires_soon", message, path, "renew the date in time")


def open_methods(basis: Basis) -> Iterator[Problem]:
    """Find a policy that denies tools by default, and says nothing of all other messages."""
    defaults = basis.table.entries.get("defaults")
    is_said = "methods" in basis.table.table("defaults").entries
    if basis.policy.default.decision is not Verdict.DENY or is_said:
        return
    position = defaults.key if defaults else basis.table.position
    message = "tools are denied by default, but resources, prompts and requests of servers are allowed"
    advice = "write `defaults: {decision: deny, methods: deny}` and list under `methods` what may pass"
    if basis.is_original:
        advice = f'only policies of `version: "1"` can change that: there {advice}'
    yield position.problem("open_methods", message, ("defaults",), advice)


def unredacted_arguments(basis: Basis) -> Iterator[Problem]:
    """Find a policy that has arguments written into the log, and secrets with them."""
    redaction = basis.policy.redaction
    strikes = redaction.enabled and (redaction.builtin or redaction.patterns)
    if strikes or not basis.policy.audit.include_redacted_arguments:
        return
    key = "builtin" if redaction.enabled else "enabled"
    entry = basis.table.table("redaction").entries[key]
    message = "arguments are written to the audit log, and nothing is struck out of them"
    advice = f"leave `{key}: false` out, or `include_redacted_arguments`"
    yield entry.key.problem("unredacted_arguments", message, ("redaction", key), advice)


def without_effect(basis: Basis) -> Iterator[Problem]:
    """Find what counts for nothing, as something else is missing, or has settled it."""
    if basis.is_original:  # there constraints of a rule that denies give its reason
        return
    for rule, entry in basis.rules():
        if isinstance(entry.value, Table):
            for key, why, advice in _idle_keys(rule):
                if key in entry.value.entries:
                    position = entry.value.entries[key].key
                    yield _idle(position, key, why, ("tools", rule.name, key), advice)
    taint = basis.table.entries.get("taint")
    if taint is not None and "enabled" not in basis.table.table("taint").entries:
        yield _idle(taint.key, "taint", "it is not enabled", ("taint",), "write `enabled: true` into it")


def _idle_keys(rule: Rule) -> Iterator[tuple[str, str, str]]:
    is_denied = rule.decision is Verdict.DENY
    if is_denied:
        why = "a rule that denies does so whatever the arguments are"
        yield (
            "constraints",
            why,
            "write `decision: allow` to deny what they do not let pass, or leave them out",
        )
    if not rule.constraints:
        yield "otherwise", "the rule has no list that could fail to cover a call", "leave it out"
    if is_denied or (rule.decision is Verdict.ALLOW and rule.otherwise is None):
        yield "remember", "nobody is asked by this rule", "leave it out, or write `decision: ask`"


def _idle(position: Position, key: str, why: str, path: Path, advice: str) -> Problem:
    return position.problem("without_effect", f"`{key}` has no effect: {why}", path, advice)
