"""A call and a policy in, a decision out.

Order, the first that speaks decides: an ambiguous tool name, `forbid`, the one rule that applies
(`policy/lookup.py`), its expiry, the tool's pin, the tool's own schema, the rule's constraints, its
rate, taint, its decision.

Invariants
- A decision explains itself: verdict, reason code, reason, rule and its place.
- A reason names fields and patterns, never an argument's value.
- Anything the engine does not understand is denied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from agentfence.core import elicitation
from agentfence.core.decision import Decision, quoted
from agentfence.core.known_tools import digest_of
from agentfence.core.method_rules import decide_method, no_task
from agentfence.core.pins import NOTHING_PINNED, PIN_TEXTS, PinState
from agentfence.core.policy.model import Pins, Rule, RuleKind, Verdict
from agentfence.core.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentfence.core.constraints.interface import Arguments, Circumstances, Failure, Json
    from agentfence.core.method_rules import FindTask
    from agentfence.core.pins import Lock
    from agentfence.core.policy.model import Forbid, Policy, RateLimit
    from agentfence.core.session import Session
    from agentfence.core.taint import TaintRules
    from agentfence.core.tool_schemas import OwnSchema


_MOST_REMEMBERED = 4_096
_LONGEST_REMEMBERED_NAME = 256
"""The agent chooses tool names: what is remembered of them must stay small."""
_NO_ARGUMENTS: Arguments = {}


class Call(NamedTuple):
    """A `tools/call`, as the policy sees it. A named tuple: one is made for each."""

    tool: str
    arguments: Arguments = _NO_ARGUMENTS
    server: str | None = None
    peer: str = ""
    """What the server is known by where it has no name in the policy."""

    @property
    def known_as(self) -> str:
        """What the server's tools are kept under."""
        return self.peer if self.server is None else self.server


type Trace = Callable[[str], None]
"""Told, step by step, what was looked at: for `agentfence explain`."""


def _untold(_step: str) -> None:
    pass


type _Named = tuple[Rule | None, Decision]
"""What a tool's name settles: its rule, with the decision where nothing about the call speaks against it;
no rule where the name alone decides."""


