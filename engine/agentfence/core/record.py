"""Audit events, and the chain that ties each line of a log to the one before.

A line is one JSON object. Its `hash` is the SHA-256 of all bytes of the line before `,"hash":`, and
the member before that is `prev_hash`, the hash of the line before (absent on the first); in a signed
log a `signature` over the hash follows. So nothing can be added, changed or taken out of the middle
unseen, and verifying needs the bytes alone: nothing is decoded and encoded again.
"""

from __future__ import annotations

from binascii import b2a_base64
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from agentfence.core.effects import WrittenEvent
from agentfence.core.json_writing import write_json, write_text, write_value
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen, message_value, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentfence.core.constraints.interface import Json
    from agentfence.core.effects import Event

    type Sign = Callable[[bytes], bytes]
    """Gives the Ed25519 signature of a digest."""

SCHEMA_VERSION = "6"
"""1 to 5 are the Go AgentFence's."""

_SEAL = late_regex(rb',"hash":"([0-9a-f]{64})"(?:,"signature":"([A-Za-z0-9+/]{86}==)")?\}\Z')
LONGEST_LINE = 67_108_864
"""Bytes of a line, its end included: longer ones are neither written nor read."""
LONGEST_SEAL = 192
"""Bytes at the end of a line that hold its seal."""
_LINK = late_regex(rb',"prev_hash":"([0-9a-f]{64})"\Z')
_LINK_LENGTH = len(b',"prev_hash":""') + 64


def timestamp(time: float) -> str:
    """Give seconds since 1970 as RFC 3339 text, UTC, with microseconds."""
    second, microsecond = divmod(round(time * 1_000_000), 1_000_000)
    return f"{_date_and_time(second)}.{microsecond:06}Z"


@lru_cache(maxsize=4)
def _date_and_time(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat().removesuffix("+00:00")


@message_value
class Chain:
    """Where a run stands in its log: what the next line is made from.

    `seal` gives the line and the chain after it; keep the new one only when the line is written.
    """

    session_id: str
    seq: int = 0
    last_hash: str | None = None
    is_hashed: bool = True
    sign: Sign | None = None
    """Signs the hash of each line; only a chained log is signed."""

    def seal(self, event: Event) -> tuple[bytes, Chain]:
        """Give the line for `event`, with its line end, and the chain after it."""
        seq, last_hash = self.seq + 1, self.last_hash if self.is_hashed else None
        if isinstance(event, WrittenEvent):
            covered = _covered(self.session_id, seq, event, last_hash)
        else:
            members: dict[str, Json] = {
                "schema_version": SCHEMA_VERSION,
                "session_id": self.session_id,
                "seq": seq,
                **event,
            }
            if last_hash is not None:
                members["prev_hash"] = last_hash
            covered = write_json(members)[:-1]
        if not self.is_hashed:
            return covered + b"}\n", Chain(self.session_id, seq, None, is_hashed=False)
        digest = sha256(covered)
        text = digest.hexdigest()
        signature = b"" if self.sign is None else _signature(self.sign(digest.digest()))
        line = b'%s,"hash":"%s"%s}\n' % (covered, text.encode(), signature)
        return line, Chain(self.session_id, seq, text, True, self.sign)  # noqa: FBT003 - by name takes longer

    def after(self, last_hash: str | None) -> Chain:
        """Give this chain tied to a line that somebody else wrote.

        Where that one has a hash, ours have: a line without one would break the chain.
        """
        return replace(self, last_hash=last_hash, is_hashed=self.is_hashed or last_hash is not None)


def _covered(session_id: str, seq: int, event: WrittenEvent, last_hash: str | None) -> bytes:
    """Give what `write_json` makes of the members of a line, put together from what is written already."""
    before = f'{{"schema_version":"{SCHEMA_VERSION}","session_id":{write_text(session_id)},"seq":{seq}'
    arguments = (',"arguments":', write_value(event["arguments"])) if "arguments" in event else ()
    link = "" if last_hash is None else f',"prev_hash":{write_text(last_hash)}'
    return "".join((before, ",", event.text, *arguments, link)).encode("ascii")


def _signature(signature: bytes) -> bytes:
    return b',"signature":"%s"' % b2a_base64(signature, newline=False)


@frozen
class Seal:
    """What the end of a line says of the line."""

    covered: bytes
    """Everything before `,"hash":`."""
    hash: str
    prev_hash: str | None
    signature: bytes | None
    """In base64."""


def read_seal(line: bytes) -> Seal | None:
    """Give the seal of a line (without its line end); None where the line does not end as one."""
    found = _SEAL.search(line, max(0, len(line) - LONGEST_SEAL))
    if found is None:
        return None
    covered = line[: found.start()]
    link = _LINK.search(covered, max(0, len(covered) - _LINK_LENGTH))
    prev_hash = None if link is None else link[1].decode()
    return Seal(covered, found[1].decode(), prev_hash, found[2])


def hash_of_line(line: bytes) -> str | None:
    """Give the hash that a line (without its line end) carries; None when it carries none."""
    seal = read_seal(line)
    return None if seal is None else seal.hash


def is_intact(line: bytes) -> bool:
    """Whether a line (without its line end) is the one that its hash was made from."""
    seal = read_seal(line)
    return seal is not None and seal.hash == sha256(seal.covered).hexdigest()
