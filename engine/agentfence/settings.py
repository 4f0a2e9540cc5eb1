"""What a person may set, in one table: mitmproxy options, command-line flags, environment variables.

A value comes from the command line (or mitmproxy's options), else from the environment, else from
the default. Every value is text until it is read here, and a bad one names itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import UsageError
from agentfence.core.gate_settings import DenyAs, GateSettings, OnBatch, OnUnparsed
from agentfence.core.policy.model import Mode
from agentfence.core.values import frozen
from agentfence.reporting import LogFormat, LogLevel

if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT_PREFIX = "AGENTFENCE_"
TRACEBACK = "AGENTFENCE_TRACEBACK"
"""Set to anything, it has the fence print where in its code it failed."""
_IN_NO_HOST = "/*@?# "
APPROVERS = ("intercept", "tty", "queue", "deny")


@frozen
class Option:
    """One thing that can be set."""

    name: str
    """As `max_body`: the mitmproxy option is `agentfence_max_body`, the flag `--max-body`, the
    variable `AGENTFENCE_MAX_BODY`."""
    default: str
    """As it is shown; empty where the default depends on more than a value."""
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    on_relay: bool = True
    on_http: bool = True

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return ENVIRONMENT_PREFIX + self.name.upper()

    @property
    def host_option(self) -> str:
        """The mitmproxy option."""
        return "agentfence_" + self.name


OPTIONS = (
    Option(
        "policy",
        "",
        "the policy file, or a packaged policy as agentfence:NAME; without it policy.yaml in your "
        "configuration folder for agentfence, else the built-in default",
        "FILE",
    ),
    Option(
        "watch_policy",
        "false",
        "load the policy again when its file, or one that it imports, has changed",
        choices=("true", "false"),
    ),
    Option(
        "lock",
        "",
        "the lock file that `pins:` holds tools to; default: agentfence.lock beside the policy file",
        "FILE",
    ),
    Option(
        "mode",
        "",
        "enforce carries verdicts out, observe only records them; default: the policy's mode, else enforce",
        choices=("enforce", "observe"),
    ),
    Option("on_batch", "reject", "what happens to JSON arrays", choices=("reject", "evaluate")),
    Option(
        "on_unparsed",
        "reject",
        "what happens to HTTP bodies that are no JSON-RPC message",
        choices=("reject", "forward"),
        on_relay=False,
    ),
    Option("max_body", "4194304", "the largest message of an agent, in bytes", "BYTES"),
    Option("max_batch", "100", "the most members of a JSON array", "COUNT"),
    Option("max_answer", "67108864", "the largest answer, event or line of a server, in bytes", "BYTES"),
    Option(
        "approver",
        "",
        "who is asked: intercept (mitmweb or the console), tty, queue (`agentfence approvals`), or deny",
        choices=APPROVERS,
    ),
    Option(
        "approval_timeout",
        "50",
        "how long a question waits before it counts as denied, in seconds",
        "SECONDS",
    ),
    Option("deny_as", "error", "how a denied tools/call is answered", choices=("error", "result")),
    Option(
        "audit_log",
        "",
        "the audit log; default: one file a run in your state folder for agentfence; none switches it off",
        "FILE",
    ),
    Option("tamper_evident", "true", "chain the lines of the audit log by hashes", choices=("true", "false")),
    Option(
        "audit_fsync",
        "false",
        "have each event on the disk before its message goes on",
        choices=("true", "false"),
    ),
    Option(
        "audit_max_size", "", "close the audit log at this size and begin the next; default: never", "BYTES"
    ),
    Option(
        "audit_max_age",
        "",
        "close the audit log this long after its first event; default: never",
        "SECONDS",
    ),
    Option("audit_keep", "", "how many closed audit logs stay; default: all", "COUNT"),
    Option("audit_sign_key", "", "sign the audit log with this key of `agentfence audit keygen`", "FILE"),
    Option(
        "allowed_hosts",
        "",
        "further values of the Host header, separated by commas, besides loopback names and the listener's",
        "HOSTS",
        on_relay=False,
    ),
    Option(
        "allowed_origins",
        "",
        "further values of the Origin header, separated by commas",
        "ORIGINS",
        on_relay=False,
    ),
    Option(
        "log_level",
        "normal",
        "what is said on the terminal: quiet only problems, normal also decisions, verbose all of them",
        choices=tuple(LogLevel),
    ),
    Option("log_format", "text", "how it is said: a line of text or of JSON", choices=tuple(LogFormat)),
    Option(
        "keep_flows",
        "2000",
        "how many flows mitmweb and the console keep; the oldest that have ended go first",
        "COUNT",
        on_relay=False,
    ),
    Option("server", "", "the policy's name for the server; default: by `servers:`", "NAME", on_http=False),
)


@frozen
class Settings:
    """Everything that was set, read and checked."""

    gate: GateSettings
    policy: str | None = None
    """As the option says; the variable is `find_policy`'s, so that the start line can name it."""
    watches_policy: bool = False
    lock: str | None = None
    """None: beside the policy file."""
    approver: str | None = None
    """None: what suits the surface."""
    approval_timeout: float = 50.0
    audit_log: str | None = None
    """None: the state folder; `none`: no log."""
    tamper_evident: bool = True
    audit_fsync: bool = False
    audit_max_size: int | None = None
    audit_max_age: float | None = None
    audit_keep: int | None = None
    audit_sign_key: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    keep_flows: int = 2_000
    server: str | None = None
    log_level: LogLevel = LogLevel.NORMAL
    log_format: LogFormat = LogFormat.TEXT


