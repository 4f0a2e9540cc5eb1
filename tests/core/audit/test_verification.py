"""A log is verified from its bytes: what is not as it was written shows, and where."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.audit.anchors import Anchor
from agentfence.core.audit.reports import LogReport, Status, chain_of, join_files
from agentfence.core.audit.verification import FileVerification
from agentfence.core.record import Chain, hash_of_line

GO_EVENT = (
    b'{"schema_version":"4","session_id":"s","seq":1,"timestamp":"2026-01-01T00:00:00Z","call_id":"c1",'
    b'"tool":"t","decision":"allow","reason":"r","reason_code":"rule_match"}'
)
GO_HASH = "d3224a159228efe44ce70d90a1efc19af07e607eefe2072df0d3ccec25373416"


def lines_of(*events: dict[str, Any], chain: Chain | None = None) -> list[bytes]:
    chain = chain or Chain("run")
    lines = []
    for event in events or ({"reason": "a", "n": 1.0}, {"reason": "b"}, {"reason": "c"}, {"reason": "d"}):
        line, chain = chain.seal(event)
        lines.append(line)
    return lines


def verify(*files: list[bytes], wanted: Anchor | None = None, check: Any = None) -> LogReport:
    reports = []
    for number, lines in enumerate(files):
        verification = FileVerification(f"file-{number}", check, {wanted.last_hash} if wanted else ())
        for line in lines:
            verification.feed(line)
        reports.append(verification.end())
    return join_files(tuple(reports), wanted)


def go_line(event: bytes, prev_hash: str | None = None, signature: str | None = None) -> bytes:
    """A line as Go's json.Marshal gives it: the hash is over the object without it."""
    if prev_hash is not None:
        event = event[:-1] + b',"prev_hash":"' + prev_hash.encode() + b'"}'
    tail = b',"hash":"' + hashlib.sha256(event).hexdigest().encode() + b'"'
    if signature is not None:
        tail += b',"signature":"' + signature.encode() + b'"'
    return event[:-1] + tail + b"}\n"


def unchained(*lines: bytes) -> list[bytes]:
    without = []
    for line in lines:
        event = json.loads(line)
        event.pop("hash", None)
        event.pop("prev_hash", None)
        without.append(json.dumps(event, separators=(",", ":")).encode() + b"\n")
    return without


def test_whole_log_is_fine() -> None:
    report = verify(lines_of())

    assert (report.status, report.events) == (Status.OK, 4)


def changed(place: int, old: bytes, new: bytes) -> list[bytes]:
    lines = lines_of()
    assert old in lines[place]
    lines[place] = lines[place].replace(old, new, 1)
    return lines


def fork(line: bytes) -> list[bytes]:
    """A line of another writer that goes on from the same one."""
    return lines_of({"reason": "forged"}, chain=Chain("other", last_hash=hash_of_line(line[:-1])))


WHOLE = lines_of()
TAMPERED: dict[str, tuple[list[bytes], Status, int]] = {
    "changed value": (changed(1, b'"b"', b'"x"'), Status.FAILED, 2),
    "unknown field": (changed(1, b'"seq":2', b'"seq":2,"more":1'), Status.FAILED, 2),
    "duplicate key": (changed(1, b'"seq":2', b'"seq":2,"seq":2'), Status.FAILED, 2),
    "white space": (changed(1, b'"seq":2', b'"seq": 2'), Status.FAILED, 2),
    "number spelling": (changed(0, b"1.0", b"1.00"), Status.FAILED, 1),
    "escaped letter": (changed(1, b'"b"', rb'"\u0062"'), Status.FAILED, 2),
    "field after the hash": (changed(1, b"}\n", b',"more":1}\n'), Status.FAILED, 2),
    "blank after the line": (changed(1, b"}\n", b"} \n"), Status.FAILED, 2),
    "carriage return": (changed(1, b"}\n", b"}\r\n"), Status.FAILED, 2),
    "line removed": ([WHOLE[0], *WHOLE[2:]], Status.FAILED, 2),
    "line twice": ([WHOLE[0], WHOLE[0], *WHOLE[1:]], Status.FAILED, 2),
    "lines swapped": ([WHOLE[0], WHOLE[2], WHOLE[1], WHOLE[3]], Status.FAILED, 2),
    "line of another log": ([*WHOLE[:2], lines_of({"reason": "z"})[0], *WHOLE[2:]], Status.FAILED, 3),
    "hashes taken out of one line": ([WHOLE[0], *unchained(WHOLE[1]), *WHOLE[2:]], Status.FAILED, 2),
    "blank line": ([WHOLE[0], b"\n", *WHOLE[1:]], Status.FAILED, 2),
    "every line with a carriage return": ([line[:-1] + b"\r\n" for line in WHOLE], Status.FAILED, 1),
    "byte order mark": ([b"\xef\xbb\xbf" + WHOLE[0], *WHOLE[1:]], Status.CORRUPT, 1),
    "NUL after the log, as a crash of the machine leaves it": ([*WHOLE, b"\0" * 64], Status.CORRUPT, 5),
    "two lines that follow one": ([*WHOLE[:2], *fork(WHOLE[1]), *WHOLE[2:]], Status.FAILED, 4),
    "schema of the other program": (changed(1, b'"6"', b'"5"'), Status.FAILED, 2),
    "torn line alone": ([WHOLE[0][:50]], Status.CORRUPT, 1),
    "line cut to an object": ([WHOLE[0], WHOLE[1][:60] + b'"}\n', *WHOLE[2:]], Status.FAILED, 2),
    "no JSON": ([WHOLE[0], b"{nonsense}\n", *WHOLE[1:]], Status.CORRUPT, 2),
    "no object": ([b"[]\n"], Status.CORRUPT, 1),
    "other schema": ([WHOLE[0].replace(b'"6"', b'"7"', 1)], Status.CORRUPT, 1),
    "torn last line": ([*WHOLE[:3], WHOLE[3][:40]], Status.CORRUPT, 4),
    "last line without its end": ([*WHOLE[:3], WHOLE[3][:-1]], Status.CORRUPT, 4),
    "too long": ([WHOLE[0], None], Status.CORRUPT, 2),  # type: ignore[list-item]
    "start cut off": (WHOLE[1:], Status.TRUNCATED, 1),
}


