"""Decisions on all methods but `tools/call`: by what a message names, else by its method.

A message that reads or watches something names it: a resource, a prompt, a task. Each of these is
decided by its own section, and the strictest decision holds for the message. `resources:` and
`prompts:` come first; what they do not cover gets `methods.METHOD`, else `defaults.decision`. Where a
policy has no such section, and for all other methods, `methods.METHOD` decides, else `defaults.methods`.
Housekeeping always passes.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.decision import Decision, quoted
from agentfence.core.policy.model import Verdict
from agentfence.core.revisions import HOUSEKEEPING
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentfence.core.constraints.interface import Json, LinkResolver
    from agentfence.core.policy.model import PatternRule, Policy
    from agentfence.core.tasks import Task

    type FindTask = Callable[[str], Task | None]

_MOST_SUBJECTS = 1_000
"""That one message may name."""
_LENIENCE = (Verdict.DENY, Verdict.ASK, Verdict.ALLOW)
_DENIED = MappingProxyType({"resources": "resource_denied", "prompts": "prompt_denied"})


@frozen
class _Subject:
    """Something that a message reads or watches."""

    section: str
    """`resources`, `prompts` or `tasks`."""
    name: Json
    """Its URI, name or id; anything but a text when the message does not say it readably."""
    method: str
    """Whose entry in `methods` counts."""


def no_task(_task_id: str) -> Task | None:
    """Know no task."""
    return None


def decide_method(
    policy: Policy,
    method: str,
    params: Mapping[str, Json],
    find_task: FindTask,
    resolve_links: LinkResolver | None = None,
) -> Decision:
    """Give the decision on a message; it explains itself. `resolve_links` knows the disk of a server."""
    subjects = _subjects(method, params)
    if len(subjects) > _MOST_SUBJECTS:
        reason = f"method {quoted(method)} names more than {_MOST_SUBJECTS} resources and tasks"
        return Decision(Verdict.DENY, "resource_denied", reason, "protocol")
    if subjects:
        if resolve_links is not None:
            resolve_links = cache(resolve_links)  # many may lie in one folder
        decisions = (_decide_subject(policy, subject, find_task, resolve_links) for subject in subjects)
        return min(decisions, key=lambda decision: _LENIENCE.index(decision.verdict))
    if method in HOUSEKEEPING:
        return Decision(Verdict.ALLOW, "housekeeping", f"method {quoted(method)} always passes", "protocol")
    return _decide_by_method(policy, method, None)


def _subjects(method: str, params: Mapping[str, Json]) -> list[_Subject]:
    match method:
        case "resources/read" | "resources/subscribe" | "resources/unsubscribe":
            return [_Subject("resources", params.get("uri"), method)]
        case "prompts/get":
            return [_Subject("prompts", params.get("name"), method)]
        case "completion/complete":
            return _completed(params.get("ref"))
        case "subscriptions/listen":
            return _watched(params.get("notifications"))
        case "tasks/list":
            return []
    return [_Subject("tasks", params.get("taskId"), method)] if method.startswith("tasks/") else []


def _completed(ref: Json) -> list[_Subject]:
    """Give what a completion is for; both kinds where that cannot be told."""
    members = ref if isinstance(ref, dict) else {}
    prompt = _Subject("prompts", members.get("name"), "completion/complete")
    resource = _Subject("resources", members.get("uri"), "completion/complete")
    match members.get("type"):
        case "ref/prompt":
            return [prompt]
        case "ref/resource":
            return [resource]
    return [_Subject("prompts", None, prompt.method), _Subject("resources", None, resource.method)]


def _watched(notifications: Json) -> list[_Subject]:
    # MCP 2026-07-28, basic/patterns/subscriptions: to listen for a resource is to subscribe to it.
    if notifications is None:
        return []
    if not isinstance(notifications, dict):
        return [_Subject("resources", None, "resources/subscribe")]
    uris, ids = notifications.get("resourceSubscriptions", []), notifications.get("taskIds", [])
    return [
        *(
            _Subject("resources", uri, "resources/subscribe")
            for uri in (uris if isinstance(uris, list) else [None])
        ),
        *(_Subject("tasks", task_id, "tasks/get") for task_id in (ids if isinstance(ids, list) else [None])),
    ]


def _decide_subject(
    policy: Policy, subject: _Subject, find_task: FindTask, resolve_links: LinkResolver | None
) -> Decision:
    if subject.section == "tasks":
        return _decide_task(policy, subject, find_task)
    rules = policy.resources if subject.section == "resources" else policy.prompts
    if rules is None:
        return _decide_by_method(policy, subject.method, None)
    if not isinstance(subject.name, str):
        reason = f"method {quoted(subject.method)} does not say which of the {subject.section} it means"
        return Decision(Verdict.DENY, _DENIED[subject.section], reason, subject.section)
    decision = _decide_names(policy, subject, rules, (subject.name,))
    if resolve_links is None or decision.verdict is Verdict.DENY or subject.name[:5].lower() != "file:":
        return decision
    decisions = [decision, *_decide_links(policy, subject, rules, resolve_links)]
    return min(decisions, key=lambda decision: _LENIENCE.index(decision.verdict))


def _decide_names(
    policy: Policy, subject: _Subject, rules: Sequence[PatternRule], names: Sequence[str]
) -> Decision:
    """Decide by all names of one thing."""
    covering = next((rule for rule in rules if any(map(rule.matches.matches, names))), None)
    if covering is not None:
        return _of_pattern(covering, subject.section)
    return _decide_by_method(policy, subject.method, subject.section)


def _decide_links(
    policy: Policy, subject: _Subject, rules: Sequence[PatternRule], resolve_links: LinkResolver
) -> list[Decision]:
    """Decide on where the links of a file lead."""
    from agentfence.core.constraints.file_uris import FileUriPattern, linked_uris  # only for such resources

    folders = [rule.matches.folder for rule in rules if isinstance(rule.matches, FileUriPattern)]
    try:
        linked = linked_uris(str(subject.name), folders, resolve_links)
    except (OSError, ValueError, RuntimeError):
        reason = "the resource's URI leads through a link that cannot be followed"
        return [Decision(Verdict.DENY, "resource_denied", reason, subject.section)]
    return [_decide_names(policy, subject, rules, names) for names in linked]


def _decide_task(policy: Policy, subject: _Subject, find_task: FindTask) -> Decision:
    method = quoted(subject.method)
    task = find_task(subject.name) if isinstance(subject.name, str) else None
    if task is None:
        return Decision(Verdict.DENY, "method_denied", f"method {method}: no call made this task", "tasks")
    written = policy.methods.get(subject.method, Verdict.ALLOW)
    if _LENIENCE.index(written) < _LENIENCE.index(task.verdict):
        return _of_method(written, subject.method, f"methods.{subject.method}", "method_denied")
    reason = f"method {method}: the task was made by {task.call_id}, on which rule `{task.rule}` decided"
    code = "method_denied" if task.verdict is Verdict.DENY else "rule_match"
    return Decision(task.verdict, code, reason, task.rule)


def _decide_by_method(policy: Policy, method: str, section: str | None) -> Decision:
    """Decide by `methods`, else by the default: that of all calls where `section` covers some things."""
    written = policy.methods.get(method)
    if written is not None:
        return _of_method(written, method, f"methods.{method}", "method_denied")
    if section is not None:
        return _of_method(policy.default.decision, method, "defaults.decision", _DENIED[section])
    return _of_method(policy.methods_default, method, "defaults.methods", "method_denied")


def _of_pattern(rule: PatternRule, section: str) -> Decision:
    code = _DENIED[section] if rule.decision is Verdict.DENY else "rule_match"
    reason = f"matches `{rule.pattern}` in {section}: {rule.decision}"
    return Decision(rule.decision, code, reason, f"{section}.{rule.pattern}", rule.place)


def _of_method(verdict: Verdict, method: str, rule: str, denied: str) -> Decision:
    code = denied if verdict is Verdict.DENY else "rule_match"
    return Decision(verdict, code, f"method {quoted(method)}: {verdict} by `{rule}`", rule)
