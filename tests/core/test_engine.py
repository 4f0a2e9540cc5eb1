from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policies_in_memory import load_text
from talking import NOW

from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call, Engine
from agentfence.core.policy.model import Verdict
from agentfence.core.session import Session
from agentfence.core.tasks import Task

if TYPE_CHECKING:
    from agentfence.core.decision import Decision

POLICY = """
version: "1"
defaults: {decision: deny}
servers: {files: {command: ["**"]}}
forbid: [{tools: ["wipe", "other/*", "files/drop_*"], message: never}]
groups: {readers: ["read_*"]}
tools:
  wipe: allow
  drop_all: allow
  readers: allow
  "list_*": ask
  old: {decision: allow, expires: 2020-01-01}
  checked:
    decision: allow
    message: only a and b
    constraints:
      args: {a: {equals: x}}
      rate: {limit: 1, per: minute}
  lenient:
    decision: allow
    otherwise: ask
    constraints:
      args: {a: {allow: ["x*"]}}
      paths: {fields: [path], roots: [/work], deny: ["secret/**"]}
  lenient_twice:
    decision: allow
    otherwise: ask
    constraints: {args: [{a: {allow: ["x*"]}}, {b: {allow: ["y*"]}}]}
"""


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(load_text(POLICY))


def decide(engine: Engine, tool: str, server: str | None = "files", **arguments: object) -> Decision:
    session = Session("agent", is_identified=True)
    return engine.decide_call(Call(tool, arguments, server), session, Circumstances(NOW))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tool", "verdict", "code", "rule"),
    [
        ("a/b", "deny", "tool_name_ambiguous", "tool names"),
        ("wipe", "deny", "forbidden", "forbid[0]"),
        ("drop_all", "deny", "forbidden", "forbid[0]"),
        ("read_file", "allow", "rule_match", "readers"),
        ("list_files", "ask", "rule_match", "list_*"),
        ("unknown", "deny", "default_decision", "defaults.decision"),
        ("old", "deny", "rule_expired", "old"),
        ("checked", "deny", "arg_missing", "checked"),
    ],
)
def test_first_rule_that_speaks_decides(
    engine: Engine, tool: str, verdict: str, code: str, rule: str
) -> None:
    decision = decide(engine, tool)

    assert (decision.verdict, decision.reason_code, decision.rule) == (Verdict(verdict), code, rule)


def test_qualified_patterns_need_a_server(engine: Engine) -> None:
    assert decide(engine, "drop_all", None).reason_code == "rule_match"
    assert decide(engine, "wipe", None).reason_code == "forbidden"


def test_decision_has_the_place_and_the_words_of_its_rule(engine: Engine) -> None:
    decision = decide(engine, "checked", a="y")

    assert str(decision.place) == "root.yaml:13:3"
    assert decision.message == "only a and b"
    assert decision.reason_code == "arg_not_allowed"
    assert "`a`" in decision.reason


@pytest.mark.parametrize(("time", "code"), [(NOW - 1, "rule_match"), (NOW, "rule_expired")])
def test_rule_holds_until_it_expires(time: float, code: str) -> None:
    engine = Engine(
        load_text('version: "1"\ntools: {a: {decision: allow, expires: "2023-11-14T22:13:20Z"}}\n')
    )
    session = Session("agent", is_identified=True)

    assert engine.decide_call(Call("a"), session, Circumstances(time)).reason_code == code


@pytest.mark.parametrize("tool", ["wipe", "unknown", "list_files", "a/b"])
def test_reason_names_the_tool(engine: Engine, tool: str) -> None:
    assert f"`{tool}`" in decide(engine, tool).reason


@pytest.mark.parametrize("tool", ["short", "long" * 100])
def test_name_of_any_length_is_looked_up_on_its_server(tool: str) -> None:
    engine = Engine(load_text('version: "1"\nservers: {s: {command: [s]}}\ntools: {"s/*": allow}\n'))

    assert [decide(engine, tool, server).verdict for server in ("s", None, "s")] == ["allow", "deny", "allow"]


def test_place_of_the_default_is_its_line(engine: Engine) -> None:
    assert str(decide(engine, "unknown").place) == "root.yaml:3:12"
    assert Engine(load_text('version: "1"\n')).policy.default.place is None


@pytest.mark.parametrize(
    ("arguments", "verdict", "code"),
    [
        ({"a": "x1", "path": "a"}, "allow", "rule_match"),
        ({"a": "y", "path": "a"}, "ask", "arg_not_allowed"),
        ({"a": "y", "path": "secret/a"}, "deny", "path_denied"),
        ({"a": "x1", "path": "secret/a"}, "deny", "path_denied"),
    ],
)
def test_otherwise_asks_when_only_an_allow_list_fails(
    engine: Engine, arguments: dict[str, str], verdict: str, code: str
) -> None:
    decision = decide(engine, "lenient", **arguments)

    assert (decision.verdict, decision.reason_code) == (Verdict(verdict), code)


def test_first_of_two_allow_lists_is_the_reason(engine: Engine) -> None:
    decision = decide(engine, "lenient_twice", a="-", b="-")

    assert decision.verdict is Verdict.ASK
    assert "`a`" in decision.reason


