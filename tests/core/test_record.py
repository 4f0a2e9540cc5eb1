from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.record import SCHEMA_VERSION, Chain, hash_of_line, is_intact, timestamp

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
events = st.dictionaries(st.sampled_from(["reason", "arguments", "tool", "hash_of", 'a","hash":"b']), values)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000.25, "2023-11-14T22:13:20.250000Z"),
        (4_102_444_800, "2100-01-01T00:00:00.000000Z"),
    ],
)
def test_timestamp_is_rfc_3339_in_utc(time: float, text: str) -> None:
    assert timestamp(time) == text


def sealed(*written: dict[str, object], is_hashed: bool = True) -> list[bytes]:
    chain, lines = Chain("run", is_hashed=is_hashed), []
    for event in written:
        line, chain = chain.seal(event)  # type: ignore[arg-type]
        lines.append(line)
    return lines


def test_line_is_json_that_counts_and_ends_with_its_hash() -> None:
    first, second = map(json.loads, sealed({"reason": "a"}, {"reason": "b"}))

    assert list(first) == ["schema_version", "session_id", "seq", "reason", "hash"]
    assert list(second) == ["schema_version", "session_id", "seq", "reason", "prev_hash", "hash"]
    assert (first["schema_version"], first["session_id"]) == (SCHEMA_VERSION, "run")
    assert [first["seq"], second["seq"]] == [1, 2]
    assert second["prev_hash"] == first["hash"]


def test_hash_covers_the_bytes_before_it() -> None:
    (line,) = sealed({"reason": "é"})
    covered, _, rest = line.rpartition(b',"hash":"')

    assert rest == hashlib.sha256(covered).hexdigest().encode() + b'"}\n'
    assert line.isascii()


def test_without_chain_lines_are_only_counted() -> None:
    first, second = map(json.loads, sealed({"reason": "a"}, {"reason": "b"}, is_hashed=False))

    assert [first["seq"], second["seq"]] == [1, 2]
    assert not {"hash", "prev_hash"} & {*first, *second}


def test_line_of_a_signed_log_ends_with_the_signature_of_its_hash() -> None:
    line, chain = Chain("run", sign=lambda digest: b"signed " + digest).seal({})
    members = json.loads(line)

    assert list(members)[-2:] == ["hash", "signature"]
    assert base64.b64decode(members["signature"]) == b"signed " + bytes.fromhex(members["hash"])
    assert json.loads(chain.seal({})[0])["prev_hash"] == members["hash"]


def test_chain_goes_on_after_somebody_elses_line() -> None:
    line, _ = Chain("run", 7, "old").after("theirs").seal({})

    assert json.loads(line)["prev_hash"] == "theirs"
    assert json.loads(line)["seq"] == 8


@given(st.lists(events, min_size=1, max_size=5))
def test_chain_of_any_events_verifies(written: list[dict[str, object]]) -> None:
    lines = [line.removesuffix(b"\n") for line in sealed(*written)]

    assert all(b"\n" not in line for line in lines)
    assert all(map(is_intact, lines))
    hashes = [hash_of_line(line) for line in lines]
    assert [json.loads(line).get("prev_hash") for line in lines] == [None, *hashes[:-1]]


@given(events, st.data())
def test_any_changed_byte_is_seen(event: dict[str, object], data: st.DataObject) -> None:
    (line,) = sealed(event)
    line = line.removesuffix(b"\n")
    place = data.draw(st.integers(0, len(line) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != line[place]))

    assert not is_intact(line[:place] + bytes([byte]) + line[place + 1 :])


@pytest.mark.parametrize(
    "line", [b"", b"{}", b'{"hash":"x"}', b'{"a":1,"hash":"' + b"0" * 63 + b'"}', b'"hash":"']
)
def test_line_without_a_hash_has_none(line: bytes) -> None:
    assert hash_of_line(line) is None


def test_line_with_a_wrong_hash_is_not_intact() -> None:
    line = b'{"a":1,"hash":"' + b"0" * 64 + b'"}'

    assert hash_of_line(line) == "0" * 64
    assert not is_intact(line)
