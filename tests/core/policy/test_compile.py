"""Whole policies: defaults, sections, and problems in order."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text, load_texts

from agentfence.core.errors import PolicyError
from agentfence.core.policy.model import (
    AuditSettings,
    Mode,
    Pins,
    RedactionSettings,
    RuleKind,
    TaintSettings,
    Unlisted,
    Verdict,
)


def codes(text):
    with pytest.raises(PolicyError) as caught:
        load_text(f'version: "1"\n{text}')
    return [f"{one.place.line}:{one.place.column} {one.code}" for one in caught.value.problems]


def test_policy_that_says_nothing_denies_tools_and_allows_methods():
    policy = load_text('version: "1"')

    assert (policy.version, policy.file, policy.mode) == ("1", "root.yaml", Mode.ENFORCE)
    assert (
        policy.default.decision,
        policy.default.kind,
        policy.default.place,
    ) == (Verdict.DENY, RuleKind.DEFAULT, None)
    assert (
        policy.methods_default,
        policy.methods,
        policy.resources,
        policy.prompts,
    ) == (Verdict.ALLOW, {}, None, None)
    assert (TaintSettings(), RedactionSettings(), AuditSettings()) == (
        policy.taint,
        policy.redaction,
        policy.audit,
    )
    assert (
        policy.unlisted,
        policy.pins,
        policy.hide_denied,
        policy.validate_arguments,
    ) == (Unlisted.INSPECT, Pins.OFF, True, False)
    assert (policy.forbid, policy.servers, policy.tunnel, policy.tests, policy.groups) == ((), (), (), (), {})


def test_every_section_is_compiled():
    policy = load_text(
        """
version: 1
mode: observe
defaults: {decision: ask, methods: deny}
groups: {g: [a, b]}
methods: {sampling/createMessage: ask, x/y: allow}
taint: {enabled: true, on_tainted_argument: deny, min_length: 3, sources: [a], sinks: ["s/*"],
        trusted_tools: [t], ignore_fields: [f]}
redaction: {enabled: false, builtin: false, patterns: [{name: n, regex: "a+"}]}
audit: {format: jsonl, include_redacted_arguments: true, on_failure: deny}
unlisted: block
hide_denied: false
pins: require
validate_arguments: true
tests: [{id: t, tool: a, expect: allow}]
"""
    )

    assert (policy.mode, policy.methods_default) == (Mode.OBSERVE, Verdict.DENY)
    assert (policy.default.decision, str(policy.default.place)) == (Verdict.ASK, "root.yaml:4:12")
    assert policy.groups == {"g": ("a", "b")}
    assert policy.methods == {"sampling/createMessage": Verdict.ASK, "x/y": Verdict.ALLOW}
    assert TaintSettings(True, "deny", 3, ("a",), ("s/*",), ("t",), ("f",)) == policy.taint
    assert RedactionSettings(False, False, (("n", "a+"),)) == policy.redaction
    assert AuditSettings(True) == policy.audit
    assert (
        policy.unlisted,
        policy.pins,
        policy.hide_denied,
        policy.validate_arguments,
    ) == (Unlisted.BLOCK, Pins.REQUIRE, False, True)
    assert [test.id for test in policy.tests] == ["t"]


def test_housekeeping_and_calls_are_not_listed_under_methods():
    assert codes("methods: {ping: deny, tools/call: allow}") == [
        "2:11 housekeeping_method",
        "2:23 useless_key",
    ]
    assert codes("methods: {notifications/initialized: deny}") == ["2:11 housekeeping_method"]


@pytest.mark.parametrize("regex", ["(", "(?=a)", r"\\1", "a**", "[b-a]"])
def test_redaction_patterns_are_re2(regex):
    assert codes(f'redaction: {{patterns: [{{name: n, regex: "{regex}"}}]}}') == ["2:41 wrong_regex"]


@pytest.mark.parametrize("regex", ["a*", "^", "b|"])
def test_redaction_pattern_that_fits_an_empty_text_is_refused(regex):
    assert codes(f'redaction: {{patterns: [{{name: n, regex: "{regex}"}}]}}') == ["2:41 wrong_regex"]


def test_taint_patterns_and_fields_must_compile():
    assert codes('taint: {sources: ["["],\n ignore_fields: ["a["]}') == [
        "2:19 wrong_pattern",
        "3:18 wrong_field",
    ]


def test_problems_come_in_order_of_place_the_root_file_first():
    files = {
        "root.yaml": 'version: "1"\nimports: [a.yaml]\ntunnel: ["*"]\nmethods: {ping: allow}\n',
        "a.yaml": 'version: "1"\nprompts: {"[": ask}',
    }
    with pytest.raises(PolicyError) as caught:
        load_texts(files)

    assert [f"{one.place.file}:{one.place.line}" for one in caught.value.problems] == [
        "root.yaml:3",
        "root.yaml:4",
        "a.yaml:2",
    ]
