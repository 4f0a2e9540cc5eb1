"""An anchor is read strictly, and comes out as it went in."""

from __future__ import annotations

import json

import pytest

from agentfence.core.audit.anchors import Anchor, read_anchor
from agentfence.core.errors import AuditError

HASH = "0a" * 32
PLAIN = Anchor(3, 2, HASH, "2027-01-31T00:00:00Z", "run")


@pytest.mark.parametrize(
    "anchor", [PLAIN, PLAIN.signed(lambda digest: digest), Anchor(1, 1, HASH, "now", "<a>")]
)
def test_anchor_is_read_as_it_was_written(anchor: Anchor) -> None:
    assert read_anchor(anchor.text().encode()) == anchor


def test_digest_leaves_the_signature_out() -> None:
    assert PLAIN.signed(lambda digest: digest).digest() == PLAIN.digest()
    assert json.loads(PLAIN.text()) == {
        "schema_version": "1",
        "session_id": "run",
        "event_count": 3,
        "last_seq": 2,
        "last_hash": HASH,
        "timestamp": "2027-01-31T00:00:00Z",
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema_version", "2"),
        ("event_count", 0),
        ("event_count", True),
        ("last_seq", "2"),
        ("last_hash", HASH.upper()),
        ("last_hash", HASH + "\n"),
        ("last_hash", None),
        ("timestamp", 1),
        ("session_id", 1),
        ("signature", "?"),
        ("signature", 1),
        ("more", 1),
    ],
)
def test_anchor_with_a_wrong_member_is_none(key: str, value: object) -> None:
    with pytest.raises(AuditError):
        read_anchor(json.dumps({**json.loads(PLAIN.text()), key: value}).encode())


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b"\xff", b'{"schema_version":"1","schema_version":"1"}'])
def test_other_bytes_are_no_anchor(text: bytes) -> None:
    with pytest.raises(AuditError):
        read_anchor(text)
