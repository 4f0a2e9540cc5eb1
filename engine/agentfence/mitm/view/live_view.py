"""What the fence adds to mitmweb and to the console: commands, keys, and the approvals page."""

from __future__ import annotations

import logging
from collections.abc import Sequence  # noqa: TC003 - mitmproxy reads the annotations of commands
from typing import TYPE_CHECKING, Final, cast

from mitmproxy import ctx, flow, types
from mitmproxy.log import ALERT

from agentfence.approval.prompt import Reply
from agentfence.core.visible import visible
from agentfence.mitm.intercepting import InterceptApprover
from agentfence.mitm.view.page_install import install_page

if TYPE_CHECKING:
    from mitmproxy.addonmanager import Loader

    from agentfence.mitm.intercepting import Held
    from agentfence.mitm.surface import Surface

_log = logging.getLogger("agentfence")
KEYS: Final = (
    ("ctrl g", "agentfence.focus", "AgentFence: go to the call that waits longest"),
    ("ctrl y", "agentfence.approve @focus", "AgentFence: approve this call"),
    ("ctrl n", "agentfence.deny @focus", "AgentFence: deny this call"),
    ("ctrl p", "agentfence.pending", "AgentFence: what waits for a person"),
)
"""In the console's flow list and flow view: key, command, what it does."""
_CONTEXTS: Final = ("flowlist", "flowview")
_BY_COMMAND: Final = "a command of mitmproxy"


class LiveView:
    """Commands about what waits and what was decided; mitmproxy takes them from this addon."""

    name = "agentfence-live-view"

    def __init__(self, surface: Surface) -> None:
        """Take whose calls are shown."""
        self._surface = surface

    def load(self, loader: Loader) -> None:
        """Add the commands, and have mitmweb's list of flows show their comments."""
        options = ctx.options
        if "web_columns" in options and not options.has_changed("web_columns"):
            columns = list(options.web_columns)
            columns.insert(columns.index("path") + 1, "comment")
            options.update(web_columns=columns)
        loader.add_command("agentfence.pending", self.pending)
        loader.add_command("agentfence.focus", self.focus)
        loader.add_command("agentfence.approve", self.approve)
        loader.add_command("agentfence.approve.session", self.approve_for_session)
        loader.add_command("agentfence.deny", self.deny)
        loader.add_command("agentfence.stats", self.stats)

    async def running(self) -> None:
        """Add what needs a user interface that is complete: the page in mitmweb, keys in the console."""
        install_page(ctx.master, self._surface)
        keymap = getattr(ctx.master, "keymap", None)
        if keymap is not None:
            for key, keyed, what in KEYS:
                keymap.add(key, keyed, list(_CONTEXTS), what)

    def pending(self) -> Sequence[str]:
        """List the calls that wait for a person: flow, call, what, for whom, and how long."""
        return [_line(held) for held in held_by(self._surface)]

    def focus(self) -> None:
        """Put the focus on the call that waits longest."""
        view = ctx.master.addons.get("view")
        shown = [held.flow for held in held_by(self._surface) if view is not None and held.flow in view]
        if view is None or not shown:
            _log.log(ALERT, "no call waits among the flows that are shown")
        else:
            view.focus.flow = shown[0]

    def approve(self, flows: Sequence[flow.Flow]) -> None:
        """Approve the calls of these flows that wait for a person."""
        self._answer(flows, Reply.APPROVE)

    def approve_for_session(self, flows: Sequence[flow.Flow]) -> None:
        """Approve the calls of these flows for the session, where the policy lets that be."""
        self._answer(flows, Reply.APPROVE_FOR_SESSION)

    def deny(self, flows: Sequence[flow.Flow]) -> None:
        """Deny the calls of these flows that wait for a person."""
        self._answer(flows, Reply.DENY)

    def stats(self) -> types.Data:
        """Count the decisions so far by tool, decision and reason."""
        counts = self._surface.fence.tally.decisions()
        rows = [[str(count), kind.decision, visible(kind.subject), kind.why] for kind, count in counts]
        return cast("types.Data", rows)

    def _answer(self, flows: Sequence[flow.Flow], reply: Reply) -> None:
        approver, wanted = self._surface.approver, {one.id for one in flows}
        chosen = [held for held in held_by(self._surface) if held.flow.id in wanted]
        if not chosen or not isinstance(approver, InterceptApprover):
            _log.log(ALERT, "none of these flows waits for a person")
            return
        for held in chosen:
            problem = approver.answer(held.opened.id, reply, _BY_COMMAND)
            if problem is not None:
                _log.log(ALERT, "%s: %s", held.opened.question.call_id, problem)


def held_by(surface: Surface) -> list[Held]:
    """Give the flows that wait for a person here; none where another approver asks."""
    return surface.approver.held() if isinstance(surface.approver, InterceptApprover) else []


def _line(held: Held) -> str:
    prompt = held.opened.prompt
    return (
        f"{held.flow.id}  {held.opened.question.call_id}  {prompt.subject} for {prompt.client}: "
        f"waits {held.waited_ms // 1000} s, {held.left:.0f} s are left"
    )
