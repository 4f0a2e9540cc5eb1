"""The approver that people answer with `agentfence approvals`, from any terminal of the same user.

A thread of its own serves a socket (see `desk.py`), so that neither the relay's loop nor mitmproxy's
waits. Who can connect could read this process's memory as well: the same user, and nobody else.

Invariant: a question waits only while somebody attends; with the last attendant gone it is denied.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agentfence.approval.queue_folder import SUFFIX, address_of
from agentfence.approval.waiting import Waiting
from agentfence.core.effects import Approval

if TYPE_CHECKING:
    from agentfence.approval.interface import Answered
    from agentfence.approval.waiting import Open
    from agentfence.core.effects import Question

    type Ended = tuple[str, str, str | None]
    """The id of a question that has its answer, the outcome, and who gave it."""

ADVICE: Final = "to be asked, run `agentfence approvals` in a terminal and leave it open"
_MAX_UNACCEPTED: Final = 16


class QueueApprover:
    """Offers questions at a socket, to whoever attends."""

    name = "queue"

    def __init__(self, folder: str | os.PathLike[str], timeout: float) -> None:
        """Take a private folder for the socket, and how long a question waits once it is shown.

        Raises:
            OSError: There can be no socket.

        """
        self.waiting = Waiting(self.name, timeout, settled=self._settled)
        self.fence = self.waiting.run
        """What its socket is called, and its questions' ids begin with."""
        self.news: deque[Open | Ended] = deque()
        """What the attendants do not know yet."""
        self.is_attended = self.is_closing = False
        self._is_over = False
        self._path = os.path.join(folder, self.fence + SUFFIX)
        self.listener = _listen(self._path)
        self.wakes, self._wake_end = socket.socketpair()
        self.wakes.settimeout(0)
        self._wake_end.settimeout(0)
        self._thread = threading.Thread(target=self._run, name="agentfence-queue", daemon=True)
        self._thread.start()

    def ask(self, question: Question, answered: Answered) -> None:
        """Offer `question`; it is denied at once when nobody attends."""
        if not self.is_attended:
            answered(Approval("no_approver", self.name, advice=ADVICE))
            return
        opened = self.waiting.add(question, answered)
        if opened is not None:
            self.news.append(opened)
            self._wake()
        if self._is_over:  # it ended while the question was being added
            self.waiting.settle_all("cancelled")

    def withdraw(self, call_id: str) -> None:
        """Take a question back."""
        self.waiting.settle(call_id, "cancelled")
        self._wake()

    def close(self) -> None:
        """Take back all questions, and the socket."""
        self.is_closing = True
        self._wake()
        self._thread.join(1.0)
        self.waiting.settle_all("cancelled")

    def _settled(self, opened: Open, approval: Approval) -> None:
        self.news.append((opened.id, approval.outcome, approval.by))

    def _wake(self) -> None:
        with suppress(OSError):  # it has been woken often enough, or has ended
            self._wake_end.send(b"\0")

    def _run(self) -> None:
        """Serve the socket, from the thread."""
        try:
            while not self.is_closing:
                if self.listener in select.select([self.listener, self.wakes], [], [])[0]:
                    # Only now: clients start many relays, and most are never attended.
                    from agentfence.approval.desk import Desk

                    Desk(self).serve()
        finally:  # whatever went wrong: nobody can be asked any more
            self.is_attended = False
            self._is_over = True
            self.waiting.settle_all("cancelled" if self.is_closing else "io_error")
            with suppress(FileNotFoundError):
                os.unlink(self._path)
            self.listener.close()
            self.wakes.close()


def _listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Under its name only when it listens: a socket that refuses connections is cleared away as dead.
    unfinished = path.removesuffix(SUFFIX) + ".new"
    try:
        with address_of(unfinished) as address:
            listener.bind(address)  # the folder lets nobody else in, whatever the socket's own mode
        listener.listen(_MAX_UNACCEPTED)
        listener.settimeout(0)
        os.rename(unfinished, path)
    except OSError:
        listener.close()
        raise
    return listener