class Engine:
    """Decides by one policy; what it remembers is what nothing but a tool's name can change."""

    __slots__ = ("_by_name", "_holds_to_pins", "_only_rules", "lock", "policy", "taint")

    def __init__(self, policy: Policy, lock: Lock = NOTHING_PINNED) -> None:
        """Take the compiled policy, and the definitions of tools that people have agreed to."""
        self.policy = policy
        self.lock = lock
        self.taint: TaintRules | None = None
        if policy.taint.enabled:
            from agentfence.core.taint import TaintRules

            self.taint = TaintRules(policy.taint)
        # What servers returned counts too, so that a name that is not denied says too little.
        self._holds_to_pins = policy.pins is Pins.REQUIRE
        self._only_rules = not (self.taint or policy.validate_arguments or self._holds_to_pins)
        self._by_name: dict[tuple[str | None, str], _Named] = {}

    def decide_call(
        self, call: Call, session: Session, circumstances: Circumstances, tell: Trace = _untold
    ) -> Decision:
        """Decide a `tools/call`; an allowed or asked call is counted for its rule's rate."""
        if tell is not _untold:
            rule, decision = self._name_decides(call, tell)
        elif (named := self._by_name.get((call.server, call.tool))) is not None:
            rule, decision = named
        else:
            rule, decision = self._remembered(call)
        if rule is None:
            return decision
        objection = self._objection(rule, call, session, circumstances, tell)
        if objection is not None:
            decision = objection
        elif tell is not _untold:
            tell(f"decision of the rule: {rule.decision}")
        if decision.verdict is Verdict.DENY:
            return decision
        rate = None if circumstances.counted_for == rule.name else rule.rate
        if rate is not None:
            exceeded = _exceeded(rule, rate, session, circumstances.time, tell)
            if exceeded is not None:
                return exceeded
        if self.taint is not None:
            decision = _distrust(self.taint, rule, call, decision, session, circumstances, tell)
        if rate is not None and decision.verdict is not Verdict.DENY:
            session.count(rule, rate, circumstances.time)
        return decision

    def can_only_deny(self, server: str | None, tool: str, time: float) -> bool:
        """Whether no arguments could make the policy allow or ask for this tool."""
        call = Call(tool, {}, server)
        if (self.policy.servers and "/" in tool) or self._forbidding(call) is not None:
            return True
        rule = self._rule_for(call, _untold)
        return rule.decision is Verdict.DENY or _is_expired(rule, time)

    def is_hidden(self, tool: dict[str, Json], server: str | None, peer: str, time: float) -> bool:
        """Whether an agent does not see this entry of a list: it may not call it, or people never saw it."""
        name = str(tool["name"])
        if self.policy.hide_denied and self.can_only_deny(server, name, time):
            return True
        is_held = self.policy.pins is Pins.REQUIRE
        return is_held and self.lock.state(peer, name, digest_of(tool)) is not PinState.HOLDS

    def decide_method(
        self,
        method: str,
        params: Mapping[str, Json] | None,
        circumstances: Circumstances,
        find_task: FindTask = no_task,
    ) -> Decision:
        """Decide any message but a `tools/call`; `find_task` knows the tasks of whoever sent it."""
        decision = decide_method(self.policy, method, params or {}, find_task, circumstances.resolve_links)
        if method == elicitation.METHOD and decision.verdict is not Verdict.DENY:
            return elicitation.refusal_of_url(params or {}, self.policy.elicitation) or decision
        return decision

    def _name_decides(self, call: Call, tell: Trace) -> _Named:
        """Give what the tool's name settles."""
        if self.policy.servers and "/" in call.tool:
            name = quoted(call.tool)
            tell(f"tool name {name} holds `/`, which separates server and tool")
            text = f"the name of tool {name} holds `/`"
            return None, Decision(Verdict.DENY, "tool_name_ambiguous", text, "tool names")
        forbidden = self._forbidding(call)
        if forbidden is not None:
            tell(f"`{forbidden.name}` covers tool {quoted(call.tool)}")
            return None, _forbidden(forbidden, quoted(call.tool))
        rule = self._rule_for(call, tell)
        return rule, _of_rule(rule, rule.decision, *_rule_reason(rule, quoted(call.tool)))

    def _remembered(self, call: Call) -> _Named:
        """Give what the tool's name settles, and remember it for the next call."""
        rule, decision = self._name_decides(call, _untold)
        if rule is not None and (
            rule.decision is Verdict.DENY or (self._only_rules and _depends_on_name_alone(rule))
        ):
            rule = None
        if len(call.tool) <= _LONGEST_REMEMBERED_NAME:
            if len(self._by_name) >= _MOST_REMEMBERED:
                self._by_name.clear()
            self._by_name[call.server, call.tool] = rule, decision
        return rule, decision

    def _forbidding(self, call: Call) -> Forbid | None:
        qualified = None if call.server is None else f"{call.server}/{call.tool}"
        for forbid in self.policy.forbid:
            for glob, pattern in zip(forbid.tools, forbid.patterns, strict=True):
                name = qualified if "/" in pattern else call.tool
                if name is not None and glob.matches(name):
                    return forbid
        return None

    def _rule_for(self, call: Call, tell: Trace) -> Rule:
        rule = self.policy.tools.find(call.server, call.tool)
        if tell is not _untold:  # the sentence costs as much as the look-up
            tell(_described(rule, quoted(call.tool)))
        return rule or self.policy.default

    def _objection(
        self, rule: Rule, call: Call, session: Session, circumstances: Circumstances, tell: Trace
    ) -> Decision | None:
        """Give the decision where something about the call speaks against what the rule says."""
        if rule.decision is Verdict.DENY:
            return None
        if rule.expires is not None and _is_expired(rule, circumstances.time):
            tell(f"rule `{rule.name}` has expired")
            return _of_rule(rule, Verdict.DENY, "rule_expired", f"rule `{rule.name}` has expired")
        if self._holds_to_pins:
            unpinned = self._unpinned(rule, call, session, tell)
            if unpinned is not None:
                return unpinned
        known = session.tools.find(call.known_as, call.tool) if self.policy.validate_arguments else None
        if known is not None and known.arguments is not None:
            unfit = _unfit(known.arguments, call, circumstances, tell)
            if unfit is not None:
                return _of_rule(rule, Verdict.DENY, unfit.code, unfit.reason)
        failure = _first_failure(rule, call.arguments, circumstances, tell) if rule.constraints else None
        if failure is None:
            return None
        asks = failure.allow_list and rule.otherwise is Verdict.ASK
        tell("nothing is forbidden, so `otherwise: ask` asks" if asks else "the call is denied")
        return _of_rule(rule, Verdict.ASK if asks else Verdict.DENY, failure.code, failure.reason)

    def _unpinned(self, rule: Rule, call: Call, session: Session, tell: Trace) -> Decision | None:
        """Give the refusal of a tool that is not what people have agreed to; None when it is."""
        known = session.tools.find(call.known_as, call.tool)
        state = self.lock.state(call.known_as, call.tool, None if known is None else known.digest)
        if known is None and state is PinState.HOLDS and session.tools.has_forgotten(call.known_as):
            state = PinState.FORGOTTEN
        tell(f"pins: the tool is {state}")
        if state is PinState.HOLDS:
            return None
        code, text = PIN_TEXTS[state]
        return _of_rule(rule, Verdict.DENY, code, f"tool {quoted(call.tool)} {text}")


