"""Requests of one side that wait for their answer.

| a request that is | when                                    | becomes     |
| ----------------- | --------------------------------------- | ----------- |
| new               | a person is asked about it              | `ASKED`     |
| new, `ASKED`      | it is sent on                           | `SENT`      |
| `SENT`            | a person is asked about its answer      | `HELD`      |
| `SENT`            | its sender cancels it                   | `CANCELLED` |
| `ASKED`, `HELD`   | its sender cancels it                   | `WITHDRAWN` |
| anything          | it is answered                          | forgotten   |

Only an answer to a `SENT` request is one: a server that answers what it was never sent lies.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from agentfence.core.values import message_value, replace

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from agentfence.core.jsonrpc import Id
    from agentfence.core.policy.model import Verdict
    from agentfence.core.revisions import Revision

_MAX_CALLS = 10_000
_MAX_CHARACTERS = 1_048_576
"""Of all ids together, as a peer may choose long ones."""
LONGEST_METHOD: Final = 256
"""What is kept of a method, which a peer may make up: all that are known are shorter."""


class Stage(Enum):
    """How far a request has come; the module's table says what moves it."""

    ASKED = auto()
    SENT = auto()
    HELD = auto()
    CANCELLED = auto()
    """The answer may come or not, and whoever cancelled does not want it."""
    WITHDRAWN = auto()
    """The question about it counts as answered with no."""


_BASES = frozenset({"0x", "0o", "0b"})
"""What JavaScript's `Number` takes for the beginning of a number to another base."""
_WHEN_CANCELLED = {
    Stage.ASKED: Stage.WITHDRAWN,
    Stage.HELD: Stage.WITHDRAWN,
    Stage.SENT: Stage.CANCELLED,
}


@message_value
class CallInFlight:
    """A request that is not answered yet."""

    id: Id
    call_id: str
    method: str
    """Of a longer one than any is, its beginning."""
    revision: Revision
    """Under which it was judged, and its answer is made."""
    rule: str
    verdict: Verdict
    """What was decided; a person's yes counts."""
    stage: Stage
    sent_at: float | None = None
    """When it was sent on, in seconds since 1970; None: not here."""
    source: str = ""
    """Whose answer it brings: the tool, for a message about a task that of the task, else the method."""


def meanings(id: Id) -> tuple[Id, Id]:  # noqa: A002 - JSON-RPC's word
    """Give the ids for which clients take this one."""
    return id, _as_number(str(id))


def _as_number(text: str) -> int | str:
    """Give what `Number(text)` gives, where that is a whole number; SDKs look answers up so."""
    digits = text.replace("\ufeff", "").strip() or "0"
    try:
        if digits[:2].lower() in _BASES:
            return int(digits, 0)
        number = float(digits)
    except ValueError:
        return text
    return int(number) if number.is_integer() else text


class CallsInFlight:
    """The requests of one side, by id. Bounded.

    Ids are compared as text: clients take `"2"` for the answer to `2`, and one SDK server keys its
    streams that way.
    """

    __slots__ = ("_calls", "_cancelled", "_characters", "_index", "_most", "_most_characters")

    def __init__(
        self,
        most: int | None = None,
        most_characters: int | None = None,
        index: MutableMapping[str, CallsInFlight] | None = None,
    ) -> None:
        """Take how much may wait; `index` is kept up to date with the ids that wait here."""
        self._calls: dict[str, CallInFlight] = {}
        self._cancelled: set[str] = set()
        """Those that were cancelled, some of which may wait again."""
        self._characters = 0
        self._most = most
        self._most_characters = most_characters
        self._index: MutableMapping[str, CallsInFlight] = {} if index is None else index

    def __contains__(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        return str(id) in self._calls

    def __len__(self) -> int:
        """Give how many are still wanted."""
        return sum(call.stage is not Stage.CANCELLED for call in self._calls.values())

    def takes(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether no request waits under `id`, and one more may without another being forgotten."""
        key = str(id)
        return key not in self._calls and self._has_room_for(len(key))

    def make_room_for(self, id: Id, *, evicts: bool) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether one more request may wait; cancelled ones are forgotten for it.

        `evicts`: so are the oldest, as those whose answer nobody would miss.
        """
        length = len(str(id))
        if self._has_room_for(length):
            return True
        # Not looked for among all: who fills this up would have that done each time.
        for key in tuple(self._cancelled):
            if self._calls[key].stage is Stage.CANCELLED:
                self._forget(key)
        self._cancelled.clear()
        while evicts and self._calls and not self._has_room_for(length):
            self._forget(next(iter(self._calls)))
        return self._has_room_for(length)

    def put(self, call: CallInFlight) -> None:
        """Keep a request as it stands now."""
        key = str(call.id)
        if key not in self._calls:
            self._characters += len(key)
        elif call.stage is Stage.CANCELLED:  # as only what waits can be
            self._cancelled.add(key)
        self._calls[key] = call
        self._index.setdefault(key, self)

    def find(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Give the request that waits under `id`."""
        return self._calls.get(str(id))

    def find_sent(self, id: Id | None) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Give the request under `id` that the other side may answer."""
        call = None if id is None else self.find(id)
        return call if call is not None and call.stage in {Stage.SENT, Stage.CANCELLED} else None

    def may_be_meant_by(self, id: Id) -> bool:  # noqa: A002 - JSON-RPC's word
        """Whether a request waits under `id`, or under the number that JavaScript makes of it."""
        return any(meaning in self for meaning in meanings(id))

    def sent(self) -> tuple[CallInFlight, ...]:
        """Give all requests that the other side has yet to answer."""
        return tuple(call for call in self._calls.values() if call.stage is Stage.SENT)

    def cancel(self, id: Id) -> CallInFlight | None:  # noqa: A002 - JSON-RPC's word
        """Take a sender at its word that it wants no answer; give the request as it now stands."""
        call = self.find(id)
        if call is None:
            return None
        cancelled = replace(call, stage=_WHEN_CANCELLED.get(call.stage, call.stage))
        self.put(cancelled)
        return cancelled

    def end(self, id: Id | None) -> None:  # noqa: A002 - JSON-RPC's word
        """Forget the request under `id`, if one waits there: it is answered."""
        if id is not None and id in self:
            self._forget(str(id))

    def give_up(self, id: Id | None, call_id: str) -> None:  # noqa: A002 - JSON-RPC's word
        """Forget the request that `call_id` names; another one under the same id stays."""
        call = None if id is None else self.find(id)
        if call is not None and call.call_id == call_id:
            self._forget(str(call.id))

    def end_unanswerable(self) -> tuple[CallInFlight, ...]:
        """Forget all requests that the other side will never answer, and give those that are wanted.

        What is `HELD` has its answer here, and what is `WITHDRAWN` gets one.
        """
        ended = [call for call in self._calls.values() if call.stage not in {Stage.HELD, Stage.WITHDRAWN}]
        for call in ended:
            self._forget(str(call.id))
        return tuple(call for call in ended if call.stage is not Stage.CANCELLED)

    def take_all(self) -> tuple[CallInFlight, ...]:
        """Forget all requests, and give them."""
        calls = tuple(self._calls.values())
        for key in list(self._calls):
            self._forget(key)
        return calls

    def _has_room_for(self, length: int) -> bool:
        characters = self._characters + length
        return len(self._calls) < (self._most or _MAX_CALLS) and characters <= (
            self._most_characters or _MAX_CHARACTERS
        )

    def _forget(self, key: str) -> None:
        del self._calls[key]
        self._cancelled.discard(key)
        if self._index.get(key) is self:
            del self._index[key]
        self._characters -= len(key)
