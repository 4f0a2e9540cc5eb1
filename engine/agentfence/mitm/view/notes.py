"""What stands beside a flow: its mark, its comment, and its metadata.

| decision | mark                 | comment                             |
| -------- | -------------------- | ----------------------------------- |
| allow    | `:white_check_mark:` | `✅ allow read_file`                |
| ask      | `:raised_hand:`      | `✋ ask write_file`                 |
| deny     | `:no_entry:`         | `⛔ deny delete_file: path_denied` |

Invariants
- It is for showing alone: nothing of it is ever read by what decides, see `mitm/exchange.py`.
- Each text of a peer is one line of visible characters.
- What a person wrote over a mark or a comment of ours stays.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from agentfence.core.approvals import outcome_code
from agentfence.core.effects import Approval
from agentfence.core.values import field, slotted
from agentfence.core.visible import visible
from agentfence.tally import observed_verdict

if TYPE_CHECKING:
    from mitmproxy import http
    from mitmproxy.flow import Flow

    from agentfence.core.effects import Event, Question

METADATA: Final = "agentfence"
"""The key in a flow's metadata."""
MARKS: Final = {
    "allow": ("✅", ":white_check_mark:"),
    "ask": ("✋", ":raised_hand:"),
    "deny": ("⛔", ":no_entry:"),
}
"""By decision: the sign in the comment, and mitmproxy's name of the mark. The worst comes last."""
_SEVERITY: Final = tuple(MARKS)
_MOST_NOTED: Final = 20
"""Decisions about one flow that are shown: an event stream can bring any number."""
_MEMBERS: Final = (
    "decision",
    "verdict",
    "method",
    "tool",
    "server",
    "client",
    "rule",
    "reason_code",
    "reason",
    "approval",
    "overruled",
    "call_id",
)


@slotted
class _Noted:
    """What was written beside one flow."""

    latest: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_NOTED))
    count: int = 0
    worst: str = ""
    phrase: str = ""
    written: tuple[str, str] = ("", "")


class FlowNotes:
    """Writes decisions beside the flows that they are about."""

    def __init__(self) -> None:
        """Begin with none."""
        self._noted: WeakKeyDictionary[Flow, _Noted] = WeakKeyDictionary()

    def begin(self, flow: http.HTTPFlow) -> None:
        """Forget what was decided about an earlier form of the request: it is judged anew."""
        noted = self._noted.get(flow)
        if noted is not None:
            self._noted[flow] = _Noted(written=noted.written)
        flow.metadata.pop(METADATA, None)

    def asked(self, flow: http.HTTPFlow, question: Question) -> None:
        """Note that the request waits for a person; a decision follows, and replaces it."""
        members = {name: getattr(question, name, None) for name in _MEMBERS}
        phrase = f"ask {visible(question.tool or question.method)}"
        self._write(flow, "ask", phrase, _text({**members, "decision": "ask"}))

    def decided(self, flow: http.HTTPFlow, event: Event) -> None:
        """Note what an audit event says, if it tells of a decision."""
        decision = event.get("decision")
        if decision not in MARKS:
            return
        noted = self._noted.setdefault(flow, _Noted())
        noted.count += 1
        noted.latest.append(_text(event))
        if not noted.worst or _SEVERITY.index(str(decision)) > _SEVERITY.index(noted.worst):
            noted.worst, noted.phrase = str(decision), _phrase(event)
        more = f" (of {noted.count} decisions)" if noted.count > 1 else ""
        left_out = noted.count - len(noted.latest)
        before = f"{left_out} earlier decisions are left out\n\n" if left_out else ""
        self._write(flow, noted.worst, noted.phrase + more, before + "\n\n".join(noted.latest))

    def _write(self, flow: http.HTTPFlow, decision: str, phrase: str, text: str) -> None:
        sign, mark = MARKS[decision]
        noted = self._noted.setdefault(flow, _Noted())
        flow.metadata[METADATA] = text
        former_mark, former_comment = noted.written
        noted.written = mark, f"{sign} {phrase}"
        if flow.marked in {"", former_mark}:
            flow.marked = mark
        if flow.comment in {"", former_comment}:
            flow.comment = noted.written[1]

    def is_ours(self, flow: Flow) -> bool:
        """Whether a flow has no mark but ours."""
        noted = self._noted.get(flow)
        return not flow.marked or (noted is not None and flow.marked == noted.written[0])


def code_of(event: Event) -> str:
    """Give the reason code of what was carried out: a person's word counts more than the policy's."""
    approval = event.get("approval")
    if isinstance(approval, dict):
        return outcome_code(Approval(str(approval["outcome"]), str(approval["approver"])))
    return str(event.get("reason_code"))


def _phrase(event: Event) -> str:
    own = "answer" if event.get("direction") == "to_client" else "message"
    phrase = f"{event['decision']} {visible(str(event.get('tool') or event.get('method') or own))}"
    verdict = observed_verdict(event)
    if verdict:
        return f"{phrase}: would be {verdict}, {code_of(event)}"
    return phrase if event["decision"] == "allow" else f"{phrase}: {code_of(event)}"


def _text(members: Any) -> str:
    """Give one line a member, for `~meta` to find."""
    lines = []
    for name in _MEMBERS:
        value = members.get(name)
        if isinstance(value, dict):  # an approval
            who = value.get("by") or value["approver"]
            value = f"{value['outcome']} by {who} after {value['waited_ms'] / 1000:.0f} s"
        if value is not None and not (name == "verdict" and value == members.get("decision")):
            lines.append(f"{name}: {visible(str(value))}")
    return "\n".join(lines)