def _distrust(
    taint: TaintRules,
    rule: Rule,
    call: Call,
    decision: Decision,
    session: Session,
    circumstances: Circumstances,
    tell: Trace,
) -> Decision:
    """Escalate or deny a call whose arguments come from what a tool returned before."""
    found = taint.find(session.taint, call.arguments, circumstances.effort)
    if found is None or not rule.taint or not taint.is_sink(call.server, call.tool):
        return decision
    tell(f"taint: {found}")
    if taint.denies:
        return _of_rule(rule, Verdict.DENY, "taint_denied", found)
    why = f"{found}; {decision.reason}" if decision.verdict is Verdict.ASK else found
    # An approval that was given for other arguments, or before, is none for these.
    return replace(_of_rule(rule, Verdict.ASK, "taint_escalated", why), remember=None)


def _exceeded(rule: Rule, rate: RateLimit, session: Session, time: float, tell: Trace) -> Decision | None:
    """Give the refusal of a call whose rule is used up; None when it is not."""
    wait = session.retry_after_ms(rule, rate, time)
    if wait is None:
        return None
    reason = f"rule `{rule.name}` allows {rate.limit} calls in {rate.window_seconds} seconds"
    tell(f"rate: {reason}, and they are used up")
    return _of_rule(rule, Verdict.DENY, "rate_exceeded", reason, wait)


def _unfit(arguments: OwnSchema, call: Call, circumstances: Circumstances, tell: Trace) -> Failure | None:
    """Give where the arguments do not fit the tool's own schema, which was seen."""
    failure = arguments.check(call.arguments, circumstances)
    tell("the tool's own schema: " + ("holds" if failure is None else f"fails: {failure.reason}"))
    if failure is None:
        return None
    return replace(failure, reason=failure.reason.replace("the schema", "the tool's own schema"))


def _first_failure(
    rule: Rule, arguments: Arguments, circumstances: Circumstances, tell: Trace
) -> Failure | None:
    """Give the first failure; with `otherwise`, one that forbids comes before all that do not cover."""
    uncovered: list[Failure] = []
    for constraint in rule.constraints:
        failure = constraint.check(arguments, circumstances)
        if tell is not _untold:
            told = "holds" if failure is None else f"fails: {failure.reason}"
            tell(f"constraint {constraint.kind}: {told}")
        if failure is None:
            continue
        if rule.otherwise is None or not failure.allow_list:
            return failure
        uncovered.append(failure)
    if not uncovered:
        return None
    from agentfence.core.constraints.interface import together  # policies without constraints do without it

    return together(uncovered)


def _depends_on_name_alone(rule: Rule) -> bool:
    """Whether neither arguments, nor the time, nor other calls change what a rule says that does not deny."""
    return not rule.constraints and rule.rate is None and rule.expires is None


def _is_expired(rule: Rule, time: float) -> bool:
    return rule.expires is not None and time >= rule.expires


def _described(rule: Rule | None, name: str) -> str:
    if rule is None:
        return f"no rule covers tool {name}: the default decision holds"
    return f"{rule.kind} rule `{rule.name}` covers tool {name}" + (f" ({rule.place})" if rule.place else "")


def _forbidden(forbid: Forbid, name: str) -> Decision:
    return Decision(
        Verdict.DENY,
        "forbidden",
        f"tool {name} is forbidden by `{forbid.name}`",
        forbid.name,
        forbid.place,
        forbid.message,
    )


def _rule_reason(rule: Rule, name: str) -> tuple[str, str]:
    match rule.kind:
        case RuleKind.DEFAULT:
            return "default_decision", f"no rule covers tool {name}, and the default is {rule.decision}"
        case RuleKind.EXACT:
            return "rule_match", f"tool {name} has its own rule: {rule.decision}"
        case _:
            return "rule_match", f"tool {name} matches {rule.kind} rule `{rule.name}`: {rule.decision}"


def _of_rule(
    rule: Rule, verdict: Verdict, code: str, reason: str, retry_after_ms: int | None = None
) -> Decision:
    return Decision(verdict, code, reason, rule.name, rule.place, rule.message, rule.remember, retry_after_ms)
