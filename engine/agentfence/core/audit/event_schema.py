"""The schema of audit events, field by field; `event.schema.json` beside this module is made from it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agentfence.core.record import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    type Schema = dict[str, Any]


def _text(description: str, **more: object) -> Schema:
    return {"type": "string", "description": description, **more}


def _one_of(description: str, *words: str) -> Schema:
    return {"enum": list(words), "description": description}


def _number(description: str, minimum: int = 0) -> Schema:
    return {"type": "integer", "minimum": minimum, "description": description}


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}


def _hash(description: str) -> Schema:
    return _text(description, pattern="^[0-9a-f]{64}$")


def _digest(description: str) -> Schema:
    return _text(description, pattern="^sha256:[0-9a-f]{64}$")


_COMMON: Schema = {
    "schema_version": {"const": SCHEMA_VERSION, "description": "The version of this schema."},
    "session_id": _text("The run of the fence that wrote the event."),
    "seq": _number("The number of the event in its run.", 1),
    "timestamp": _text("When, UTC, to the microsecond.", format="date-time"),
    "prev_hash": _hash("The `hash` of the line before; absent on the first line of a log."),
    "hash": _hash('SHA-256 of the line up to `,"hash":`; absent in a log without a chain.'),
    "signature": _text("Ed25519 over the hash, in base64; in a signed log.", pattern="^[A-Za-z0-9+/]{86}==$"),
}
_ABOUT_MESSAGE: Schema = {
    "call_id": _text("The name that the answer, the question and the log share."),
    "transport": _one_of("How it came.", "http", "stdio", "offline"),
    "server": _or_null(_text("The policy's name for the server.")),
    "client": _text("The agent."),
    "direction": _one_of("Where it was to go.", "to_server", "to_client"),
}
_OPTIONAL: Schema = {
    "request_id": {"type": ["string", "number"], "description": "The JSON-RPC id, with its type."},
    "method": _text("The JSON-RPC method."),
    "tool": _text("The name of the tool that is called."),
}
_POLICY_DIGEST = _digest("Which policy was in force, its imports included.")
_APPROVAL: Schema = {
    "type": "object",
    "description": "What came of asking a person.",
    "properties": {
        "outcome": _one_of(
            "What was said.",
            "approved",
            "denied",
            "timeout",
            "cancelled",
            "edited",
            "io_error",
            "no_approver",
            "queue_full",
        ),
        "approver": _one_of("How it was asked.", "tty", "queue", "intercept", "deny", "session", "client"),
        "by": _or_null(_text("Who answered, where that is known.")),
        "waited_ms": _number("How long it took."),
        "holds_for": _one_of("For what the approval holds for the session, where it does.", "call", "tool"),
        "given": {
            "type": "object",
            "description": "How a remembered approval was given.",
            "properties": {
                "approver": _one_of("How it was asked.", "tty", "queue", "intercept"),
                "timestamp": _text("When it was given, UTC."),
                "call_id": _text("The call that was asked about."),
            },
            "required": ["approver", "timestamp", "call_id"],
            "additionalProperties": False,
        },
    },
    "required": ["outcome", "approver", "by", "waited_ms"],
    "additionalProperties": False,
}
_VERDICT = _one_of("The policy's word.", "allow", "deny", "ask")
_DECISION = _one_of("What was carried out; `ask` only offline.", "allow", "deny", "ask")
_CODE = _text("The reason, as a stable word.", pattern="^[a-z][a-z_]*$")
_REASON = _text("One sentence.")
_RULE = _or_null(_text("The rule that decided."))
_MODE = _one_of("Whether verdicts are carried out.", "enforce", "observe", "audit_only", "dry_run")

_APPROVERS = ("tty", "queue", "intercept", "deny")

_KINDS: Mapping[str, tuple[str, Schema, Schema]] = {
    "judged": (
        "A message that was put to the policy, before it goes on.",
        {
            **_ABOUT_MESSAGE,
            "verdict": _VERDICT,
            "decision": _DECISION,
            "reason_code": _CODE,
            "reason": _REASON,
            "rule": _RULE,
            "mode": _MODE,
            "revision": _text("The revision of MCP under which it was judged."),
            "policy_digest": _POLICY_DIGEST,
        },
        {
            **_OPTIONAL,
            "approval": _APPROVAL,
            "overruled": {**_APPROVAL, "description": "What a person had said, where it does not count."},
            "action_digest": _digest("SHA-256 of the exact bytes that were judged."),
            "arguments": {"description": "The arguments or params, redacted; where the policy says so."},
        },
    ),
    "refused": (
        "A message that never came before the policy.",
        {
            **_ABOUT_MESSAGE,
            "verdict": {"const": "deny", "description": "Always deny."},
            "decision": {"const": "deny", "description": "Always deny."},
            "reason_code": _CODE,
            "reason": _REASON,
            "rule": {"type": "null", "description": "No rule decided."},
            "policy_digest": _POLICY_DIGEST,
        },
        {**_OPTIONAL, "mode": _MODE},
    ),
    "answered": (
        "What came of a call that was sent on; `call_id` is its call's.",
        {
            **_ABOUT_MESSAGE,
            "request_id": _OPTIONAL["request_id"],
            "status": _one_of(
                "What was answered; nothing, where the server cannot be reached or went away.",
                *("result", "tool_error", "error", "unanswered", "unread"),
            ),
            "latency_ms": _or_null(_number("From sending the call on to its answer, where both are known.")),
        },
        {
            "method": _OPTIONAL["method"],
            "bytes": _number("The size of the message that holds it."),
            "error_code": {"type": "integer", "description": "The JSON-RPC code of an error."},
            "uncorrelated": {
                "const": True,
                "description": "A resumed stream brought it, and its call is not known.",
            },
            "http_status": _number("Of what passes as no message.", 100),
            "reason": _text("Why there is no answer."),
        },
    ),
    "noted": (
        "Something that a server returned, that people should know of and that went to the agent.",
        {
            **_ABOUT_MESSAGE,
            "reason_code": _CODE,
            "reason": _REASON,
            "policy_digest": _POLICY_DIGEST,
        },
        {
            "tool": _text("The name of the tool that it is about."),
            "digest": _digest("Of the tool's whole definition, as a lock file has it."),
            "origin": _text("Of a server over HTTP that the policy has no name for."),
        },
    ),
    "tunnel": (
        "A connection that passes undecrypted, as the policy says.",
        {
            "host": _text("Where to."),
            "decision": {"const": "allow", "description": "Always allow."},
            "rule": {"const": "tunnel", "description": "Always tunnel."},
            "policy_digest": _POLICY_DIGEST,
        },
        {},
    ),
    "run_started": (
        "A run of the fence begins, with this policy.",
        {
            "surface": _one_of("The way in.", "relay", "HTTP", "check"),
            "version": _text("Of AgentFence."),
            "mode": _MODE,
            "approver": _one_of("Who is asked; `none` where asking is left open.", *_APPROVERS, "none"),
            "policy": _text("How the policy was found."),
            "policy_digest": _POLICY_DIGEST,
        },
        {},
    ),
    "policy_reloaded": (
        "A changed policy comes into force in a run.",
        {
            "mode": _MODE,
            "policy": _text("How the policy was found."),
            "policy_digest": _digest("Which policy is in force from here on, its imports included."),
            "previous_policy_digest": _digest("Which one was until here."),
        },
        {},
    ),
    "run_ended": ("A run of the fence ends; missing where it was killed.", {}, {}),
    "audit_gap": (
        "Events that could not be written before this one.",
        {
            "lost": _number("How many.", 1),
            "since": _text("When the first was lost.", format="date-time"),
            "messages": _one_of("What became of their messages: `audit.on_failure`.", "refused", "sent on"),
            "reason": _REASON,
        },
        {},
    ),
    "log_repaired": (
        "The last line was not whole and was cut off.",
        {
            "reason": _REASON,
            "cut_bytes": _number("How many bytes were cut off.", 1),
            "cut_sha256": _hash("Their SHA-256."),
        },
        {},
    ),
    "log_replaced": (
        "The file was removed, replaced or cut short under its writer.",
        {"reason": _REASON, "lost_hash": _or_null(_hash("The last line that this run knew of."))},
        {},
    ),
    "log_rotated": (
        "The first line of a file that goes on from a closed one.",
        {"previous": _text("The name of the closed file.")},
        {},
    ),
    "segments_removed": (
        "Closed files that are removed after this line is written.",
        {
            "reason": _REASON,
            "segments": {"type": "array", "items": {"type": "string"}, "description": "Their names."},
            "last_hash": _or_null(_hash("Of the last line of the newest of them.")),
        },
        {},
    ),
}
KINDS = tuple(_KINDS)
"""Every kind of event there is."""


def event_schema() -> Schema:
    """Give the JSON Schema (2020-12) of an event of schema version 6."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An audit event of AgentFence",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in _KINDS],
        "$defs": {name: _kind(name, *parts) for name, parts in _KINDS.items()},
    }


def _kind(name: str, description: str, always: Schema, sometimes: Schema) -> Schema:
    kind = {"const": name, "description": "What it is about."}
    return {
        "type": "object",
        "description": description,
        "properties": {"kind": kind, **_COMMON, **always, **sometimes},
        "required": ["kind", "schema_version", "session_id", "seq", "timestamp", *always],
        "additionalProperties": False,
    }


def schema_text() -> str:
    """Give the schema as it is written to the package."""
    return json.dumps(event_schema(), indent=2) + "\n"
