"""The policy language, version 1: every key, what it may hold, and a sentence for editors.

What a key means is said in docs/policy-language.md; what cannot be said of one value alone (patterns,
regexes, names that must exist) is held by `compile.py` and by each constraint's `build`.
"""

from __future__ import annotations

from agentfence.core.policy.model import NOT_IN_SERVER_NAMES
from agentfence.core.policy.shapes import (
    AnyTable,
    Anything,
    Choice,
    Constant,
    Either,
    Flag,
    Key,
    Keys,
    ListOf,
    Names,
    Number,
    Reserved,
    Shape,
    Text,
    Whole,
)

VERSION = "1"

_WILDCARDS = "*?[\\"
_VERDICT = Choice(("allow", "deny", "ask"))
_PATTERN = Text("a pattern")
_PATTERNS = ListOf(_PATTERN)
_FIELDS = Key(
    ListOf(Text("a field")),
    "The arguments to look at: `a`, `a.b`, `a[*].b`, or `**` for every text at any depth.",
)
_OPTIONAL = Key(Flag(), "false: a call that has none of the fields passes this block. Default true.")


def _block(keys: dict[str, Key]) -> Shape:
    """Give the shape of a constraint's kind: one block, or a list of blocks that must all hold."""
    block = Keys(keys, "a block")
    return Either((block, ListOf(block)))


