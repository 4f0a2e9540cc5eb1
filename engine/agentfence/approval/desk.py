"""Where a fence that asks by queue meets its attendants: connections in, questions out, answers in.

Everything here runs in the approver's thread. What an attendant sends is one of few short lines, or
it is no attendant any more.
"""

from __future__ import annotations

import os
import pwd
import selectors
import time
from typing import TYPE_CHECKING, Final

from agentfence.approval.attendant import Attendant
from agentfence.approval.queue import ADVICE
from agentfence.approval.queue_folder import peer_of
from agentfence.approval.queue_messages import (
    Asked,
    Attend,
    Heard,
    Hello,
    Look,
    Looked,
    Say,
    Settled,
    Shown,
)
from agentfence.approval.waiting import carry_reply

if TYPE_CHECKING:
    from agentfence.approval.queue import QueueApprover
    from agentfence.approval.queue_messages import FromAttendant
    from agentfence.approval.waiting import Open

_MAX_CONNECTIONS: Final = 16


class Desk:
    """The attendants of one approver."""

    def __init__(self, approver: QueueApprover) -> None:
        """Take whose questions are offered."""
        self._approver = approver
        self._waiting = approver.waiting
        self._attendants: set[Attendant] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(approver.wakes, selectors.EVENT_READ)
        self._selector.register(approver.listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Go on until the approver is closed."""
        try:
            while not self._approver.is_closing:
                self._turn()
        finally:
            self._selector.close()
            for attendant in self._attendants:
                attendant.close()

    def _turn(self) -> None:
        for key, events in self._selector.select(self._waiting.remaining()):
            if key.fileobj is self._approver.listener:
                self._welcome()
            elif key.fileobj is self._approver.wakes:
                self._approver.wakes.recv(4096)
            else:
                self._attend_to(key.data, events)
        for call_id in self._waiting.expired():
            self._waiting.settle(call_id, "timeout")
        self._tell_news()
        self._flush()
        if not self._approver.is_attended:
            self._waiting.settle_all("no_approver", ADVICE)

    # attendants

    def _welcome(self) -> None:
        """Take a new connection, of the same user only."""
        try:
            connection, _ = self._approver.listener.accept()
        except OSError:
            time.sleep(0.1)  # no descriptor is free: the connection waits, and must not keep us busy
            return
        try:
            user, process = peer_of(connection)
        except OSError:
            user, process = -1, None
        if user != os.getuid() or len(self._attendants) >= _MAX_CONNECTIONS:
            connection.close()
            return
        by = pwd.getpwuid(user).pw_name + (f" (process {process})" if process else "")
        attendant = Attendant(connection, by)
        self._attendants.add(attendant)
        self._selector.register(connection, selectors.EVENT_READ, attendant)
        attendant.tell(Hello(self._approver.fence, os.getpid(), self._waiting.timeout))

    def _attend_to(self, attendant: Attendant, events: int) -> None:
        if events & selectors.EVENT_READ:
            for message in attendant.receive():
                self._take(attendant, message)
        if not attendant.is_open:
            self._dismiss(attendant)

    def _dismiss(self, attendant: Attendant) -> None:
        if attendant in self._attendants:
            self._attendants.remove(attendant)
            self._selector.unregister(attendant.connection)
            attendant.close()
            self._approver.is_attended = any(other.attends for other in self._attendants)

    def _flush(self) -> None:
        for attendant in tuple(self._attendants):
            attendant.flush()
            if not attendant.is_open:
                self._dismiss(attendant)
                continue
            writes = selectors.EVENT_WRITE if attendant.has_unsent else 0
            self._selector.modify(attendant.connection, selectors.EVENT_READ | writes, attendant)

    # what they say

    def _take(self, attendant: Attendant, message: FromAttendant) -> None:
        match message:
            case Attend():
                attendant.attends = self._approver.is_attended = True
                self._tell_open(attendant)
            case Look():
                self._tell_open(attendant)
                attendant.tell(Looked())
            case Shown(id=id_):
                opened = self._waiting.find_question(id_)
                if opened is not None:
                    self._waiting.show(opened.question.call_id)
            case Say(id=id_, reply=reply):
                opened = self._waiting.find_question(id_)
                problem = carry_reply(opened, reply, attendant.by, self._waiting.settle)
                attendant.tell(Heard(id_, problem))

    # what they are told

    def _tell_open(self, attendant: Attendant) -> None:
        for opened in self._waiting.questions():
            attendant.tell(self._asked(opened))

    def _tell_news(self) -> None:
        while self._approver.news:
            news = self._approver.news.popleft()
            if isinstance(news, tuple):
                message: Asked | Settled = Settled(*news)
            else:
                if not self._waiting.is_open(news):  # it ended before anybody was told of it
                    continue
                message = self._asked(news)
            for attendant in self._attendants:
                if attendant.attends:
                    attendant.tell(message)

    def _asked(self, opened: Open) -> Asked:
        return Asked(opened.id, self._waiting.waited_ms(opened), opened.prompt)
