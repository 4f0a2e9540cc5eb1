"""Policies of the Go AgentFence, `version` 0.x or none: their keys, and how Go's YAML read them.

What comes out has the keys of version 1, so that everything after this is the same; what still differs
(implicit path safety, exact matches of any key) is `compile.py`'s and the constraints'.
"""

from __future__ import annotations

from agentfence.core.policy.nodes import Entry, Items, Node, Scalar, Table, made, plain
from agentfence.core.policy.shapes import (
    Choice,
    Flag,
    Key,
    Keys,
    ListOf,
    Names,
    Shape,
    Text,
    Whole,
)
from agentfence.core.policy.validation import Validated, validate
from agentfence.core.values import replace

_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"})
_DEFAULT_TAINT: dict[str, str | int] = {"on_tainted_argument": "escalate", "min_length": 12}


def _keys(**shapes: Shape) -> Keys:
    return Keys({name: Key(shape, "") for name, shape in shapes.items()})


_TEXTS = ListOf(Text())
_VERDICT = Choice(("allow", "deny", "ask"))
_LISTS = _keys(allow=_TEXTS, deny=_TEXTS)
_RULE = Keys(
    {
        "decision": Key(_VERDICT, "", is_required=True),
        "constraints": Key(
            _keys(
                paths=_LISTS,
                args=Names(_LISTS),
                urls=_LISTS,
                command=_keys(allow_executables=_TEXTS, deny_patterns=_TEXTS),
                memory_write=_keys(
                    max_scope=Choice(("session", "project", "global")),
                    max_sensitivity=Choice(("low", "medium", "high")),
                    max_bytes=Whole(),
                    payload_fields=_TEXTS,
                ),
            ),
            "",
        ),
    },
    "a rule",
)
ORIGINAL = _keys(
    version=Text(),
    imports=_TEXTS,
    defaults=_keys(decision=_VERDICT),
    groups=Names(_TEXTS),
    tools=Names(_RULE),
    redaction=_keys(
        enabled=Flag(),
        patterns=ListOf(Keys({"name": Key(Text(), ""), "regex": Key(Text(), "", is_required=True)})),
    ),
    audit=_keys(format=Choice(("jsonl",)), include_redacted_arguments=Flag()),
    taint=_keys(enabled=Flag(), on_tainted_argument=Choice(("escalate", "deny")), min_length=Whole()),
)
"""A whole policy file of the Go AgentFence."""


def validate_original(node: Node) -> Validated:
    """Hold a document to what the Go AgentFence takes, and give it as Go would have read it."""
    validated = validate(read_leniently(node, ORIGINAL) or node, ORIGINAL, own_keys=None)
    if validated.problems or not isinstance(validated.node, Table):
        return validated
    return replace(validated, node=_with_taint_defaults(_without_idle_constraints(validated.node)))


def read_leniently(node: Node, shape: Shape) -> Node | None:
    """Give a node as Go's YAML reads it into a value of this shape; None for nothing.

    There `yes` is true where a truth value is wanted, a bare number is a text where a text is, and null
    is the same as leaving a key out.
    """
    match node, shape:
        case Scalar(value=None), _:
            return None
        case Scalar(is_quoted=False), Flag() if node.text in _TRUE | _FALSE:
            return node._replace(value=node.text in _TRUE)
        case Scalar(is_quoted=False), Text() | Choice():
            return node._replace(value=node.text)
        case Items(items), ListOf(item=shape_of_item):
            return (
                node._replace(items=tuple(_read_item(item, shape_of_item) for item in items))
                if items
                else None
            )
        case Table(), Keys() | Names():
            return node._replace(entries=_read_entries(node, shape))
        case _:
            return node


def _read_item(node: Node, shape: Shape) -> Node:
    return read_leniently(node, shape) or Scalar("", node.position, "")


def _read_entries(node: Table, shape: Keys | Names) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key, entry in node.entries.items():
        value: Node | None = entry.value
        if isinstance(shape, Names):
            value = read_leniently(entry.value, shape.value)
            if value is None and isinstance(shape.value, Keys):
                value = Table({}, entry.value.position)
        elif key in shape.keys:
            value = read_leniently(entry.value, shape.keys[key].shape)
        if value is not None:
            entries[key] = entry._replace(value=value)
    return entries


def _without_idle_constraints(document: Table) -> Table:
    """Leave out blocks that Go does not act on: those without a list, and a limit of 0 bytes."""
    tools = document.table("tools")
    rules = {key: entry._replace(value=_active(entry.value)) for key, entry in tools.entries.items()}
    return document.having("tools", tools._replace(entries=rules)) if rules else document


def _active(rule: Node) -> Node:
    if not isinstance(rule, Table) or "constraints" not in rule.entries:
        return rule
    constraints = rule.table("constraints")
    memory = constraints.table("memory_write")
    if "max_bytes" in memory.entries and plain(memory.entries["max_bytes"].value) == 0:
        constraints = constraints.having("memory_write", memory.without("max_bytes"))
    idle = [key for key in constraints.entries if not constraints.table(key).entries]
    return rule.having("constraints", constraints.without(*idle))


def _with_taint_defaults(document: Table) -> Table:
    """Fill in what Go fills in for each file before it merges any, so that it beats an imported value."""
    taint = document.table("taint")
    if "min_length" in taint.entries and plain(taint.entries["min_length"].value) == 0:
        taint = taint.without("min_length")
    if "enabled" in taint.entries and plain(taint.entries["enabled"].value) is True:
        for key, value in _DEFAULT_TAINT.items():
            if key not in taint.entries:
                taint = taint.having(key, made(value, taint.position))
    return document.having("taint", taint) if taint.entries else document.without("taint")
