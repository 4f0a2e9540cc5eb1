"""What judging one message may cost: counted, so that nothing here depends on a clock."""

from __future__ import annotations

import pytest
from policies_in_memory import load_text
from talking import NOW

from agentfence.core.constraints.effort import TOO_MUCH, Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Call, Engine
from agentfence.core.policy.model import Verdict
from agentfence.core.session import Session

ENGINE = Engine(
    load_text("""
version: "1"
tools:
  read: {decision: allow, constraints: {paths: {fields: [many], roots: [/work], deny: ["**/.env"]}}}
  fetch: {decision: allow, constraints: {urls: {fields: [many], hosts: [api.example.com]}}}
  run: {decision: allow, constraints: {command: {fields: ["many[*]"], allow: ["ls **"]}}}
  start: {decision: allow, constraints: {command: {argv: [many], allow: ["ls **"]}}}
  fit: {decision: allow, constraints: {schema: {properties: {many: {items: {type: string, maxLength: 900}}}}}}
  tag: {decision: allow, constraints: {args: {many: {deny: ["x*"], allow: ["**"]}}}}
  note: {decision: allow, constraints: {memory_write: {payload_fields: [many], max_sensitivity: low}}}
redaction: {patterns: [{name: ticket, regex: "TCK-[0-9]{6}"}]}
""")
)
SHAPES = {
    "plain paths": ("read", "/work/src/a.py", "path_unsafe"),
    "long paths": ("read", "/work/" + "a/" * 400, "path_unsafe"),
    "escaped paths": ("read", "/work/%61", "path_unsafe"),
    "choices of paths": ("read", "/work/{a,b}{c,d}{e,f}{g,h}", "path_unsafe"),
    "lists of paths": ("read", '["/work/a", "/work/b"]', "path_unsafe"),
    "URLs": ("fetch", "https://api.example.com/a", "url_invalid"),
    "escaped URLs": ("fetch", "https://api.example.com/" + "%61" * 90, "url_invalid"),
    "URLs of fractions": ("fetch", "https://api.example.com/" + "½" * 300, "url_invalid"),
    "URLs with parameters": ("fetch", "https://api.example.com/" + "a;" * 400, "url_invalid"),
    "URLs of empty names": ("fetch", "https://api.example.com/" + "//" * 300, "url_invalid"),
    "URLs that curl expands": ("fetch", "https://api.example.com/{a,b}/{c,d}", "url_invalid"),
    "lists of URLs": ("fetch", "https://api.example.com/a,https://api.example.com/b", "url_invalid"),
    "commands": ("run", "ls a", "command_syntax"),
    "commands of many words": ("run", "ls" + " a" * 400, "command_syntax"),
    "texts for a schema": ("fit", "abc", "schema_mismatch"),
    "values": ("tag", "abc", "arg_not_allowed"),
    "values that are lists": ("tag", '["a", "b", "c"]', "arg_not_allowed"),
    "values of other scripts": ("tag", "\u6587" * 900, "arg_not_allowed"),
    "notes": ("note", "abc", "memory_size_exceeded"),
}


def decide(tool, many, effort):
    circumstances = Circumstances(NOW, lambda path: path, effort)
    session = Session("agent", is_identified=True)
    return ENGINE.decide_call(Call(tool, {"many": many}), session, circumstances)


@pytest.mark.parametrize(("tool", "text", "code"), SHAPES.values(), ids=SHAPES)
def test_as_many_as_people_send_pass_and_more_are_refused(tool: str, text: str, code: str) -> None:
    honest, far_too_many = decide(tool, [text] * 50, Effort()), decide(tool, [text] * 95_000, Effort())

    assert honest.verdict is Verdict.ALLOW, honest
    assert (far_too_many.verdict, far_too_many.reason_code) == (Verdict.DENY, code)
    assert len(far_too_many.reason) < 200


@pytest.mark.parametrize(("tool", "text", "code"), SHAPES.values(), ids=SHAPES)
def test_nothing_is_looked_at_that_is_not_paid_for(tool: str, text: str, code: str) -> None:
    """Neither the next call of a batch, nor the rest of this one."""
    effort = Effort()
    decide(tool, [text] * 20, effort)
    cost, left = Effort().left - effort.left, effort.left

    assert cost >= 20
    decide(tool, [text] * 20, effort)
    assert effort.left == left - cost
    assert decide(tool, [text] * 20, Effort(cost)).verdict is Verdict.ALLOW
    assert decide(tool, [text] * 20, Effort(cost - 1)).reason_code == code


def test_a_program_with_very_many_arguments_is_refused():
    assert decide("start", ["ls", *["a"] * 1_000], Effort()).verdict is Verdict.ALLOW
    assert decide("start", ["ls", *["a"] * 95_000], Effort()).reason_code == "command_syntax"


def test_paths_cost_more_where_the_disk_has_many_folders_to_go_through():
    assert decide("read", ["/work/" + "a/" * 100] * 400, Effort()).verdict is Verdict.ALLOW
    assert decide("read", ["/work/" + "a/" * 1_500] * 1, Effort()).verdict is Verdict.ALLOW
    assert decide("read", ["/work/" + "a/" * 1_500] * 10, Effort()).reason_code == "path_unsafe"


def test_without_a_limit_it_takes_what_it_takes():
    assert decide("read", ["/work/a"] * 20_000, None).verdict is Verdict.ALLOW
    assert TOO_MUCH in decide("read", ["/work/a"] * 20_000, Effort()).reason
