"""`agentfence test`: run the tests of policies, and say which rules no test touches."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from agentfence.cli.loading import load, load_lock, read_file, redactor_of
from agentfence.cli.terminal import Paint, say
from agentfence.core.errors import PolicyError, UsageError
from agentfence.core.policy.nodes import MAX_BYTES
from agentfence.core.policy.reader import read_document
from agentfence.core.policy.test_files import is_test_file, read_test_file
from agentfence.core.policy.written_rules import written_rules
from agentfence.core.trials import run_test
from agentfence.core.values import field, frozen
from agentfence.core.visible import visible
from agentfence.flags import add_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.policy.model import TestCase, TestStep
    from agentfence.core.policy.written_rules import WrittenRule
    from agentfence.core.trials import Got

_FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="policies, and files of tests for them; without a policy the one that a run would use",
    )
    parser.add_argument("--policy", metavar="FILE", action="append", default=[], help="one more policy")
    parser.add_argument("--tests", metavar="FILE", action="append", default=[], help="one more file of tests")
    add_options(parser, "lock")
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="how results are printed (default: text)"
    )
    parser.add_argument("--verbose", "-v", action="store_true", help="say of passing tests too why they pass")


@frozen
class _Result:
    """One test that was run."""

    test: TestCase
    steps: tuple[Got, ...]

    @property
    def is_passed(self) -> bool:
        return all(got.is_as_expected for got in self.steps)

    @property
    def told(self) -> tuple[int, Got]:
        """The step to tell of, counted from 1: the first that is not as expected, else the last."""
        wrong = [(number, got) for number, got in enumerate(self.steps, 1) if not got.is_as_expected]
        return wrong[0] if wrong else (len(self.steps), self.steps[-1])


@frozen
class _PolicyResults:
    """All tests of one policy."""

    policy: str
    results: list[_Result] = field(default_factory=list)
    untouched: list[WrittenRule] = field(default_factory=list)


def run(arguments: argparse.Namespace) -> int:
    """Run the tests; give the exit status."""
    policies, test_files = _sort(arguments)
    extra = [test for name in test_files for test in read_test_file(name, read_file(name, MAX_BYTES))]
    now = time.time()
    everything = [_run_policy(name, arguments.lock, extra, now) for name in policies]
    if arguments.output == "json":
        print(json.dumps(_as_json(everything), ensure_ascii=False, indent=2))
    else:
        _print(everything, is_verbose=arguments.verbose)
    results = [result for one in everything for result in one.results]
    failed = sum(not result.is_passed for result in results)
    say(f"{len(results)} tests run, {failed} failed")
    if not results:
        say("there is no test: write some under `tests:`, or give a file of tests")
    return _FAILED if failed or not results else 0


def _sort(arguments: argparse.Namespace) -> tuple[list[str | None], list[str]]:
    """Give policies and files of tests; None is the policy that a run would use."""
    policies: list[str | None] = list(arguments.policy)
    tests: list[str] = list(arguments.tests)
    for name in arguments.files:
        (tests if _holds_only_tests(name) else policies).append(name)
    return policies or [None], tests


def _holds_only_tests(name: str) -> bool:
    try:
        return is_test_file(read_document(name, read_file(name, MAX_BYTES)))
    except (UsageError, PolicyError):
        return False  # a packaged policy, or a file of which loading says what is wrong


def _run_policy(
    name: str | None, lock_name: str | None, extra: Sequence[TestCase], now: float
) -> _PolicyResults:
    loaded = load(name)
    policy, redactor = loaded.policy, redactor_of(loaded.policy)
    lock = load_lock(name, lock_name, policy)
    results = [_Result(test, run_test(policy, redactor, test, now, lock)) for test in (*policy.tests, *extra)]
    touched = {got.rule for result in results for got in result.steps}
    untouched = [rule for rule in written_rules(loaded.document) if rule.name not in touched]
    return _PolicyResults(policy.file, results, untouched)


def _print(everything: Iterable[_PolicyResults], *, is_verbose: bool) -> None:
    paint = Paint(sys.stdout)
    for one in everything:
        print(paint(one.policy, "bold"))
        for result in one.results:
            print(_line(result, paint, is_verbose=is_verbose))
        for rule in one.untouched:
            print(f"  {paint('no test touches', 'yellow')} `{visible(rule.name)}` ({rule.position.place})")


def _line(result: _Result, paint: Paint, *, is_verbose: bool) -> str:
    name = visible(result.test.id)
    number, got = result.told
    where = "" if result.test.is_single else f"step {number}: "
    if not result.is_passed:
        wanted = _expectation(got.step)
        wrong = f"{where}expected {wanted}, got {_outcome(got, got.step)}"
        place = got.step.place or result.test.place
        why = f"\n        {visible(got.reason)}\n        at {place}"
        return f"  {paint('FAIL', 'red')}: {name} ({wrong}){why}"
    why = f" ({where}{visible(got.reason)})" if is_verbose else ""
    return f"  {paint('PASS', 'green')}: {name}{why}"


def _expectation(step: TestStep) -> str:
    return "".join(_parts(step.expect, step.rule, step.reason_code))


def _outcome(got: Got, step: TestStep) -> str:
    """Give what came, as far as the expectation goes."""
    rule = got.rule if step.rule is not None else None
    return "".join(_parts(got.decision, rule, got.reason_code if step.reason_code is not None else None))


def _parts(decision: str, rule: str | None, reason_code: str | None) -> Iterator[str]:
    yield decision
    if rule is not None:
        yield f" by `{visible(rule)}`"
    if reason_code is not None:
        yield f" for {visible(reason_code)}"


def _as_json(everything: Sequence[_PolicyResults]) -> dict[str, Json]:
    results = [result for one in everything for result in one.results]
    passed = sum(result.is_passed for result in results)
    return {
        "total": len(results),
        "passed": passed,
        "failed": len(results) - passed,
        "cases": [_case(one.policy, result) for one in everything for result in one.results],
        "untouched_rules": [
            {
                "policy": one.policy,
                "rule": rule.name,
                "line": rule.position.line,
                "column": rule.position.column,
            }
            for one in everything
            for rule in one.untouched
        ],
    }


def _case(policy: str, result: _Result) -> dict[str, Json]:
    number, got = result.told
    place = got.step.place
    return {
        "policy": policy,
        "id": result.test.id,
        "tool": got.step.tool,
        "step": None if result.test.is_single else number,
        "expect": got.step.expect.value,
        "got": got.decision.value,
        "pass": result.is_passed,
        "rule": got.rule,
        "reason_code": got.reason_code,
        "reason": got.reason,
        "place": None if place is None else str(place),
    }
