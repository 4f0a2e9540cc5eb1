from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policies_in_memory import load_text
from talking import ALLOW, Talk, forwarded, request

from agentfence.core.method_rules import decide_method, no_task
from agentfence.core.policy.model import Policy, Verdict
from agentfence.core.revisions import HOUSEKEEPING, METHODS
from agentfence.core.tasks import Task

SECTIONS = load_text(
    """
version: "1"
defaults: {decision: ask}
methods: {tasks/cancel: deny, resources/read: deny, vendor/x: allow}
resources: {"file:///work/**": allow, "file:///work/secret/**": deny}
prompts: {"p_*": allow, "p_no": deny}
"""
)
PLAIN = load_text('version: "1"\ndefaults: {methods: deny}\nmethods: {resources/subscribe: ask}\n')
NO_TASKS = load_text('version: "1"\nmethods: {tasks/get: deny}\n')
TASKS = {"t": Task("call-1", "rule", Verdict.ALLOW), "d": Task("call-2", "rule", Verdict.DENY)}


def decide(policy: Policy, method: str, **params: object) -> list[str]:
    decision = decide_method(policy, method, params, TASKS.get)  # type: ignore[arg-type]
    return [decision.verdict.value, decision.reason_code, decision.rule]


def listen(**notifications: object) -> dict[str, object]:
    return {"notifications": notifications}


@pytest.mark.parametrize(
    ("policy", "method", "params", "decided"),
    [
        (SECTIONS, "ping", {}, ["allow", "housekeeping", "protocol"]),
        (SECTIONS, "vendor/x", {}, ["allow", "rule_match", "methods.vendor/x"]),
        (SECTIONS, "vendor/y", {}, ["allow", "rule_match", "defaults.methods"]),
        (PLAIN, "vendor/y", {}, ["deny", "method_denied", "defaults.methods"]),
        (SECTIONS, "resources/read", {"uri": "file:///work/a"}, ["allow", "rule_match", "resources.file:///work/**"]),
        (SECTIONS, "resources/read", {"uri": "file:///work/secret/a"}, ["deny", "resource_denied", "resources.file:///work/secret/**"]),
        (SECTIONS, "resources/read", {"uri": "file:///a"}, ["deny", "method_denied", "methods.resources/read"]),
        (SECTIONS, "resources/subscribe", {"uri": "file:///a"}, ["ask", "rule_match", "defaults.decision"]),
        (SECTIONS, "resources/read", {"uri": 1}, ["deny", "resource_denied", "resources"]),
        (PLAIN, "resources/read", {"uri": 1}, ["deny", "method_denied", "defaults.methods"]),
        (PLAIN, "resources/subscribe", {}, ["ask", "rule_match", "methods.resources/subscribe"]),
        (SECTIONS, "prompts/get", {"name": "p_a"}, ["allow", "rule_match", "prompts.p_*"]),
        (SECTIONS, "prompts/get", {"name": "p_no"}, ["deny", "prompt_denied", "prompts.p_no"]),
        (SECTIONS, "prompts/get", {"name": "q"}, ["ask", "rule_match", "defaults.decision"]),
        (SECTIONS, "completion/complete", {"ref": {"type": "ref/prompt", "name": "p_no"}}, ["deny", "prompt_denied", "prompts.p_no"]),
        (SECTIONS, "completion/complete", {"ref": {"type": "ref/resource", "uri": "file:///work/{a}"}}, ["allow", "rule_match", "resources.file:///work/**"]),
        (SECTIONS, "completion/complete", {"ref": "p_a"}, ["deny", "prompt_denied", "prompts"]),
        (PLAIN, "completion/complete", {"ref": "p_a"}, ["deny", "method_denied", "defaults.methods"]),
        (SECTIONS, "subscriptions/listen", {}, ["allow", "housekeeping", "protocol"]),
        (SECTIONS, "subscriptions/listen", {"notifications": "all"}, ["deny", "resource_denied", "resources"]),
        (SECTIONS, "subscriptions/listen", listen(toolsListChanged=True), ["allow", "housekeeping", "protocol"]),
        (SECTIONS, "subscriptions/listen", listen(resourceSubscriptions=["file:///work/a", "file:///a"]), ["ask", "rule_match", "defaults.decision"]),
        (PLAIN, "subscriptions/listen", listen(resourceSubscriptions=["file:///a"]), ["ask", "rule_match", "methods.resources/subscribe"]),
        (SECTIONS, "subscriptions/listen", listen(resourceSubscriptions=None), ["deny", "resource_denied", "resources"]),
        (SECTIONS, "subscriptions/listen", listen(taskIds=["t"]), ["allow", "rule_match", "rule"]),
        (SECTIONS, "subscriptions/listen", listen(taskIds=["t", "u"]), ["deny", "method_denied", "tasks"]),
        (SECTIONS, "subscriptions/listen", listen(taskIds="t"), ["deny", "method_denied", "tasks"]),
        (SECTIONS, "tasks/get", {"taskId": "t"}, ["allow", "rule_match", "rule"]),
        (SECTIONS, "tasks/get", {"taskId": "d"}, ["deny", "method_denied", "rule"]),
        (SECTIONS, "tasks/get", {"taskId": ["t"]}, ["deny", "method_denied", "tasks"]),
        (SECTIONS, "tasks/cancel", {"taskId": "t"}, ["deny", "method_denied", "methods.tasks/cancel"]),
        (SECTIONS, "tasks/cancel", {"taskId": "u"}, ["deny", "method_denied", "tasks"]),
        (SECTIONS, "tasks/list", {}, ["allow", "rule_match", "defaults.methods"]),
        (PLAIN, "tasks/list", {}, ["deny", "method_denied", "defaults.methods"]),
        (SECTIONS, "resources/unsubscribe", {"uri": "file:///work/a"}, ["allow", "rule_match", "resources.file:///work/**"]),
        (SECTIONS, "resources/unsubscribe", {"uri": "file:///work/secret/a"}, ["deny", "resource_denied", "resources.file:///work/secret/**"]),
        (PLAIN, "subscriptions/listen", {"notifications": "x"}, ["ask", "rule_match", "methods.resources/subscribe"]),
        (NO_TASKS, "subscriptions/listen", listen(taskIds=["t"]), ["deny", "method_denied", "methods.tasks/get"]),
        (NO_TASKS, "subscriptions/listen", listen(toolsListChanged=True), ["allow", "housekeeping", "protocol"]),
    ],
)  # fmt: skip
def test_method_is_decided_by_what_it_names(
    policy: Policy, method: str, params: dict[str, object], decided: list[str]
) -> None:
    assert decided == decide(policy, method, **params)