def rechained(*seqs: int, kinds: tuple[str, ...] = ()) -> list[bytes]:
    """A chain that is sound, of events of one run with these numbers."""
    lines, last_hash = [], None
    for seq, kind in zip(seqs, kinds or ["judged"] * len(seqs), strict=True):
        line, chain = Chain("run", seq - 1, last_hash).seal({"kind": kind})
        lines.append(line)
        last_hash = chain.last_hash
    return lines


TAMPERED |= {
    "line removed and the rest chained again": (rechained(1, 2, 4), Status.FAILED, 3),
    "first lines removed and the rest chained again": (rechained(3, 4), Status.FAILED, 1),
}


@pytest.mark.parametrize(
    ("seqs", "kinds"),
    [
        ((1, 2, 2, 3), ()),  # a line that could not be taken back, whose number the next one has too
        ((3, 4, 7), ("log_replaced", "judged", "log_replaced")),  # says itself what it lost
    ],
)
def test_run_may_repeat_a_number_and_say_what_it_lost(seqs: tuple[int, ...], kinds: tuple[str, ...]) -> None:
    assert verify(rechained(*seqs, kinds=kinds)).status is Status.OK


def test_numbers_count_in_each_run_and_from_where_the_file_begins() -> None:
    first, chain = Chain("run").seal({})
    second, other = Chain("other").after(chain.last_hash).seal({})
    third, _ = chain.after(other.last_hash).seal({})
    fourth, _ = other.after(hash_of_line(third[:-1])).seal({})

    assert verify([first, second, third, fourth]).status is Status.OK
    assert verify([first, second], [third, fourth]).status is Status.OK
    assert verify([*unchained(first), *lines_of(chain=Chain("run", 1))]).status is Status.PARTIAL


def test_runs_that_wrote_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.core.audit.verification._MOST_RUNS", 2)
    lines, last_hash = [], None
    for run, seq in (("a", 1), ("b", 1), ("c", 1), ("a", 2), ("a", 4)):
        line, chain = Chain(run, seq - 1, last_hash).seal({})
        lines.append(line)
        last_hash = chain.last_hash

    assert verify(lines[:4]).status is Status.OK
    assert verify(lines).status is Status.FAILED


@pytest.mark.parametrize("name", TAMPERED)
def test_tampered_log_is_found_out_with_its_place(name: str) -> None:
    lines, status, line = TAMPERED[name]
    report = verify(lines)
    finding = report.findings[0]

    assert (report.status, finding.line) == (status, line)
    assert finding.offset == sum(len(before or b"") for before in lines[: line - 1])


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ([], Status.NO_CHAIN),
        (unchained(*WHOLE), Status.NO_CHAIN),
        ([*unchained(*WHOLE[:2]), *lines_of(chain=Chain("next"))], Status.PARTIAL),
        ([*unchained(*WHOLE[:2]), *WHOLE[2:]], Status.PARTIAL),
    ],
)
def test_log_that_nothing_covers_is_not_fine(lines: list[bytes], status: Status) -> None:
    assert verify(lines).status is status


