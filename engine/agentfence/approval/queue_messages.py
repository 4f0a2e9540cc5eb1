"""What a fence and `agentfence approvals` say to each other: one JSON object a line, bounded.

| who       | says           | when                                                                     |
| --------- | -------------- | ------------------------------------------------------------------------ |
| attendant | `Attend`       | it wants all questions from now on, and a person reads them              |
| attendant | `Look`         | it wants to know what waits; that makes nobody be there                  |
| attendant | `Shown`        | a person sees this question now, so its time begins                      |
| attendant | `Say`          | a person has said this                                                   |
| fence     | `Hello`        | first                                                                    |
| fence     | `Asked`        | a question waits                                                         |
| fence     | `Settled`      | a question has its answer, from whomever                                 |
| fence     | `Heard`        | it took, or did not take, what was said                                  |
| fence     | `Looked`       | that was all that waits                                                  |

Invariant: a line that is not exactly one of these is refused, and ends the connection.
"""

from __future__ import annotations

import json
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from agentfence.approval.prompt import Prompt, Reply
from agentfence.core.values import as_dict, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FROM_ATTENDANT: Final = 1_024
"""Bytes of a line from an attendant."""
MAX_FROM_FENCE: Final = 262_144
"""Bytes of a line from a fence: a prompt is bounded, and JSON makes at most twelve bytes of a character."""


@frozen
class Attend:
    """A person reads along from now on."""


@frozen
class Look:
    """It asks what waits now."""


@frozen
class Shown:
    """A person sees the question now."""

    id: str


@frozen
class Say:
    """A person has said this."""

    id: str
    reply: Reply


@frozen
class Hello:
    """Who asks."""

    fence: str
    """The name that the ids of its questions begin with."""
    process: int
    timeout: float
    """How long a question waits once it is shown, in seconds."""


@frozen
class Asked:
    """A question waits."""

    id: str
    """Its fence and its call, as `k3f9q-7`: never used again for another."""
    waited_ms: int
    prompt: Prompt


@frozen
class Settled:
    """A question has its answer."""

    id: str
    outcome: str
    by: str | None


@frozen
class Heard:
    """What was said counts, or `problem` says why not."""

    id: str
    problem: str | None


@frozen
class Looked:
    """Nothing else waits."""


type FromAttendant = Attend | Look | Shown | Say
type FromFence = Hello | Asked | Settled | Heard | Looked

_FROM_ATTENDANT = MappingProxyType({kind.__name__.lower(): kind for kind in (Attend, Look, Shown, Say)})
_FROM_FENCE = MappingProxyType(
    {kind.__name__.lower(): kind for kind in (Hello, Asked, Settled, Heard, Looked)}
)


def line_of(message: FromAttendant | FromFence) -> bytes:
    """Give the line that says `message`, with its end."""
    members = {"type": type(message).__name__.lower(), **as_dict(message)}
    return json.dumps(members, ensure_ascii=True, separators=(",", ":"), default=as_dict).encode() + b"\n"


def read_from_attendant(line: bytes) -> FromAttendant:
    """Give what an attendant said.

    Raises:
        ValueError: It is none of the messages of the table.

    """
    message: FromAttendant = _read(line, _FROM_ATTENDANT)
    return message


def read_from_fence(line: bytes) -> FromFence:
    """Give what a fence said.

    Raises:
        ValueError: It is none of the messages of the table.

    """
    message: FromFence = _read(line, _FROM_FENCE)
    return message


def _read(line: bytes, kinds: Mapping[str, type[Any]]) -> Any:
    try:
        members = json.loads(line)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(members, dict) or not isinstance(members.get("type"), str):
        raise ValueError("no message")
    kind = kinds.get(members.pop("type"))
    if kind is None:
        raise ValueError("no message of this side")
    return _build(kind, members)


def _build(kind: type[Any], members: object) -> Any:
    """Give the value `kind` of exactly these members, each of its type."""
    wanted = get_type_hints(kind)
    if not isinstance(members, dict) or members.keys() != wanted.keys():
        raise ValueError(f"{kind.__name__} has other members")
    return kind(**{name: _member(members[name], meant) for name, meant in wanted.items()})


def _member(value: object, wanted: type) -> object:
    if wanted is Prompt:
        return _build(Prompt, value)
    if wanted is Reply and isinstance(value, str):
        return Reply(value)
    allowed = getattr(wanted, "__args__", (wanted,))
    if wanted is float:
        allowed = (float, int)
    if type(value) not in allowed and not (value is None and NoneType in allowed):
        raise ValueError("a member is of another type")
    return value
