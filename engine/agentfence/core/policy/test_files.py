"""Tests of a policy, in its own `tests:` or in a file beside it: what must become of which message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import PolicyError
from agentfence.core.policy.building import optional_text, text_of
from agentfence.core.policy.language import TESTS
from agentfence.core.policy.model import TestCase, TestStep, Verdict
from agentfence.core.policy.nodes import Scalar, Table, plain_table
from agentfence.core.policy.original import read_leniently
from agentfence.core.policy.shapes import Key, Keys
from agentfence.core.policy.times import TIME_ADVICE, parse_time
from agentfence.core.policy.validation import OWN_KEYS, validate

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json
    from agentfence.core.errors import Problem
    from agentfence.core.policy.nodes import Node, Path

_TEST_FILE = Keys({"tests": Key(TESTS, "The tests.", is_required=True)}, "a file of tests")
_SUBJECTS = ("tool", "method", "uri", "prompt")
_WITH_METHOD = ({"method", "uri"}, {"method", "prompt"})
_OF_ONE_MESSAGE = (*_SUBJECTS, "arguments", "server", "expect")


def is_test_file(node: Node) -> bool:
    """Whether a document is a file of tests: it has `tests`, and no other key of a policy."""
    keys = node.entries.keys() if isinstance(node, Table) else ()
    return {key for key in keys if not key.startswith(OWN_KEYS)} == {"tests"}


def read_test_file(name: str, content: bytes) -> tuple[TestCase, ...]:
    """Give the tests of a file; those of the Go AgentFence are read alike, and may share an id.

    Raises `PolicyError` when it is not a file of tests.
    """
    from agentfence.core.policy.reader import read_document  # a policy with tests needs none of this

    node = read_document(name, content)
    lenient = read_leniently(node, _TEST_FILE)
    if isinstance(lenient, Table) and "tests" in lenient.entries:  # an empty list is nothing to Go
        node = lenient
    validated = validate(node, _TEST_FILE)
    if validated.problems or not isinstance(validated.node, Table):
        raise PolicyError(validated.problems)
    tests, problems = compile_tests(validated.node)
    serious = [problem for problem in problems if problem.code != "duplicate_test"]
    if serious:
        raise PolicyError(serious)
    return tests


def compile_tests(table: Table) -> tuple[tuple[TestCase, ...], list[Problem]]:
    """Give the tests under `tests:` of a valid document, and what is wrong with them."""
    problems: list[Problem] = []
    tests: list[TestCase] = []
    known: set[str] = set()
    for index, node in enumerate(table.items("tests")):
        if isinstance(node, Table):
            path: Path = ("tests", index)
            problems += _problems_of_test(node, path, known)
            test = _test(node, path, problems)
            known.add(test.id)
            tests.append(test)
    return tuple(tests), problems


def _problems_of_test(node: Table, path: Path, known: set[str]) -> list[Problem]:
    problems: list[Problem] = []
    identity = node.entries["id"].value
    if text_of(identity) in known:
        message = f"the id `{text_of(identity)}` stands twice"
        problems.append(identity.position.problem("duplicate_test", message, (*path, "id")))
    if "steps" not in node.entries:
        return problems + _problems_of_message(node, path)
    for key in _OF_ONE_MESSAGE:
        if key in node.entries:
            message = f"`{key}` belongs into one of the `steps`"
            problems.append(node.entries[key].key.problem("useless_key", message, (*path, key)))
    for index, step in enumerate(node.items("steps")):
        if isinstance(step, Table):
            problems += _problems_of_message(step, (*path, "steps", index))
    return problems


def _problems_of_message(node: Table, path: Path) -> list[Problem]:
    problems: list[Problem] = []
    present = [key for key in _SUBJECTS if key in node.entries]
    if "expect" not in node.entries:
        problems.append(node.position.problem("missing_key", "missing key `expect`", path))
    if not present:
        message = "expected one of `tool`, `method`, `uri` and `prompt`"
        problems.append(node.position.problem("missing_key", message, path))
    elif len(present) > 1 and set(present) not in _WITH_METHOD:
        message = f"expected one of `tool`, `method`, `uri` and `prompt`, got `{'` and `'.join(present)}`"
        problems.append(node.entries[present[1]].key.problem("useless_key", message, (*path, present[1])))
    if "arguments" in node.entries and "tool" not in node.entries:
        message = "`arguments` go with a `tool`"
        problems.append(node.entries["arguments"].key.problem("useless_key", message, (*path, "arguments")))
    return problems


def _test(node: Table, path: Path, problems: list[Problem]) -> TestCase:
    steps = [step for step in node.items("steps") if isinstance(step, Table)]
    return TestCase(
        text_of(node.get("id")),
        tuple(_step(step) for step in steps or [node]),
        is_single=not steps,
        time=_time(node, path, problems),
        place=node.position.place,
    )


def _step(node: Table) -> TestStep:
    expect = node.get("expect")
    expected = expect if isinstance(expect, Table) else Table({}, node.position)
    return TestStep(
        Verdict(text_of(expected.get("decision") or expect) or Verdict.DENY),
        tool=optional_text(node, "tool"),
        server=optional_text(node, "server"),
        arguments=plain_table(node.table("arguments")),
        rule=optional_text(expected, "rule"),
        reason_code=optional_text(expected, "reason_code"),
        method=optional_text(node, "method"),
        uri=optional_text(node, "uri"),
        prompt=optional_text(node, "prompt"),
        after=int(optional_text(node, "after") or 0),
        answer=optional_text(node, "answer"),
        result=_result(node.get("result")),
        place=node.position.place,
    )


def _result(node: Node | None) -> str | dict[str, Json] | None:
    match node:
        case Scalar():
            return node.text
        case Table():
            return plain_table(node)
        case _:
            return None


def _time(node: Table, path: Path, problems: list[Problem]) -> float | None:
    value = node.get("time")
    if value is None:
        return None
    try:
        return parse_time(text_of(value))
    except ValueError as error:
        problems.append(value.position.problem("wrong_time", str(error), (*path, "time"), TIME_ADVICE))
        return None
