"""The fences of this user that ask by queue, seen from `agentfence approvals`."""

from __future__ import annotations

import os
import select
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from agentfence.approval.queue_folder import address_of, find_sockets, peer_of
from agentfence.approval.queue_messages import (
    MAX_FROM_FENCE,
    Asked,
    Attend,
    Heard,
    Hello,
    Look,
    Looked,
    Say,
    Settled,
    Shown,
    line_of,
    read_from_fence,
)
from agentfence.core.lines import LineSplitter, Overlong
from agentfence.core.values import field, slotted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from agentfence.approval.prompt import Reply
    from agentfence.approval.queue_messages import FromAttendant, FromFence

_ANSWER_SECONDS: Final = 5.0
"""How long a fence may take to answer before it counts as gone."""
_LOOK_SECONDS: Final = 0.1
"""Between looks for fences that have started."""
NO_FENCE: Final = "no fence asks under such an id; `agentfence approvals --list` says what waits"
NO_ANSWER: Final = "its fence said nothing in time, so it may be yet; the audit log will tell"


@slotted
class Waiting:
    """A question that waits at a fence."""

    asked: Asked
    process: int
    """The fence's."""
    since: float
    """When it began to wait, on the monotonic clock."""
    timeout: float


@slotted
class Connection:
    """A connection to one fence."""

    socket: socket.socket
    fence: str
    """Its name: what the ids of its questions begin with."""
    hello: Hello | None = None
    lines: LineSplitter = field(default_factory=lambda: LineSplitter(MAX_FROM_FENCE))
    waiting: dict[str, Waiting] = field(default_factory=dict)
    has_looked: bool = False
    """Whether it has said all that waited when it was asked."""

    def send(self, message: FromAttendant) -> None:
        """Send `message`; a fence that is gone is found out when it is read."""
        with suppress(OSError):
            self.socket.sendall(line_of(message))

    def receive(self) -> list[FromFence] | None:
        """Give what has come; None when the fence has ended, or talks something else."""
        try:
            received = self.socket.recv(65_536)
            lines = self.lines.feed(received)
            if not received or any(isinstance(line, Overlong) for line in lines):
                return None
            return [self._keep(read_from_fence(line)) for line in lines if isinstance(line, bytes)]
        except (OSError, ValueError):
            return None

    def _keep(self, message: FromFence) -> FromFence:
        match message:
            case Hello():
                self.hello = message
            case Asked(id=id_, waited_ms=waited_ms):
                if self.hello is None or _fence_in(id_) != self.fence:
                    raise ValueError("a question that is not its own")
                since = time.monotonic() - waited_ms / 1000
                self.waiting.setdefault(id_, Waiting(message, self.hello.process, since, self.hello.timeout))
            case Settled(id=id_):
                self.waiting.pop(id_, None)
            case Looked():
                self.has_looked = True
        return message


class Fences:
    """Connections to all fences of this user, as they come and go."""

    def __init__(self, environment: Mapping[str, str], *, attends: bool) -> None:
        """Take where to look; `attends`: a person reads along, so that fences ask at all."""
        self._environment = environment
        self._attends = attends
        self._connections: dict[Path, Connection] = {}
        self._looked_at = 0.0

    def __len__(self) -> int:
        """Give how many fences there are."""
        return len(self._connections)

    @property
    def waiting(self) -> list[Waiting]:
        """What waits at all fences, oldest first."""
        questions = [w for connection in self._connections.values() for w in connection.waiting.values()]
        return sorted(questions, key=lambda waiting: waiting.since)

    def look(self) -> None:
        """Connect to fences that were not there before."""
        self._looked_at = time.monotonic()
        for path in find_sockets(self._environment):
            if path not in self._connections:
                connection = _connect(path)
                if connection is not None:
                    self._connections[path] = connection
                    connection.send(Attend() if self._attends else Look())

    def receive(self, seconds: float, *beside: int) -> tuple[list[FromFence], set[int]]:
        """Give what fences say within `seconds`, and which of the descriptors `beside` can be read."""
        if time.monotonic() - self._looked_at >= _LOOK_SECONDS:
            self.look()
        sockets = {connection.socket.fileno(): path for path, connection in self._connections.items()}
        readable = select.select([*sockets, *beside], [], [], min(seconds, _LOOK_SECONDS))[0]
        said: list[FromFence] = []
        for ready in readable:
            if ready in sockets:
                said += self._receive_from(sockets[ready])
        return said, {ready for ready in readable if ready in beside}

    def look_once(self) -> int:
        """Wait until every fence has said what waits there; give how many have not in time."""
        self.look()
        end = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < end and not all(c.has_looked for c in self._connections.values()):
            self.receive(end - time.monotonic())
        return sum(not connection.has_looked for connection in self._connections.values())

    def show(self, id_: str) -> None:
        """Tell the fence that a person sees this question now."""
        self._send_about(id_, Shown(id_))

    def say(self, id_: str, reply: Reply) -> str | None:
        """Answer a question; give what is wrong with it, None when it counts."""
        if not self._send_about(id_, Say(id_, reply)):
            return NO_FENCE
        end = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < end and self._fence_of(id_) is not None:
            for message in self.receive(end - time.monotonic())[0]:
                if isinstance(message, Heard) and message.id == id_:
                    return message.problem
        if self._fence_of(id_) is not None:
            return NO_ANSWER
        return "its fence has gone"

    def close(self) -> None:
        """End all connections."""
        for connection in self._connections.values():
            connection.socket.close()
        self._connections.clear()

    def _receive_from(self, path: Path) -> Iterator[FromFence]:
        connection = self._connections[path]
        said = connection.receive()
        if said is not None:
            yield from said
            return
        connection.socket.close()
        del self._connections[path]
        for id_ in connection.waiting:
            yield Settled(id_, "gone", None)

    def _fence_of(self, id_: str) -> Connection | None:
        return next((c for c in self._connections.values() if c.fence == _fence_in(id_)), None)

    def _send_about(self, id_: str, message: FromAttendant) -> bool:
        connection = self._fence_of(id_)
        if connection is not None:
            connection.send(message)
        return connection is not None


def _fence_in(id_: str) -> str:
    return id_.rpartition("-")[0]


def _connect(path: Path) -> Connection | None:
    """Give a connection to the fence at `path`; the socket of one that has ended is removed."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_ANSWER_SECONDS)
    try:
        with address_of(path) as address:
            connection.connect(address)
        if peer_of(connection)[0] == os.getuid():
            return Connection(connection, path.stem)
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)
    except OSError:
        pass
    connection.close()
    return None