_PATHS = _block(
    {
        "fields": _FIELDS,
        "required": _OPTIONAL,
        "roots": Key(
            ListOf(Text("a folder")),
            "Folders that the paths must stay in; relative ones start at the policy file's folder. "
            "Without it only relative paths pass.",
        ),
        "allow": Key(_PATTERNS, "Paths below the root that may be used; without it, all of them."),
        "deny": Key(_PATTERNS, "Paths that may not be used, whatever `allow` says."),
        "follow_links": Key(
            Flag(), "Whether links on the disk that is shared with the server are resolved before judging."
        ),
    }
)
_HOSTS = Key(
    Either((Choice(("named", "public", "any")), ListOf(Text("a host or a network")))),
    "Which hosts may be meant: public names (the default), public addresses too, any, or these.",
)
_URLS = _block(
    {
        "fields": _FIELDS,
        "required": _OPTIONAL,
        "allow": Key(_PATTERNS, "URL patterns that may be used: `https://api.example.com/**`."),
        "deny": Key(_PATTERNS, "URL patterns that may not be used, whatever `allow` says."),
        "hosts": _HOSTS,
    }
)
_ELICITATION = Keys(
    {
        "allow": Key(_PATTERNS, "URL patterns that people may be sent to; https alone counts."),
        "deny": Key(_PATTERNS, "URL patterns that they may not be sent to, whatever `allow` says."),
        "hosts": _HOSTS,
    }
)
_COMMAND = _block(
    {
        "fields": _FIELDS,
        "required": _OPTIONAL,
        "argv": Key(ListOf(Text("a field")), "Fields that make up one command, word by word."),
        "allow": Key(_PATTERNS, "Whole commands that may run, compared word by word."),
        "allow_executables": Key(ListOf(Text("a program")), "Programs that may run."),
        "deny_patterns": Key(_PATTERNS, "Patterns that no command, nor any part of a command line, may fit."),
        "syntax": Key(
            Choice(("none", "pipes", "any")),
            "How much of the shell's grammar may be used: quoted words alone, pipelines, or all of it.",
        ),
        "shell": Key(
            Choice(("any", "posix")),
            "Which shell the server has: one of any kind (the default), or one of the POSIX family.",
        ),
    }
)
_ARGS = Names(
    Keys(
        {
            "required": Key(Flag(), "Whether the field must be there. Default true."),
            "allow": Key(_PATTERNS, "Patterns of which the value must fit one."),
            "deny": Key(_PATTERNS, "Patterns of which the value may fit none."),
            "equals": Key(Anything(), "The one value that the field may have."),
            "in": Key(ListOf(Anything()), "The values that the field may have."),
            "regex": Key(Text("a regular expression"), "An RE2 expression that the whole value must fit."),
            "type": Key(
                Choice(("string", "integer", "number", "boolean", "array", "object", "null")),
                "The JSON type that the value must have.",
            ),
            "min": Key(Number(), "The least number."),
            "max": Key(Number(), "The greatest number."),
            "max_length": Key(Whole(), "The most characters of a text."),
        },
        "a block",
    ),
    Text("a field"),
    least=1,
)
_MEMORY_WRITE = _block(
    {
        "max_scope": Key(
            Choice(("session", "project", "global")), "The widest `scope` that may be written to."
        ),
        "max_sensitivity": Key(
            Choice(("low", "medium", "high")), "The highest `sensitivity` that may be written."
        ),
        "max_bytes": Key(Whole(), "The most bytes of all payload fields together."),
        "payload_fields": Key(
            ListOf(Text("a field")), "The fields that are written. Default: value and content."
        ),
    }
)
_RATE = Keys(
    {
        "limit": Key(Whole(1, 1_000_000), "How many calls.", is_required=True),
        "per": Key(Choice(("second", "minute", "hour", "day")), "In which sliding window.", is_required=True),
    }
)
_CONSTRAINTS = Keys(
    {
        "schema": Key(AnyTable(), "A JSON Schema that all arguments together must fit; local `$ref` only."),
        "paths": Key(_PATHS, "Which files the call may name."),
        "args": Key(Either((_ARGS, ListOf(_ARGS))), "What single arguments may hold."),
        "urls": Key(_URLS, "Which URLs the call may name."),
        "command": Key(_COMMAND, "Which commands the call may run."),
        "memory_write": Key(_MEMORY_WRITE, "What may be written to an agent's memory."),
        "rate": Key(_RATE, "How many calls may go through this rule, per session."),
    },
    "a mapping with at least one constraint",
    least=1,
)
_RULE = Keys(
    {
        "decision": Key(
            _VERDICT, "What happens to a call that every constraint lets pass.", is_required=True
        ),
        "constraints": Key(_CONSTRAINTS, "What must hold of the arguments; a call that fails is denied."),
        "otherwise": Key(
            Choice(("ask",)), "Ask instead of denying when only an allow list does not cover the call."
        ),
        "message": Key(Text(), "What people and agents are told when this rule decides."),
        "expires": Key(Text("a date or a time"), "From this date or RFC 3339 time on (UTC) the rule denies."),
        "remember": Key(Choice(("call", "tool")), "What an approval holds for, until the session ends."),
        "taint": Key(Flag(), "false: taint is not looked at for calls under this rule."),
        "when": Key(Reserved(), "Reserved."),
        "results": Key(Reserved(), "Reserved."),
    },
    "a rule",
)
_SUBJECT = {
    "tool": Key(Text("a tool"), "The tool that is called."),
    "arguments": Key(AnyTable(), "The arguments of the call."),
    "server": Key(Text("a server"), "The server that is talked to, as `servers` names it."),
    "method": Key(Text("a method"), "The method of a message that is no call."),
    "uri": Key(Text("a URI"), "The resource that is read."),
    "prompt": Key(Text("a prompt"), "The prompt that is got."),
    "expect": Key(
        Either(
            (
                _VERDICT,
                Keys(
                    {
                        "decision": Key(_VERDICT, "What the policy must say.", is_required=True),
                        "rule": Key(Text("a rule"), "The rule that must have decided."),
                        "reason_code": Key(Text("a reason code"), "The reason code that must be given."),
                    }
                ),
            )
        ),
        "What the policy must say.",
    ),
}
_STEP = Keys(
    {
        **_SUBJECT,
        "after": Key(Whole(0, 31_536_000), "How many seconds pass before this step. Default 0."),
        "answer": Key(
            Choice(("allow", "deny", "remember")),
            "What a person says when asked; `remember` allows it for the session. Default deny.",
        ),
        "result": Key(
            Either((Text("a text"), AnyTable())),
            "What the server answers when the message goes on: a text, or a whole result.",
        ),
    },
    "a step",
)
_TEST = Keys(
    {
        "id": Key(Text(), "The test's name; no two are alike.", is_required=True),
        **_SUBJECT,
        "time": Key(Text("a date or a time"), "When it takes place. Default: now."),
        "steps": Key(ListOf(_STEP), "Messages of one session, one after another, each with its `expect`."),
    },
    "a test",
)
TESTS = ListOf(_TEST)
"""A list of tests, in a policy or in a file of its own."""

