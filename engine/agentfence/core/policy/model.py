"""A policy, compiled: what the engine asks, with nothing left to parse.

`compile.py` makes it from the document that `reader.py` and `imports.py` give. Everything here is
immutable; what changes during a run (rates, approvals, taint) lives in the session.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from agentfence.core.values import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.constraints.globs import Glob
    from agentfence.core.constraints.interface import Constraint, Json
    from agentfence.core.errors import Place
    from agentfence.core.policy.lookup import ToolTable


class Verdict(StrEnum):
    """What a policy says of a message."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class Mode(StrEnum):
    """Whether verdicts are carried out."""

    ENFORCE = "enforce"
    OBSERVE = "observe"


class Unlisted(StrEnum):
    """What happens to MCP traffic with hosts that `servers:` does not name."""

    INSPECT = "inspect"
    BLOCK = "block"
    PASS = "pass"  # noqa: S105 - a word of the policy language


class Pins(StrEnum):
    """How tool definitions are held to the lock file."""

    OFF = "off"
    OBSERVE = "observe"
    REQUIRE = "require"


class RuleKind(StrEnum):
    """How a rule was found; `DEFAULT` when none was."""

    EXACT = "exact"
    GROUP = "group"
    WILDCARD = "wildcard"
    DEFAULT = "default"
    FORBID = "forbid"


@frozen
class RateLimit:
    """At most `limit` calls in any `window_seconds`, per session and rule."""

    limit: int
    window_seconds: int


@frozen
class Rule:
    """One entry of `tools:` (or of `resources:`, `prompts:`, `forbid:`), or the default."""

    name: str
    """The key as written: a tool, a group, a pattern; `defaults.decision` for the default."""
    kind: RuleKind
    decision: Verdict
    place: Place | None = None
    constraints: tuple[Constraint, ...] = ()
    """In the order in which they are checked; `rate` is kept apart."""
    rate: RateLimit | None = None
    message: str | None = None
    otherwise: Verdict | None = None
    """`Verdict.ASK`: when only an allow list fails, ask instead of deny."""
    expires: float | None = None
    """Seconds since 1970 (UTC) from which on the rule no longer allows."""
    remember: str | None = None
    """`call` or `tool`: for what an approval holds for the rest of the session."""
    taint: bool = True

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@frozen
class Forbid:
    """One entry of `forbid:`: checked before everything, and nothing undoes it."""

    name: str
    """`forbid[0]`, by its position."""
    tools: tuple[Glob, ...]
    """Patterns with `/` match `server/tool`, others the bare name."""
    patterns: tuple[str, ...]
    message: str | None
    place: Place


NOT_IN_SERVER_NAMES = "/*?[\\"
"""What patterns and qualified names are written with."""


@frozen
class Server:
    """One entry of `servers:`."""

    name: str
    url: str | None = None
    """A URL or URL pattern: what HTTP traffic belongs to it."""
    command: tuple[str, ...] | None = None
    """Patterns, word by word (`**` any number of words): which child process it is."""
    place: Place | None = None


class Matcher(Protocol):
    """Says whether a value is covered: a glob, a URL pattern, a path pattern."""

    def matches(self, value: str, /) -> bool:
        """Whether `value` is covered; False for what it cannot read."""
        ...


@frozen
class PatternRule:
    """A decision on a resource or a prompt."""

    pattern: str
    decision: Verdict
    matches: Matcher
    place: Place | None = None


@frozen
class TaintSettings:
    """The `taint:` section."""

    enabled: bool = False
    on_tainted_argument: str = "escalate"
    min_length: int = 12
    sources: tuple[str, ...] = ("**",)
    sinks: tuple[str, ...] = ("**",)
    trusted_tools: tuple[str, ...] = ()
    ignore_fields: tuple[str, ...] = ()


@frozen
class RedactionSettings:
    """The `redaction:` section."""

    enabled: bool = True
    builtin: bool = True
    patterns: tuple[tuple[str, str], ...] = ()


@frozen
class AuditSettings:
    """The `audit:` section."""

    include_redacted_arguments: bool = False
    on_failure: str = "deny"


@frozen
class TestStep:
    """One message of a test, and what must become of it."""

    __test__ = False

    expect: Verdict
    tool: str | None = None
    server: str | None = None
    arguments: Mapping[str, Json] = field(default_factory=dict)
    rule: str | None = None
    """The rule that must have decided."""
    reason_code: str | None = None
    method: str | None = None
    uri: str | None = None
    prompt: str | None = None
    after: int = 0
    """Seconds that pass before it."""
    answer: str | None = None
    """`allow`, `deny` or `remember`: what a person says when asked."""
    result: str | Mapping[str, Json] | None = None
    """What the server answers when it goes on."""
    place: Place | None = None


@frozen
class TestCase:
    """One entry of `tests:`: one message, or several of one session."""

    __test__ = False

    id: str
    steps: tuple[TestStep, ...]
    is_single: bool = True
    """False for an entry that is written with `steps:`."""
    time: float | None = None
    """When it takes place; None: now."""
    place: Place | None = None


@frozen
class Policy:
    """A whole policy, as the engine uses it."""

    digest: str
    """`sha256:HEX` over the resolved document: changes exactly when its meaning may change."""
    file: str
    tools: ToolTable
    default: Rule
    version: str = "1"
    mode: Mode = Mode.ENFORCE
    forbid: tuple[Forbid, ...] = ()
    servers: tuple[Server, ...] = ()
    """In order of precedence: the first that covers a URL or a command is meant."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    methods: Mapping[str, Verdict] = field(default_factory=dict)
    methods_default: Verdict = Verdict.ALLOW
    resources: tuple[PatternRule, ...] | None = None
    """In order: the first that covers decides. None: the policy has no `resources:` section."""
    prompts: tuple[PatternRule, ...] | None = None
    taint: TaintSettings = TaintSettings()
    redaction: RedactionSettings = RedactionSettings()
    audit: AuditSettings = AuditSettings()
    unlisted: Unlisted = Unlisted.INSPECT
    hide_denied: bool = True
    pins: Pins = Pins.OFF
    tunnel: tuple[str, ...] = ()
    """Hosts whose TLS is passed on undecrypted."""
    validate_arguments: bool = False
    elicitation: Constraint | None = None
    """What holds the `url` of an `elicitation/create`; None: what holds it without a section."""
    tests: tuple[TestCase, ...] = ()
