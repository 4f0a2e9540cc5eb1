"""What one HTTP body or one line holds: a message, a batch, too much, or nothing readable.

Invariant: any bytes give exactly one of the four; nothing here raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import Notification, Response, legal_id, parse_json, read_message
from agentfence.core.values import frozen, message_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.jsonrpc import Id, Json, Message


@message_value
class Single:
    """One JSON-RPC message."""

    message: Message


@message_value
class Entry:
    """One member of a batch: a message, or the problem with it."""

    message: Message | None
    id: Id | None
    """What an error about this entry must carry."""
    problem: str | None = None


@frozen
class Batch:
    """A JSON array, whatever its members are."""

    entries: tuple[Entry, ...]
    """None were read when there are more than `max_batch`."""
    raw: bytes
    size: int
    duplicate_ids: bool = False
    """Servers run every request of an id that occurs twice, and answer one."""


@frozen
class Oversize:
    """More than `limit` bytes."""

    limit: int
    size: int


@frozen
class Unparsed:
    """No strict JSON (`code` -32700), or JSON that is no message (-32600)."""

    code: int
    problem: str
    id: Id | None = None
    """The value's id, where it has a legal one."""


type Envelope = Single | Batch | Oversize | Unparsed


def read_envelope(body: bytes, *, max_body: int, max_batch: int, lenient_error_id: bool = False) -> Envelope:
    """Give what `body` holds; `max_body` bytes and `max_batch` members still pass."""
    if len(body) > max_body:
        return Oversize(max_body, len(body))
    value: Json = None
    try:
        value = parse_json(body)
        if isinstance(value, list):
            return _read_batch(value, body, max_batch, lenient_error_id=lenient_error_id)
        return Single(read_message(value, lenient_error_id=lenient_error_id))
    except ProtocolViolation as violation:
        return Unparsed(violation.code, str(violation), legal_id(value))


def messages_in(envelope: Envelope) -> list[Message]:
    """Give the messages that an envelope holds, as far as they can be read."""
    match envelope:
        case Single(message=message):
            return [message]
        case Batch(entries=entries):
            return [entry.message for entry in entries if entry.message is not None]
    return []


def _read_batch(members: list[Json], raw: bytes, max_batch: int, *, lenient_error_id: bool) -> Batch:
    if len(members) > max_batch:
        return Batch((), raw, len(members))
    entries = tuple(_read_entry(member, lenient_error_id=lenient_error_id) for member in members)
    asked = (entry.id for entry in entries if not isinstance(entry.message, Response))
    answered = (entry.id for entry in entries if isinstance(entry.message, Response))
    return Batch(entries, raw, len(members), _repeats(asked) or _repeats(answered))


def _read_entry(member: Json, *, lenient_error_id: bool) -> Entry:
    try:
        message = read_message(member, lenient_error_id=lenient_error_id)
    except ProtocolViolation as violation:
        return Entry(None, legal_id(member), str(violation))
    return Entry(message, None if isinstance(message, Notification) else message.id)


def _repeats(ids: Iterable[Id | None]) -> bool:
    # As texts, because there are servers and clients to which 1 and "1" are the same id.
    texts = [str(found) for found in ids if found is not None]
    return len(set(texts)) < len(texts)
