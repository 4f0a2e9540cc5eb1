"""All that the surface has to tell for a person to see: beside each flow, in a list, and live."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Final

from agentfence.approval.prompt import prompt_for
from agentfence.mitm.view.kept_events import ShownStream
from agentfence.mitm.view.notes import FlowNotes
from agentfence.mitm.view.recent import RecentDecisions

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http

    from agentfence.core.effects import Event, Question
    from agentfence.fence import Note

    type Update = Callable[[http.HTTPFlow], None]
    """Has views draw a flow anew."""
    type Hint = Callable[[str], None]
    """Has a person see one line at once."""


HOW_TO_ANSWER: Final = "ctrl g goes there, ctrl y approves, ctrl n denies"
"""By keys of the console: see `live_view.KEYS`."""


class Display:
    """What is shown of a run."""

    def __init__(
        self, update: Update | None = None, hint: Hint | None = None, *, is_seen: bool = True
    ) -> None:
        """Take how views are told of news, and how a person is told what waits; None: not here.

        `is_seen` says whether anything is looked at: in a view, or in a file of flows.
        """
        self._is_seen = is_seen
        self.notes = FlowNotes()
        self.recent = RecentDecisions()
        self._update = update
        self._hint = hint

    @property
    def has_view(self) -> bool:
        """Whether flows are shown where a person can change them."""
        return self._update is not None

    def note_for(self, flow: http.HTTPFlow) -> Note | None:
        """Give what is told of the events about a flow; None where nobody would see it."""
        if not self._is_seen:
            return None
        flow_if_kept = weakref.ref(flow)  # an event stream may outlive what a view keeps

        def note(event: Event) -> None:
            self.recent.add(event)
            flow = flow_if_kept()
            if flow is not None:
                self.notes.decided(flow, event)

        return note

    def asked(self, flow: http.HTTPFlow, question: Question) -> None:
        """Show that a request waits for a person."""
        if self._is_seen:
            self.notes.asked(flow, question)
        if self._hint is not None:
            prompt = prompt_for(question)
            self._hint(f"✋ ask {prompt.subject} for {prompt.client}: {HOW_TO_ANSWER}")

    def watch(
        self, flow: http.HTTPFlow, pass_on: Callable[[bytes], list[bytes]]
    ) -> Callable[[bytes], list[bytes]]:
        """Give a stream callable that does what `pass_on` does, and shows what passes."""
        return pass_on if self._update is None else ShownStream(pass_on, flow, self._update)