def test_rate_counts_what_is_allowed_in_its_window(engine: Engine) -> None:
    session = Session("agent", is_identified=True)
    fits, fails = Call("checked", {"a": "x"}, "files"), Call("checked", {"a": "y"}, "files")

    def verdict(call: Call, time: float) -> str:
        return engine.decide_call(call, session, Circumstances(time)).reason_code

    assert verdict(fails, NOW) == "arg_not_allowed"
    assert verdict(fits, NOW) == "rule_match"
    assert verdict(fits, NOW + 30) == "rate_exceeded"
    assert verdict(fails, NOW + 30) == "arg_not_allowed"
    assert verdict(fits, NOW + 60) == "rule_match"


def test_rate_tells_when_the_call_would_pass(engine: Engine) -> None:
    session = Session("agent", is_identified=True)
    call = Call("checked", {"a": "x"}, "files")
    engine.decide_call(call, session, Circumstances(NOW))

    assert engine.decide_call(call, session, Circumstances(NOW + 59)).retry_after_ms == 1_000


@pytest.mark.parametrize(
    ("tool", "told"),
    [
        ("a/b", ["tool name `a/b` holds `/`, which separates server and tool"]),
        ("wipe", ["`forbid[0]` covers tool `wipe`"]),
        (
            "unknown",
            ["no rule covers tool `unknown`: the default decision holds", "decision of the rule: deny"],
        ),
        (
            "list_a",
            ["wildcard rule `list_*` covers tool `list_a` (root.yaml:11:3)", "decision of the rule: ask"],
        ),
        ("old", ["exact rule `old` covers tool `old` (root.yaml:12:3)", "rule `old` has expired"]),
    ],
)
def test_explanation_tells_the_steps(engine: Engine, tool: str, told: list[str]) -> None:
    steps: list[str] = []
    session = Session("agent", is_identified=True)
    engine.decide_call(Call(tool, {}, "files"), session, Circumstances(NOW), steps.append)

    assert told == steps


def test_explanation_tells_of_constraints_and_rates(engine: Engine) -> None:
    steps: list[str] = []
    session = Session("agent", is_identified=True)
    for call in (Call("checked", {"a": "x"}), Call("checked", {"a": "x"}), Call("lenient", {"a": "-"})):
        engine.decide_call(call, session, Circumstances(NOW), steps.append)

    text = "\n".join(steps)
    assert "constraint args: holds" in text
    assert "rate: rule `checked` allows 1 calls in 60 seconds, and they are used up" in text
    assert "constraint paths: fails: " in text
    assert "the call is denied" in text


def test_explanation_tells_that_otherwise_asks(engine: Engine) -> None:
    steps: list[str] = []
    call = Call("lenient", {"a": "-", "path": "a"})
    engine.decide_call(call, Session("agent", is_identified=True), Circumstances(NOW), steps.append)

    assert "nothing is forbidden, so `otherwise: ask` asks" in steps


@pytest.mark.parametrize(
    ("tool", "is_hopeless"),
    [
        ("a/b", True),
        ("wipe", True),
        ("unknown", True),
        ("old", True),
        ("read_file", False),
        ("list_files", False),
        ("checked", False),
    ],
)
def test_tool_that_is_always_denied_is_known(engine: Engine, tool: str, is_hopeless: bool) -> None:
    assert engine.can_only_deny("files", tool, NOW) is is_hopeless


def test_methods_are_decided_without_tasks_unless_they_are_given(engine: Engine) -> None:
    task = Task("call-1", "readers", Verdict.ALLOW)

    assert engine.decide_method("ping", None, Circumstances()).verdict is Verdict.ALLOW
    assert engine.decide_method("tasks/get", {"taskId": "t"}, Circumstances()).verdict is Verdict.DENY
    assert (
        engine.decide_method("tasks/get", {"taskId": "t"}, Circumstances(), lambda _id: task).verdict
        is Verdict.ALLOW
    )


TOOLS = ["wipe", "drop_all", "read_file", "list_x", "old", "checked", "lenient", "unknown", "a/b"]
arguments = st.dictionaries(
    st.sampled_from(["a", "b", "path"]), st.sampled_from(["x", "y", "secret/a", "../a", 1])
)


@given(st.sampled_from(TOOLS), arguments, st.sampled_from(["wipe", "*", "read_*", "files/*", "[a-m]*"]))
@settings(max_examples=60, deadline=None)
def test_adding_a_denial_never_allows_more(
    tool: str, given_arguments: dict[str, object], denied: str
) -> None:
    strictness = [Verdict.DENY, Verdict.ASK, Verdict.ALLOW]
    less = decide(Engine(load_text(POLICY)), tool, **given_arguments)
    stricter = POLICY.replace("forbid: [", f'forbid: [{{tools: ["{denied}"]}}, ')
    more = decide(Engine(load_text(stricter)), tool, **given_arguments)

    assert strictness.index(more.verdict) <= strictness.index(less.verdict)
    assert less == decide(Engine(load_text(POLICY)), tool, **given_arguments)
