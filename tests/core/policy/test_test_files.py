"""Tests of policies: what a test may be, and files of them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies_in_memory import load_text

from agentfence.core.errors import PolicyError
from agentfence.core.policy.model import TestStep, Verdict
from agentfence.core.policy.reader import read_document
from agentfence.core.policy.test_files import is_test_file, read_test_file


def load(tests):
    return load_text(f'version: "1"\ntests:\n{tests}').tests


def codes(tests):
    with pytest.raises(PolicyError) as caught:
        load(tests)
    return [f"{one.place.line}:{one.place.column} {one.code}" for one in caught.value.problems]


def test_tests_of_a_policy_are_kept_in_order():
    tests = load(
        """
  - {id: one, tool: write, server: files, arguments: {path: a, x-y: [1]}, expect: allow}
  - {id: two, method: sampling/createMessage, expect: {decision: ask}}
  - {id: three, uri: "file:///a", expect: {decision: deny, rule: resources, reason_code: resource_denied}}
  - {id: four, prompt: greet, expect: allow}
  - {id: five, method: resources/subscribe, uri: "file:///a", expect: deny}
  - {id: six, method: completion/complete, prompt: greet, expect: deny}
"""
    )
    one, two, three, four, five, six = (test.steps[0] for test in tests)

    assert [test.id for test in tests] == ["one", "two", "three", "four", "five", "six"]
    assert all(test.is_single and test.time is None for test in tests)
    assert (one.tool, one.server, one.expect) == ("write", "files", Verdict.ALLOW)
    assert one.arguments == {"path": "a", "x-y": [1]}
    assert str(one.place) == str(tests[0].place) == "root.yaml:4:5"
    assert (two.method, two.expect) == ("sampling/createMessage", Verdict.ASK)
    assert (three.uri, three.rule, three.reason_code) == ("file:///a", "resources", "resource_denied")
    assert (four.prompt, five.method, six.prompt) == ("greet", "resources/subscribe", "greet")


def test_steps_are_messages_of_one_session():
    (test,) = load(
        """
  - id: one
    time: 2027-01-31
    steps:
      - {tool: a, expect: ask, answer: remember, result: some text}
      - {tool: a, expect: {decision: allow, rule: a}, after: 60, result: {structuredContent: {n: 1}}}
"""
    )
    first, second = test.steps

    assert (test.is_single, test.time) == (False, 1801353600)
    assert first == TestStep(Verdict.ASK, tool="a", answer="remember", result="some text", place=first.place)
    assert (second.after, second.rule, second.result) == (60, "a", {"structuredContent": {"n": 1}})
    assert str(second.place) == "root.yaml:8:9"


def test_test_needs_one_subject_and_an_expectation():
    assert codes("- {id: a, expect: allow}") == ["3:3 missing_key"]
    assert codes("- {id: a, tool: b}") == ["3:3 missing_key"]
    assert codes("- {id: a, tool: b, uri: c, expect: allow}") == ["3:20 useless_key"]
    assert codes("- {id: a, method: b, arguments: {}, expect: allow}") == ["3:22 useless_key"]


def test_steps_stand_alone_and_each_needs_the_same():
    assert codes("- {id: a, tool: b, expect: allow, steps: [{tool: a, expect: allow}]}") == [
        "3:11 useless_key",
        "3:20 useless_key",
    ]
    assert codes("- {id: a, steps: [{tool: b}, {expect: allow}]}") == ["3:19 missing_key", "3:30 missing_key"]
    assert codes("- {id: a, steps: []}") == ["3:18 empty"]
    assert codes("- {id: a, steps: [{tool: b, expect: allow, answer: perhaps}]}") == ["3:52 wrong_value"]
    assert codes("- {id: a, steps: [{tool: b, expect: allow, after: -1}]}") == ["3:51 wrong_value"]


def test_time_is_a_date_or_a_time():
    assert codes("- {id: a, time: soon, tool: b, expect: allow}") == ["3:17 wrong_time"]


def test_ids_are_not_used_twice():
    assert codes("- {id: a, tool: b, expect: allow}\n- {id: a, tool: c, expect: allow}") == [
        "4:8 duplicate_test"
    ]


def test_file_of_tests_is_read_also_as_go_wrote_it():
    tests = read_test_file(
        "t.yaml",
        b"tests:\n  - {id: 1, tool: a, expect: allow, arguments: }\n  - {id: 1, tool: c, expect: ask}\n",
    )

    assert [(test.id, test.steps[0].expect, test.steps[0].arguments) for test in tests] == [
        ("1", Verdict.ALLOW, {}),
        ("1", Verdict.ASK, {}),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"tests: []", True),
        (b"tests: []\nx-notes: 1", True),
        (b'version: "1"\ntests: []', False),
        (b"tools: {}", False),
        (b"", False),
        (b"[tests]", False),
    ],
)
def test_file_of_tests_is_told_from_a_policy_by_its_keys(text, expected):
    assert is_test_file(read_document("t.yaml", text)) is expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"", "missing_key"),
        (b"tests: []", "empty"),
        (b"tests: [{id: a, tool: b, expect: maybe}]", "wrong_value"),
        (b"tests: [{id: a, tool: b, expect: allow, expects: 1}]", "unknown_key"),
        (b"[]", "wrong_type"),
        (b"tests: [{id: a, expect: allow}]", "missing_key"),
    ],
)
def test_file_that_holds_no_tests_is_refused(text, code):
    with pytest.raises(PolicyError) as caught:
        read_test_file("t.yaml", text)

    assert [code] == [problem.code for problem in caught.value.problems]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=80).map(lambda rest: b"tests: " + rest))
def test_any_bytes_are_tests_or_a_policy_error(content):
    with suppress(PolicyError):
        assert all(test.steps for test in read_test_file("t.yaml", content))
