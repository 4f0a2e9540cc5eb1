"""One run of the fence: policy, gate and audit log, put together for a surface."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from agentfence.audit.gaps import GapLog
from agentfence.audit.opening import open_log_of_run
from agentfence.audit.run_events import policy_reloaded, run_ended, run_started
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.effects import Ask, Record
from agentfence.core.errors import AgentFenceError, AuditError
from agentfence.core.pins import NOTHING_PINNED
from agentfence.core.policy.model import Mode, Pins
from agentfence.core.record import timestamp
from agentfence.core.redaction import build_redactor
from agentfence.core.visible import visible
from agentfence.policy_files import find_policy
from agentfence.policy_source import PolicySource
from agentfence.settings import TRACEBACK, meant_variable, unknown_variables
from agentfence.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentfence.audit.interface import AuditLog
    from agentfence.core.constraints.interface import LinkResolver
    from agentfence.core.effects import Effect, Effects, Event
    from agentfence.core.gate import Gate
    from agentfence.core.pins import Lock
    from agentfence.core.policy.model import Policy
    from agentfence.core.redaction import Redactor
    from agentfence.reporting import Reporter
    from agentfence.settings import Settings

    type Note = Callable[[Event], None]
    """Told of each audit event, as it counts."""

_SHOWN_NAMES = 10
"""Of a list in the line at the start."""


class Fence:
    """The gate of a run with what it needs from the world: the clock, the log, the disk."""

    def __init__(
        self,
        policy: Policy,
        settings: Settings,
        log: AuditLog,
        reporter: Reporter,
        resolve_links: LinkResolver | None,
        lock: Lock = NOTHING_PINNED,
        source: PolicySource | None = None,
    ) -> None:
        """Take everything that was opened; `resolve_links` where the server shares this disk.

        `source` gives the policy again when it was changed; without it the policy stays.
        """
        self.redactor = _redactor_of(policy)
        self.policy = policy
        self.settings = settings
        self.log = log
        self.report = reporter.problem
        self.tally = Tally()
        self._reporter = reporter
        self._lock = lock
        self._resolve_links = resolve_links
        self._source = source
        self._is_reload_owed = False

    @cached_property
    def gate(self) -> Gate:
        """What judges messages; it is loaded when it is first asked for, so that a server starts before."""
        from agentfence.core.engine import Engine
        from agentfence.core.gate import Gate

        return Gate(Engine(self.policy, self._lock), self.settings.gate, self.redactor)

    @property
    def mode(self) -> Mode:
        """Whether verdicts are carried out."""
        return self.settings.gate.mode or self.policy.mode

    def circumstances(self) -> Circumstances:
        """Give, for one message, what the core cannot know: the time, and the disk where it is shared."""
        return Circumstances(time.time(), self._resolve_links, Effort())

    def record(self, effects: Effects, began: int | None = None, note: Note | None = None) -> list[Effect]:
        """Write the events among `effects`, and give what is then left to carry out.

        `began` is what `time.perf_counter_ns` gave when the work on a message began; `note` is told
        of each event.
        """
        left = self._record(effects, note)
        if began is not None:
            self.tally.worked(time.perf_counter_ns() - began)
        return left

    def _record(self, effects: Effects, note: Note | None) -> list[Effect]:
        left: list[Effect] = []
        for effect in effects:
            if not isinstance(effect, Record):
                if isinstance(effect, Ask):
                    self._reporter.asked(effect.question)
                left.append(effect)
                continue
            try:
                self.log.append(effect.event)
            except AuditError as error:
                self.tally.error("audit_unwritable")
                self.report(str(error))
                if effect.pending is not None:
                    return self._record(self.gate.unrecorded(effect.pending), note)
            self.tally.count(effect.event)
            self._reporter.decided(effect.event)
            if note is not None:
                note(effect.event)
        return left

    def log_tunnel(self, host: str) -> None:
        """Write the event of a connection that passes undecrypted, as the policy says.

        Raises:
            AuditError: It cannot be written; then the connection must not pass.

        """
        event = {"kind": "tunnel", "timestamp": timestamp(time.time()), "host": host, "decision": "allow"}
        event = {**event, "rule": "tunnel", "policy_digest": self.policy.digest}
        self.log.append(event)
        self.tally.count(event)

    def log_start(self, surface: str, policy: str, approver: str) -> None:
        """Write the event of a run that begins: what is in force.

        Raises:
            AuditError: It cannot be written; then nothing may begin.

        """
        mode, redactor = self.mode.value, self.redactor
        self.log.append(
            run_started(
                surface, self.policy, policy, redactor, mode=mode, approver=approver, time=time.time()
            )
        )

    @property
    def policy_description(self) -> str:
        """The policy and how it was found, for people."""
        return self.policy.file if self._source is None else self._source.description

    @property
    def policy_has_changed(self) -> bool:
        """Whether the files of the policy changed since they were loaded, and have settled."""
        return self._source is not None and self._source.has_changed()

    def reload(self, prepare: Callable[[Policy], Callable[[], None]]) -> None:
        """Put the policy as its files have it now into force; one that cannot be used changes nothing.

        `prepare` makes what a surface needs of the new policy, and gives what to do once that is in
        force; it raises `UsageError` for a policy that this run cannot use.
        """
        if self._source is None:
            return
        try:
            policy, lock = self._source.load()
            if (policy.digest, lock) == (self.policy.digest, self._lock):
                self._reporter.changed("the policy was loaded again, and says the same")
                return
            adopt = prepare(policy)
            self._log_reload(policy, self._source.description)
        except AuditError as error:
            self._source.owe()
            if not self._is_reload_owed:  # said once: it is tried again and again
                self.tally.error("audit_unwritable")
                self.report(f"the policy in force stays until its change can be written: {error}")
            self._is_reload_owed = True
            return
        except Exception as error:  # noqa: BLE001 - a policy that cannot be read must not end the run
            self.tally.error("policy_refused")
            reason = str(error) if isinstance(error, AgentFenceError) else type(error).__name__
            self.report(f"the policy in force stays, as the changed one cannot be used: {reason}")
            return
        self._is_reload_owed = False
        self._adopt(policy, lock)
        adopt()
        self._reporter.changed(
            f"the policy was loaded again: {self._source.description}, {policy.digest[:19]}; mode {self.mode}"
        )

    def _log_reload(self, policy: Policy, description: str) -> None:
        mode, previous = (self.settings.gate.mode or policy.mode).value, self.policy.digest
        event = policy_reloaded(
            policy, description, self.redactor, mode=mode, previous=previous, time=time.time()
        )
        if isinstance(self.log, GapLog):
            self.log.attempt(event)
        else:
            self.log.append(event)

    def _adopt(self, policy: Policy, lock: Lock) -> None:
        from agentfence.core.engine import Engine

        self.policy, self.redactor, self._lock = policy, _redactor_of(policy), lock
        self.gate.adopt(Engine(policy, lock), self.redactor)
        if isinstance(self.log, GapLog):
            self.log.is_strict = policy.audit.on_failure == "deny"

    def summarize(self, *, is_asked_for: bool = True) -> None:
        """Say what was counted so far."""
        self._reporter.summary(self.tally, is_asked_for=is_asked_for)

    def close(self) -> None:
        """Say what was counted, write the event of a run that ends, and end the log."""
        self.summarize(is_asked_for=False)
        with suppress(AuditError):  # the end of a run needs no leave
            self.log.append(run_ended(time.time()))
        self.log.close()

    def report_failure(self, error: Exception) -> None:
        """Say that the fence itself failed; the message that it failed on is refused."""
        self.tally.error("internal_error")
        self.report(f"internal error, the message was refused: {type(error).__name__}")
        if os.environ.get(TRACEBACK):
            import traceback  # only who looks for a bug needs it

            traceback.print_exception(error)


def _redactor_of(policy: Policy) -> Redactor:
    redaction = policy.redaction
    return build_redactor(builtin=redaction.builtin, patterns=redaction.patterns, enabled=redaction.enabled)


def open_fence(
    settings: Settings,
    environment: Mapping[str, str],
    reporter: Reporter,
    *,
    surface: str,
    approver: str,
    resolve_links: LinkResolver | None = None,
) -> Fence:
    """Load the policy, open the audit log and say in one line what is in force.

    Raises:
        PolicyError: The policy cannot be used.
        UsageError: The lock file cannot.
        AuditError: The audit log cannot be opened.

    """
    found = find_policy(settings.policy, environment)
    source = PolicySource(found, settings.lock, environment, follow_links_default=resolve_links is not None)
    policy, lock = source.load()
    log = open_log_of_run(
        settings, environment, reporter.problem, is_strict=policy.audit.on_failure == "deny"
    )
    fence = Fence(policy, settings, log, reporter, resolve_links, lock, source)
    fence.log_start(surface, found.description, approver)
    in_force = [
        f"{surface}: policy {found.description}, {policy.digest[:19]}",
        f"mode {fence.mode}",
        f"approver {approver}",
        f"audit log {log.description}",
    ]
    hidden = _hidden_tools(fence, lock)
    if hidden:
        in_force.append(f"hidden tools {_some_of(hidden)}")
    if policy.tunnel and surface == "HTTP":
        in_force.append(f"UNFENCED: TLS to {_some_of(policy.tunnel)}")
    reporter.start("; ".join(in_force))
    if policy.pins is Pins.REQUIRE and not lock.servers and fence.mode is Mode.ENFORCE:
        reporter.problem(
            "`pins: require` refuses every tool, as none is pinned yet: `agentfence pin` pins them"
        )
    for name in unknown_variables(environment):
        meant = meant_variable(name)
        advice = f"; did you mean {meant}?" if meant else ""
        reporter.problem(f"the variable {name} sets nothing: there is no such option{advice}")
    return fence


def _hidden_tools(fence: Fence, lock: Lock) -> list[str]:
    """Give what agents will not see of the tools that are known by now: those in the lock file."""
    if not lock.servers or not fence.policy.hide_denied or fence.mode is Mode.OBSERVE:
        return []
    can_only_deny, now = fence.gate.engine.can_only_deny, time.time()
    return [
        visible(f"{server}/{tool}" if server else tool)
        for server, tools in sorted(lock.servers.items())
        for tool in sorted(tools)
        if can_only_deny(None if not server or "://" in server else server, tool, now)
    ]


def _some_of(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN_NAMES
    return ", ".join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