def test_log_of_the_go_program_is_fine() -> None:
    first = go_line(GO_EVENT)
    second = go_line(GO_EVENT.replace(b'"4"', b'"5"').replace(b"1,", b"2,", 1), GO_HASH)
    escaped = GO_EVENT.replace(b'"r"', rb'"\u003ca\u0026b\u003e \u2028 1e3"')
    third = go_line(escaped, json.loads(second)["hash"], signature="A" * 86 + "==")

    assert GO_HASH.encode() in first
    assert verify([first, second, third]).status is Status.OK
    assert verify([first.replace(b'"t"', b'"u"'), second]).status is Status.FAILED
    assert verify([first, go_line(GO_EVENT)]).status is Status.FAILED
    assert verify([GO_EVENT + b"\n"]).status is Status.NO_CHAIN


def test_log_of_the_go_program_that_we_went_on_with_is_fine() -> None:
    assert verify([go_line(GO_EVENT), *lines_of(chain=Chain("run", last_hash=GO_HASH))]).status is Status.OK


@given(st.data())
def test_any_changed_byte_of_a_log_shows(data: st.DataObject) -> None:
    text = b"".join(WHOLE)
    place = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != text[place]))
    lines = (text[:place] + bytes([byte]) + text[place + 1 :]).splitlines(keepends=True)

    assert verify(lines).status is not Status.OK


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report(line: bytes) -> None:
    assert verify([line]).status is not Status.OK


# signatures


def signed_lines() -> list[bytes]:
    return lines_of(chain=Chain("run", sign=lambda digest: digest + digest))


def is_signed(digest: bytes, signature: bytes) -> bool:
    return signature == digest + digest


def test_signed_log_is_fine_with_its_key() -> None:
    report = verify(signed_lines(), check=is_signed)

    assert (report.status, report.files[0].signed) == (Status.OK, 4)


def test_signature_of_another_key_fails() -> None:
    report = verify(signed_lines(), check=lambda *_: False)

    assert (report.status, report.findings[0].line) == (Status.FAILED, 1)


@pytest.mark.parametrize("place", [0, 3])
def test_one_line_without_signature_is_unsigned(place: int) -> None:
    lines = signed_lines()
    lines[place] = lines[place].split(b',"signature"')[0] + b"}\n"
    report = verify(lines, check=is_signed)

    assert (report.status, report.findings[0].line) == (Status.UNSIGNED, place + 1)


# segments


def test_segments_in_any_order_are_one_log() -> None:
    assert verify(WHOLE[2:], WHOLE[:2]).status is Status.OK


def test_missing_segment_is_found_out() -> None:
    assert verify(WHOLE[:1], WHOLE[2:]).status is Status.TRUNCATED


def test_segment_with_a_cut_tail_is_found_out() -> None:
    assert verify(WHOLE[:2], WHOLE[3:]).status is Status.TRUNCATED


def test_two_files_that_go_on_from_one_line_are_found_out() -> None:
    last = json.loads(WHOLE[1])["hash"]
    forged = lines_of({"reason": "forged"}, chain=Chain("run", last_hash=last))

    assert verify(WHOLE[:2], WHOLE[2:], forged).status is Status.FAILED


def test_segment_whose_removal_is_recorded_is_not_missed() -> None:
    last = json.loads(WHOLE[1])["hash"]
    event = {"kind": "segments_removed", "segments": ["a"], "last_hash": last}
    here = lines_of({"kind": "log_rotated"}, event, chain=Chain("run", last_hash=last))

    assert verify(here).status is Status.OK
    assert verify(here[:1]).status is Status.TRUNCATED


# anchors


def anchor_at(number: int, lines: list[bytes] = WHOLE) -> Anchor:
    event = json.loads(lines[number - 1])
    return Anchor(number, event["seq"], event["hash"], "now")


@pytest.mark.parametrize("number", [1, 3, 4])
def test_log_that_holds_the_anchored_event_is_fine(number: int) -> None:
    assert verify(WHOLE, wanted=anchor_at(number)).status is Status.OK
    assert verify(WHOLE[:2], WHOLE[2:], wanted=anchor_at(number)).status is Status.OK


def test_cut_tail_is_found_with_an_anchor() -> None:
    assert verify(WHOLE[:3]).status is Status.OK
    assert verify(WHOLE[:3], wanted=anchor_at(4)).status is Status.TRUNCATED
    assert verify([], wanted=anchor_at(4)).status is Status.TRUNCATED


def test_anchor_that_says_another_number_fails() -> None:
    anchor = anchor_at(3)

    assert verify(WHOLE, wanted=Anchor(2, 3, anchor.last_hash, "now")).status is Status.FAILED
    assert verify(WHOLE, wanted=Anchor(3, 2, anchor.last_hash, "now")).status is Status.FAILED


def test_end_of_the_one_chain_is_found_over_all_files() -> None:
    last, count = chain_of(verify(WHOLE[2:], WHOLE[:2]).files)

    assert (last.last_hash, count) == (json.loads(WHOLE[3])["hash"], 4)
    with pytest.raises(ValueError, match="got 2"):
        chain_of(verify(WHOLE, lines_of(chain=Chain("other"))).files)
