"""The approvals page of mitmweb: what waits, what was decided, and by which policy.

Invariants
- Every handler is one of mitmweb's own, so that its login and its rules against forged requests hold.
- Texts reach the page by the template's escaping alone, and the page may load and run nothing but its
  own two files: no argument of a call can become markup.
- Reading the page changes nothing; an answer names its question, and counts for no other, also where the
  page is one of an earlier run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mitmproxy.tools.web.app import RequestHandler

from agentfence.approval.prompt import HOLDS_FOR, Prompt, Reply
from agentfence.core.values import frozen
from agentfence.core.visible import visible
from agentfence.mitm.intercepting import InterceptApprover
from agentfence.mitm.view.live_view import held_by
from agentfence.mitm.view.notes import MARKS
from agentfence.mitm.view.page_install import PATH

if TYPE_CHECKING:
    from agentfence.core.policy.model import Rule
    from agentfence.mitm.surface import Surface

_FOLDER: Final = Path(__file__).parent
_ASSETS: Final = {"page.css": "text/css; charset=utf-8", "page.js": "text/javascript; charset=utf-8"}
_CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_MOST_RULES: Final = 200
_MOST_COUNTS: Final = 100


@frozen
class _Waiting:
    """A call that waits, as the page shows it."""

    id: str
    call_id: str
    flow_id: str
    prompt: Prompt
    waited: int
    left: int
    holds_for: str | None


class _Own(RequestHandler):
    """A handler of this page."""

    def initialize(self, surface: Surface) -> None:
        """Take what the page is about."""
        self.surface = surface

    def set_default_headers(self) -> None:
        """Allow the page nothing but what it needs, and have nobody keep it."""
        super().set_default_headers()  # type: ignore[no-untyped-call]  # mitmweb has no types there
        self.set_header("Content-Security-Policy", _CONTENT_SECURITY_POLICY)
        self.set_header("Referrer-Policy", "no-referrer")  # the address may hold the token
        self.set_header("Cache-Control", "no-store")

    def show(self, said: str = "") -> None:
        """Write the page; `said` is what came of an answer."""
        fence = self.surface.fence
        rules = fence.policy.tools.rules
        counts = fence.tally.decisions()
        self.render(
            str(_FOLDER / "page.html"),
            said=said,
            waiting=_waiting(self.surface),
            asks_here=isinstance(self.surface.approver, InterceptApprover),
            approver=self.surface.approver.name,
            recent=self.surface.display.recent.latest(),
            counts=[(kind, visible(kind.subject), count) for kind, count in counts[:_MOST_COUNTS]],
            more_counts=max(0, len(counts) - _MOST_COUNTS),
            totals=fence.tally.totals(),
            signs={decision: sign for decision, (sign, _) in MARKS.items()},
            fence=fence,
            policy=fence.policy,
            rules=[(rule, _place(rule)) for rule in rules[:_MOST_RULES]],
            more_rules=max(0, len(rules) - _MOST_RULES),
        )


class ShowPage(_Own):
    """The page itself, and its login."""

    def auth_fail(self, invalid_password: bool) -> None:  # noqa: FBT001 - mitmweb's own signature
        """Show mitmweb's login."""
        self.render("login.html", invalid_password=invalid_password)

    def get(self) -> None:
        """Show the page, at an address without the token."""
        if self.get_query_argument("token", None) is not None:
            self.redirect(PATH)
        else:
            self.show()

    def post(self) -> None:
        """Go on from the login."""
        self.redirect(PATH, status=303)


class TakeAnswer(_Own):
    """What a person says to a question."""

    def post(self) -> None:
        """Take it, and show the page with what came of it."""
        question, call_id = self.get_body_argument("question", ""), self.get_body_argument("call_id", "")
        reply = self.get_body_argument("reply", "")
        approver = self.surface.approver
        if reply not in set(Reply) or not isinstance(approver, InterceptApprover):
            self.set_status(400)
            self.show("That is no answer to a question.")
            return
        by = f"mitmweb ({self.request.remote_ip})"
        problem = approver.answer(question, Reply(reply), by)
        word = "Denied" if reply == Reply.DENY else "Approved"
        self.show(f"{word} {call_id}." if problem is None else f"It did not count: {problem}.")


class Asset(_Own):
    """The page's style and script."""

    def get(self, name: str) -> None:
        """Give one of the two files."""
        self.set_header("Content-Type", _ASSETS[name])
        self.write((_FOLDER / name).read_bytes())


def routes(surface: Surface) -> list[tuple[str, type[RequestHandler], dict[str, Any]]]:
    """Give what to add to mitmweb's application."""
    about = {"surface": surface}
    return [
        (PATH + "?", ShowPage, about),
        (PATH + "answer", TakeAnswer, about),
        (PATH + r"(page\.css|page\.js)", Asset, about),
    ]


def _waiting(surface: Surface) -> list[_Waiting]:
    shown = []
    for held in held_by(surface):
        question = held.opened.question
        prompt = held.opened.prompt
        holds_for = HOLDS_FOR[prompt.remember] if prompt.remember else None
        waited, left = held.waited_ms // 1000, round(held.left)
        shown.append(
            _Waiting(held.opened.id, question.call_id, held.flow.id, prompt, waited, left, holds_for)
        )
    return shown


def _place(rule: Rule) -> str:
    return "" if rule.place is None else f"{rule.place.file}:{rule.place.line}"
