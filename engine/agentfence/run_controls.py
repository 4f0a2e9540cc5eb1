"""What a person asks of a run while it runs: by a signal, or by changing the policy's file.

| signal  | what                                                                              |
| ------- | --------------------------------------------------------------------------------- |
| SIGHUP  | load the policy again; the end where it means that the run's terminal was closed   |
| SIGUSR1 | say the summary                                                                   |
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Final

from agentfence.approval.choosing import has_terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.policy.model import Policy
    from agentfence.fence import Fence

    type Prepare = Callable[[Policy], Callable[[], None]]

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at the policy's files."""


class RunControls:
    """Does what is asked; a surface calls it from its loop, between two messages."""

    def __init__(self, fence: Fence, prepare: Prepare, end: Callable[[], None]) -> None:
        """Take what makes the surface's part of a new policy, and what ends the run."""
        self.watches = fence.settings.watches_policy
        """Whether `look` is to be called every `LOOK_EVERY` seconds."""
        self._fence = fence
        self._prepare = prepare
        self._end = end
        # nohup(1) has it ignored, so that the run outlives its terminal.
        self._ends_with_terminal = has_terminal() and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN

    def hang_up(self) -> None:
        """Load the policy again; end the run when its terminal is gone, as that sends SIGHUP, too."""
        if self._ends_with_terminal and not has_terminal():
            self._end()
        else:
            self._fence.reload(self._prepare)

    def summarize(self) -> None:
        """Say what was counted so far."""
        self._fence.summarize()

    def look(self) -> None:
        """Load the policy again when its files have changed."""
        if self._fence.policy_has_changed:
            self._fence.reload(self._prepare)