def read_settings(given: Mapping[str, str | None], environment: Mapping[str, str]) -> Settings:
    """Give the settings for options by name (None or absent: not given) and the environment.

    Raises:
        UsageError: A value that cannot be used; the text names the option, what was expected and
            what came.

    """
    values = {option.name: _value(option, given, environment) for option in OPTIONS}
    names = {option.name: _source(option, given) for option in OPTIONS}

    def positive(name: str) -> int:
        return _positive(values[name] or "", names[name])

    return Settings(
        gate=GateSettings(
            max_body=positive("max_body"),
            max_batch=positive("max_batch"),
            max_answer=positive("max_answer"),
            on_batch=OnBatch(values["on_batch"] or "reject"),
            on_unparsed=OnUnparsed(values["on_unparsed"] or "reject"),
            deny_as=DenyAs(values["deny_as"] or "error"),
            mode=Mode(values["mode"]) if values["mode"] else None,
        ),
        policy=given.get("policy"),
        watches_policy=values["watch_policy"] == "true",
        lock=values["lock"],
        approver=values["approver"],
        approval_timeout=_seconds(values["approval_timeout"] or "", names["approval_timeout"]),
        audit_log=values["audit_log"],
        tamper_evident=values["tamper_evident"] != "false",
        audit_fsync=values["audit_fsync"] == "true",
        audit_max_size=positive("audit_max_size") if values["audit_max_size"] else None,
        audit_max_age=float(positive("audit_max_age")) if values["audit_max_age"] else None,
        audit_keep=positive("audit_keep") if values["audit_keep"] else None,
        audit_sign_key=values["audit_sign_key"],
        allowed_hosts=_hosts(values["allowed_hosts"], names["allowed_hosts"]),
        allowed_origins=_origins(values["allowed_origins"], names["allowed_origins"]),
        keep_flows=positive("keep_flows"),
        server=values["server"],
        log_level=LogLevel(values["log_level"] or "normal"),
        log_format=LogFormat(values["log_format"] or "text"),
    )


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Give the variables that look like ours and set nothing, as misspelt ones do."""
    known = {TRACEBACK, *(option.variable for option in OPTIONS)}
    return sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX) and name not in known)


def meant_variable(name: str) -> str | None:
    """Give the variable that a misspelt one is meant for; None where none is like it."""
    from difflib import get_close_matches  # only mistakes need it

    word, known = name.removeprefix(ENVIRONMENT_PREFIX).lower(), [option.name for option in OPTIONS]
    close = get_close_matches(word, known, 1, 0.7)
    return f"{ENVIRONMENT_PREFIX}{close[0].upper()}" if close else None


def _value(option: Option, given: Mapping[str, str | None], environment: Mapping[str, str]) -> str | None:
    text, source = given.get(option.name), _source(option, given)
    if text is None:
        text = environment.get(option.variable)
    if text is None:
        return option.default or None
    if not text.strip():
        raise UsageError(f"{source} is empty: give it a value, or leave it out")
    if option.choices and text not in option.choices:
        raise UsageError(f"{source} must be {_any_of(option.choices)}, not `{text}`")
    return text


def _source(option: Option, given: Mapping[str, str | None]) -> str:
    """Give what a value is called that cannot be used."""
    return option.variable if given.get(option.name) is None else option.name


def _positive(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:18]) > 0 and len(text) <= 15):
        raise UsageError(f"{name} must be a whole number above 0, not `{text}`")
    return int(text)


def _seconds(text: str, name: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise UsageError(f"{name} must be a number of seconds above 0 and at most 86400, not `{text}`")
    return seconds


def _hosts(text: str | None, name: str) -> tuple[str, ...]:
    hosts = _list(text)
    for host in hosts:
        if any(sign in host for sign in _IN_NO_HOST):
            raise UsageError(f"{name} takes hosts as `fence.example.com`, not `{host}`")
    return hosts


def _origins(text: str | None, name: str) -> tuple[str, ...]:
    origins = _list(text)
    for origin in origins:
        scheme, _, host = origin.rstrip("/").partition("://")
        if origin != "null" and (not (scheme and host) or any(sign in host for sign in _IN_NO_HOST)):
            raise UsageError(f"{name} takes origins as `https://app.example.com`, not `{origin}`")
    return origins


def _list(text: str | None) -> tuple[str, ...]:
    return tuple(entry.strip() for entry in (text or "").split(",") if entry.strip())


def _any_of(choices: tuple[str, ...]) -> str:
    return " or ".join(f"`{choice}`" for choice in choices)
