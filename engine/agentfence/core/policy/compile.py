"""A resolved document into a `Policy`: every pattern, regex and constraint compiled, once.

What is wrong is collected, so that a person sees all of it. Whether two documents mean the same is told
by the digest, which is blind to comments, the order of keys, short forms, the layout of imports and tests.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from agentfence.core.constraints.fields import parse_selector
from agentfence.core.constraints.regexes import compile_regex
from agentfence.core.errors import PolicyError
from agentfence.core.policy.building import Building, flag, optional_text, text_of, texts
from agentfence.core.policy.language import VERSION
from agentfence.core.policy.model import (
    AuditSettings,
    Mode,
    Pins,
    Policy,
    RedactionSettings,
    Rule,
    RuleKind,
    TaintSettings,
    Unlisted,
    Verdict,
)
from agentfence.core.policy.nodes import Table, in_order, plain_table
from agentfence.core.policy.patterns import compile_prompts, compile_resources
from agentfence.core.policy.rules import compile_constraint
from agentfence.core.policy.servers import compile_servers
from agentfence.core.policy.test_files import compile_tests
from agentfence.core.policy.tools import compile_forbids, compile_tools
from agentfence.core.revisions import HOUSEKEEPING
from agentfence.core.values import replace

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import BuildContext, Constraint, Json
    from agentfence.core.policy.imports import Document
    from agentfence.core.policy.nodes import Node

_ORIGINAL_VERSION = "0"


def compile_policy(document: Document, context: BuildContext) -> Policy:
    """Give the compiled policy; raises `PolicyError` with all that is wrong, in order of place."""
    root = document.file
    building = Building(replace(context, folder=root.folder, original=document.is_original))
    redaction = _redaction(document.table, building)
    if not building.problems:
        building.context = replace(building.context, secret_patterns=redaction.patterns)
    policy = _compile(document, redaction, building)
    if building.problems:
        raise PolicyError(in_order(building.problems, root.name))
    return policy


def _compile(document: Document, redaction: RedactionSettings, building: Building) -> Policy:
    table = document.table
    defaults, groups = table.table("defaults"), table.table("groups")
    servers, tunnel = compile_servers(table, building)
    tests, problems = compile_tests(table)
    building.problems += problems
    return Policy(
        digest=digest_of(document),
        file=document.file.name,
        tools=compile_tools(table, building),
        default=_default_rule(defaults),
        version=_ORIGINAL_VERSION if document.is_original else VERSION,
        mode=Mode(optional_text(table, "mode") or Mode.ENFORCE),
        forbid=compile_forbids(table, building),
        servers=servers,
        groups={name: texts(groups, name) for name in groups.entries},
        methods=_methods(table.table("methods"), building),
        methods_default=Verdict(optional_text(defaults, "methods") or Verdict.ALLOW),
        resources=compile_resources(table.get("resources"), building),
        prompts=compile_prompts(table.get("prompts"), building),
        taint=_taint(table.table("taint"), building),
        redaction=redaction,
        audit=_audit(table.table("audit")),
        unlisted=Unlisted(optional_text(table, "unlisted") or Unlisted.INSPECT),
        hide_denied=flag(table, "hide_denied", default=True),
        pins=Pins(optional_text(table, "pins") or Pins.OFF),
        tunnel=tunnel,
        validate_arguments=flag(table, "validate_arguments", default=False),
        elicitation=_elicitation(table.get("elicitation"), building),
        tests=tests,
    )


def _default_rule(defaults: Table) -> Rule:
    entry = defaults.entries.get("decision")
    decision = Verdict(text_of(entry.value)) if entry else Verdict.DENY
    return Rule("defaults.decision", RuleKind.DEFAULT, decision, entry.key.place if entry else None)


def _methods(methods: Table, building: Building) -> dict[str, Verdict]:
    for method, entry in methods.entries.items():
        if method in HOUSEKEEPING:
            message = f"`{method}` always passes and may not be listed"
            building.note(entry.key, "housekeeping_method", message, ("methods", method))
        elif method == "tools/call":
            message = "`tools/call` is decided by `tools` and `defaults.decision`"
            building.note(entry.key, "useless_key", message, ("methods", method))
    return {method: Verdict(text_of(entry.value)) for method, entry in methods.entries.items()}


def _elicitation(section: Node | None, building: Building) -> Constraint | None:
    return None if section is None else compile_constraint("urls", section, ("elicitation",), building)


def _audit(table: Table) -> AuditSettings:
    return AuditSettings(
        flag(table, "include_redacted_arguments", default=False),
        optional_text(table, "on_failure") or "deny",
    )


def _taint(taint: Table, building: Building) -> TaintSettings:
    default = TaintSettings()
    for key in ("sources", "sinks", "trusted_tools"):
        building.globs(taint.items(key), ("taint", key))
    for index, node in enumerate(taint.items("ignore_fields")):
        try:
            parse_selector(text_of(node))
        except ValueError as error:
            building.note(node.position, "wrong_field", str(error), ("taint", "ignore_fields", index))
    return TaintSettings(
        enabled=flag(taint, "enabled", default=default.enabled),
        on_tainted_argument=optional_text(taint, "on_tainted_argument") or default.on_tainted_argument,
        min_length=int(optional_text(taint, "min_length") or default.min_length),
        sources=texts(taint, "sources", default.sources),
        sinks=texts(taint, "sinks", default.sinks),
        trusted_tools=texts(taint, "trusted_tools"),
        ignore_fields=texts(taint, "ignore_fields"),
    )


def _redaction(document: Table, building: Building) -> RedactionSettings:
    redaction = document.table("redaction")
    patterns: list[tuple[str, str]] = []
    for index, item in enumerate(redaction.items("patterns")):
        if isinstance(item, Table):
            regex = item.entries["regex"].value
            wrong = _wrong_regex(text_of(regex))
            if wrong:
                building.note(regex.position, "wrong_regex", wrong, ("redaction", "patterns", index, "regex"))
            patterns.append((text_of(item.get("name")) or "secret", text_of(regex)))
    return RedactionSettings(
        enabled=flag(redaction, "enabled", default=True),
        builtin=flag(redaction, "builtin", default=True),
        patterns=tuple(patterns),
    )


def _wrong_regex(expression: str) -> str | None:
    try:
        matches = compile_regex(expression, whole=False)
    except ValueError as error:
        return str(error)
    return f"`{expression}` fits an empty text, so it would strike out everything" if matches("") else None


def digest_of(document: Document) -> str:
    """Give `sha256:HEX` over the canonical JSON of what the document says."""
    content = plain_table(document.table.without("imports", "tests"))
    content["version"] = _ORIGINAL_VERSION if document.is_original else VERSION
    tools = content.get("tools")
    if isinstance(tools, dict):
        content["tools"] = {key: _long_form(rule) for key, rule in tools.items()}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _long_form(rule: Json) -> Json:
    return {"decision": rule} if isinstance(rule, str) else rule