LANGUAGE = Keys(
    {
        "version": Key(
            Either((Choice((VERSION,)), Constant(int(VERSION))), f'version "{VERSION}"'),
            "The language's version.",
            is_required=True,
        ),
        "imports": Key(
            ListOf(Text("a file, or agentfence:NAME")),
            "Policies that this one builds on: files inside this file's folder, or packaged ones.",
        ),
        "mode": Key(Choice(("enforce", "observe")), "Whether verdicts are carried out. Default enforce."),
        "defaults": Key(
            Keys(
                {
                    "decision": Key(_VERDICT, "For tools that no rule covers. Default deny."),
                    "methods": Key(_VERDICT, "For methods that are not listed. Default allow."),
                }
            ),
            "What holds where nothing else is said; only the root file's counts.",
        ),
        "servers": Key(
            Names(
                Keys(
                    {
                        "url": Key(Text("a URL pattern"), "The server's MCP endpoint."),
                        "command": Key(
                            ListOf(Text("a word")),
                            "The server's command line, pattern by pattern; `**` is any number of words.",
                        ),
                    },
                    "a server with `url` or `command`",
                    least=1,
                ),
                Text("a server's name", without=NOT_IN_SERVER_NAMES),
            ),
            "The servers by name, so that rules can say `server/tool`.",
        ),
        "groups": Key(
            Names(ListOf(Text("a tool or a pattern")), Text("a group's name", without="/" + _WILDCARDS)),
            "Named lists of tools and patterns; a rule with the group's name under `tools` makes them count.",
        ),
        "forbid": Key(
            ListOf(
                Keys(
                    {
                        "tools": Key(
                            ListOf(Text("a tool or a pattern")), "What is forbidden.", is_required=True
                        ),
                        "message": Key(Text(), "What people and agents are told."),
                    }
                )
            ),
            "Tools that nothing allows, here or in a policy that imports this one.",
        ),
        "tools": Key(
            Names(Either((_VERDICT, _RULE)), Text("a tool, a group or a pattern")),
            "The rules: by tool, by group, by pattern.",
        ),
        "methods": Key(
            Names(_VERDICT, Text("a method's name", without=_WILDCARDS)),
            "Decisions on messages that are no tool calls, by method.",
        ),
        "resources": Key(Names(_VERDICT, _PATTERN), "Decisions on resources, by URL pattern."),
        "prompts": Key(Names(_VERDICT, _PATTERN), "Decisions on prompts, by pattern of the name."),
        "taint": Key(
            Keys(
                {
                    "enabled": Key(Flag(), "Whether texts of results are remembered. Default false."),
                    "on_tainted_argument": Key(
                        Choice(("escalate", "deny")), "Ask about a call that uses such a text, or deny it."
                    ),
                    "min_length": Key(Whole(1), "The fewest characters that count. Default 12."),
                    "sources": Key(_PATTERNS, "Tools whose results taint. Default all."),
                    "sinks": Key(_PATTERNS, "Tools whose calls are looked at. Default all."),
                    "trusted_tools": Key(ListOf(_PATTERN, least=0), "Tools whose results never taint."),
                    "ignore_fields": Key(
                        ListOf(Text("a field"), least=0), "Arguments that are not looked at."
                    ),
                }
            ),
            "Following text from results into later calls.",
        ),
        "redaction": Key(
            Keys(
                {
                    "enabled": Key(Flag(), "Whether secrets are struck out. Default true."),
                    "builtin": Key(Flag(), "Whether the built-in patterns are used. Default true."),
                    "patterns": Key(
                        ListOf(
                            Keys(
                                {
                                    "name": Key(
                                        Text(), "What is written in the secret's place.", is_required=True
                                    ),
                                    "regex": Key(
                                        Text("a regular expression"), "An RE2 expression.", is_required=True
                                    ),
                                }
                            )
                        ),
                        "Further secrets.",
                    ),
                }
            ),
            "What is struck out of everything that is written or shown.",
        ),
        "audit": Key(
            Keys(
                {
                    "format": Key(Choice(("jsonl",)), "How events are written."),
                    "include_redacted_arguments": Key(
                        Flag(), "Whether arguments are written, redacted. Default false."
                    ),
                    "on_failure": Key(
                        Choice(("deny", "warn")),
                        "What happens to a message that cannot be recorded. Default deny.",
                    ),
                }
            ),
            "What the audit log holds.",
        ),
        "unlisted": Key(
            Choice(("inspect", "block", "pass")),
            "MCP with hosts that `servers` does not name. Default inspect.",
        ),
        "hide_denied": Key(
            Flag(), "Whether tools that are always denied are left out of lists. Default true."
        ),
        "pins": Key(
            Choice(("off", "observe", "require")), "Hold tool definitions to the lock file. Default off."
        ),
        "tunnel": Key(ListOf(Text("a host")), "Hosts whose TLS is passed on unread and unfenced."),
        "validate_arguments": Key(Flag(), "Hold arguments to the tool's own input schema. Default false."),
        "elicitation": Key(
            _ELICITATION, "Where servers may send people to: `elicitation/create` with a URL."
        ),
        "tests": Key(TESTS, "Calls and what must become of them; `agentfence test` runs them."),
        "when": Key(Reserved(), "Reserved."),
        "results": Key(Reserved(), "Reserved."),
    },
    "a policy",
)
"""A whole policy file."""