def test_where_no_task_is_known_every_task_is_denied() -> None:
    assert decide_method(SECTIONS, "tasks/get", {"taskId": "t"}, no_task).rule == "tasks"


def test_reason_names_no_uri() -> None:
    decision = decide_method(SECTIONS, "resources/read", {"uri": "file:///work/secret/sesame"}, no_task)

    assert "sesame" not in decision.reason


@pytest.mark.parametrize(
    ("uri", "verdict", "rule"),
    [
        ("file:///work/a", "allow", "resources.file:///work/**"),
        ("file:///work/plain", "allow", "resources.file:///work/**"),
        ("file:///work/in", "allow", "resources.file:///work/**"),
        ("FILE:///work/out", "deny", "methods.resources/read"),
        ("file:///work/to_secret", "deny", "resources.file:///work/secret/**"),
        ("file:///work/loop", "deny", "resources"),
        ("https://example.com/work/out", "deny", "methods.resources/read"),
    ],
)
def test_where_links_lead_is_held_to_the_patterns_too(uri: str, verdict: str, rule: str) -> None:
    links = {
        "/work/out": "/etc/x",
        "/work/in": "/work/src",
        "/work/to_secret": "/real/secret/k",
        "/work": "/real",
    }
    links |= {"/work/secret": "/real/secret", "/work/a": "/real/a"}

    def resolve(path: str) -> str:
        if path == "/work/loop":
            raise OSError("a circle")
        return links.get(path, path)

    decision = decide_method(SECTIONS, "resources/read", {"uri": uri}, no_task, resolve)
    assert [verdict, rule] == [decision.verdict, decision.rule]
    denied = "method_denied" if rule.startswith("methods") else "resource_denied"
    assert decision.reason_code == ("rule_match" if verdict == "allow" else denied)
    both = {"notifications": {"resourceSubscriptions": ["file:///work/a", uri]}}
    assert (
        decide_method(SECTIONS, "subscriptions/listen", both, no_task, resolve).verdict != "allow"
        or verdict == "allow"
    )


def test_message_that_names_very_much_is_denied_unread() -> None:
    many = listen(resourceSubscriptions=["file:///work/a"] * 1_000)
    assert decide(SECTIONS, "subscriptions/listen", **many)[0] == "allow"
    more = listen(resourceSubscriptions=["file:///work/a"] * 1_000, taskIds=["t"])

    assert decide(SECTIONS, "subscriptions/listen", **more) == ["deny", "resource_denied", "protocol"]


scalars = (
    st.none() | st.booleans() | st.integers() | st.sampled_from(["t", "p_a", "file:///work/a", "ref/prompt"])
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["uri", "name", "ref", "type", "taskId", "notifications", "resourceSubscriptions", "taskIds"]
            ),
            inner,
        )
    ),
    max_leaves=8,
)
params = st.dictionaries(st.sampled_from(["uri", "name", "ref", "taskId", "notifications"]), values)


@given(st.sampled_from(sorted(METHODS)) | st.text(max_size=12), params)
def test_any_params_give_a_decision(method: str, given_params: dict[str, object]) -> None:
    for policy in (SECTIONS, PLAIN):
        decided = decide(policy, method, **given_params)

        assert decided == decide(policy, method, **given_params)
        if method in HOUSEKEEPING and method != "subscriptions/listen":
            assert decided[0] == "allow"


def test_uris_that_are_no_files_lead_through_no_links() -> None:
    policy = load_text('version: "1"\nresources: {"https://a.example/**": allow, "**": deny}\n')
    uri = {"uri": "https://a.example/work/x"}

    assert decide_method(policy, "resources/read", uri, no_task, lambda _: "/etc/x").verdict == "allow"


def test_decision_by_a_pattern_has_its_place() -> None:
    decision = decide_method(SECTIONS, "prompts/get", {"name": "p_no"}, no_task)

    assert str(decision.place) == "root.yaml:6:25"


def test_links_are_followed_where_the_disk_is_shared() -> None:
    policy = ALLOW + 'resources: {"file:///work/**": allow, "**": deny}\n'
    reading = request("resources/read", uri="file:///work/a")
    links = {"/work/a": "/etc/x"}

    assert forwarded(Talk(policy).agent(reading))
    assert not forwarded(Talk(policy, links=links).agent(reading))
