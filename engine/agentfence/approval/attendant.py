"""One connection of `agentfence approvals` to a fence, as the fence sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentfence.approval.queue_messages import MAX_FROM_ATTENDANT, line_of, read_from_attendant
from agentfence.core.lines import LineSplitter, Overlong

if TYPE_CHECKING:
    import socket

    from agentfence.approval.queue_messages import FromAttendant, FromFence

_MAX_UNREAD: Final = 8_388_608
"""Bytes that it may leave unread before it counts as gone."""


class Attendant:
    """Reads and writes lines, without ever waiting; it is over with the first thing that is wrong."""

    def __init__(self, connection: socket.socket, by: str) -> None:
        """Take the connection, and who is at its other end."""
        connection.settimeout(0)
        self.connection = connection
        self.by = by
        self.attends = False
        """Whether a person reads along."""
        self.is_open = True
        self._lines = LineSplitter(MAX_FROM_ATTENDANT)
        self._unsent = bytearray()

    @property
    def has_unsent(self) -> bool:
        """Whether something waits until it reads on."""
        return bool(self._unsent)

    def receive(self) -> list[FromAttendant]:
        """Give what has come; `is_open` tells whether more can."""
        try:
            received = self.connection.recv(65_536)
        except BlockingIOError:
            return []
        except OSError:
            received = b""
        if not received:
            self.is_open = False
            return []
        messages: list[FromAttendant] = []
        for line in self._lines.feed(received):
            try:
                if isinstance(line, Overlong):
                    raise ValueError("longer than any message")
                messages.append(read_from_attendant(line))
            except ValueError:
                self.is_open = False
                break
        return messages

    def tell(self, message: FromFence) -> None:
        """Send `message` when it reads on."""
        self._unsent += line_of(message)
        if len(self._unsent) > _MAX_UNREAD:
            self.is_open = False

    def flush(self) -> None:
        """Send what it takes now."""
        try:
            while self._unsent and self.is_open:
                del self._unsent[: self.connection.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self.is_open = False

    def close(self) -> None:
        """End the connection."""
        self.connection.close()
