"""Anchors: the last line of a log at some time, to be kept somewhere else.

The form is the Go AgentFence's, so either program verifies the other's: a JSON object with
`schema_version` "1", `session_id` (where the log is of one run), `event_count`, `last_seq`,
`last_hash`, `timestamp`, and a `signature` over the SHA-256 of the object without it.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from hashlib import sha256
from typing import TYPE_CHECKING

from agentfence.core.errors import AuditError
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from typing import TypeGuard

    from agentfence.core.record import Sign

_HASH = re.compile(r"[0-9a-f]{64}\Z")
_KEYS = ("schema_version", "session_id", "event_count", "last_seq", "last_hash", "timestamp", "signature")


@frozen
class Anchor:
    """One line of a log, by its number, its `seq` and its hash."""

    event_count: int
    last_seq: int
    last_hash: str
    timestamp: str
    session_id: str | None = None
    signature: bytes | None = None

    def digest(self) -> bytes:
        """Give what is signed: the SHA-256 of the anchor without its signature."""
        return sha256(self._text(signature=False).encode()).digest()

    def signed(self, sign: Sign) -> Anchor:
        """Give this anchor with a signature."""
        return Anchor(
            self.event_count,
            self.last_seq,
            self.last_hash,
            self.timestamp,
            self.session_id,
            sign(self.digest()),
        )

    def text(self) -> str:
        """Give it as JSON, without a line end."""
        return self._text(signature=True)

    def _text(self, *, signature: bool) -> str:
        members: dict[str, object] = {"schema_version": "1"}
        if self.session_id:
            members["session_id"] = self.session_id
        members |= {
            "event_count": self.event_count,
            "last_seq": self.last_seq,
            "last_hash": self.last_hash,
            "timestamp": self.timestamp,
        }
        if signature and self.signature is not None:
            members["signature"] = b64encode(self.signature).decode()
        text = json.dumps(members, separators=(",", ":"), ensure_ascii=False)
        return re.sub("[<>&\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text)  # as Go writes it


def read_anchor(text: bytes) -> Anchor:
    """Give the anchor in a file.

    Raises:
        AuditError: It is none.

    """
    try:
        value = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise AuditError("the anchor is no JSON object") from error
    if not isinstance(value, dict) or value.get("schema_version") != "1" or not set(value) <= set(_KEYS):
        raise AuditError("the anchor is not of schema 1")
    count, seq, hash_ = value.get("event_count"), value.get("last_seq"), value.get("last_hash")
    time, session_id = value.get("timestamp"), value.get("session_id")
    if not _is_number(count) or not _is_number(seq) or not isinstance(time, str):
        raise AuditError("the anchor must have `event_count`, `last_seq` and `timestamp`")
    if not isinstance(hash_, str) or not _HASH.match(hash_):
        raise AuditError("the anchor's `last_hash` must be a SHA-256 in hexadecimal")
    if session_id is not None and not isinstance(session_id, str):
        raise AuditError("the anchor's `session_id` must be a text")
    return Anchor(count, seq, hash_, time, session_id, _read_signature(value.get("signature")))


def _read_signature(signature: object) -> bytes | None:
    if signature in (None, ""):
        return None
    try:
        if isinstance(signature, str):
            return b64decode(signature, validate=True)
    except (NoBase64, ValueError):
        pass
    raise AuditError("the anchor's `signature` must be base64")


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key is there twice")
    return members
