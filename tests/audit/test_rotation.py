"""Rotation links the files of a log, and retention removes its own segments alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from audit_logs import Clock, event, events_in, kinds_in, numbers_in, open_log, status_of

from agentfence.audit import verifying
from agentfence.audit.file_log import FileLog, Upkeep
from agentfence.audit.reading import read_events
from agentfence.audit.segments import files_of, segments_of
from agentfence.core.audit.reports import Status
from agentfence.core.errors import AuditError
from agentfence.core.record import Chain, hash_of_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SMALL = Upkeep(max_size=1_000)


def append_all(log: FileLog, numbers: Iterable[int]) -> None:
    for number in numbers:
        log.append(event(number))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def test_size_closes_a_file_and_the_next_goes_on_with_it(path: Path) -> None:
    log = open_log(path, upkeep=SMALL)
    for number in range(20):
        log.append(event(number))
    (first, *_) = segments = segments_of(path)

    assert [number for file in files_of(path) for number in numbers_in(file)] == list(range(20))
    assert len(segments) > 2
    assert events_in(path)[0]["kind"] == "log_rotated"
    assert all(file.stat().st_size < 1_400 for file in segments)
    assert status_of(path) is Status.OK
    assert status_of(path.parent) is Status.OK
    assert status_of(first) is Status.OK


def test_missing_segment_is_found_out(path: Path) -> None:
    log = open_log(path, upkeep=SMALL)
    for number in range(20):
        log.append(event(number))
    segments_of(path)[1].unlink()

    assert status_of(path) is Status.TRUNCATED


def test_age_counts_from_the_first_event_over_restarts(path: Path) -> None:
    clock, old = Clock(), Upkeep(max_age=60)
    open_log(path, upkeep=old, clock=clock).append(event(1))
    clock.now += 59
    open_log(path, "next", upkeep=old, clock=clock).append(event(2))
    assert segments_of(path) == []

    clock.now += 1
    log = open_log(path, "third", upkeep=old, clock=clock)
    log.append(event(3))
    log.append(event(4))
    assert [numbers_in(file) for file in files_of(path)] == [[1, 2], [3, 4]]


def test_retention_keeps_the_newest_and_records_what_it_removes(path: Path) -> None:
    log = open_log(path, upkeep=Upkeep(max_size=1_000, keep=2))
    for number in range(40):
        log.append(event(number))

    assert len(segments_of(path)) == 2
    assert "segments_removed" in kinds_in(path)
    assert status_of(path) is Status.OK
    segments_of(path)[0].unlink()
    assert status_of(path) is Status.TRUNCATED


def test_retention_touches_no_other_file(path: Path) -> None:
    names = [
        "audit.jsonl.bak",
        "audit.jsonl.20260101T000000.000000Z.gz",
        "audit.jsonl.20260101T000000.000000000Z",
        "xaudit.jsonl.20260101T000000.000000Z",
        "auditxjsonl.20260101T000000.000000Z",
        "other.jsonl",
    ]
    for name in names:
        (path.parent / name).write_text("mine")
    folder = path.parent / "audit.jsonl.20260101T000000.000001Z"
    folder.mkdir()
    link = path.parent / "audit.jsonl.20260101T000000.000002Z"
    link.symlink_to("other.jsonl")
    log = open_log(path, upkeep=Upkeep(max_size=1_000, keep=1))
    for number in range(40):
        log.append(event(number))

    assert all((path.parent / name).read_text() == "mine" for name in names)
    assert folder.is_dir()
    assert link.is_symlink()


def test_writer_that_was_not_there_goes_on_in_the_new_file(path: Path) -> None:
    rotating, other = open_log(path, upkeep=SMALL), open_log(path, "other")
    for number in range(0, 30, 2):
        rotating.append(event(number))
        other.append(event(number + 1))

    assert [number for file in files_of(path) for number in numbers_in(file)] == list(range(30))
    assert "log_replaced" not in [kind for file in files_of(path) for kind in kinds_in(file)]
    assert status_of(path) is Status.OK


def test_rotation_that_fails_refuses_and_recovers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(path, upkeep=SMALL)
    for number in range(6):
        log.append(event(number, 100))
    before = {file.name for file in path.parent.iterdir()}
    link = os.link
    with monkeypatch.context() as broken:
        broken.setattr(os, "link", lambda *_, **__: (_ for _ in ()).throw(OSError("no more links")))
        log.append(event(6, 2_000))
        with pytest.raises(AuditError, match="no more links"):
            log.append(event(7, 2_000))
        assert {file.name for file in path.parent.iterdir()} - before == set()
    assert os.link is link
    log.append(event(8))

    assert 7 not in [number for file in files_of(path) for number in numbers_in(file)]
    assert status_of(path) is Status.OK


def test_folder_without_logs_is_not_fine(path: Path) -> None:
    (path.parent / "notes.txt").write_text("mine")

    with pytest.raises(AuditError, match="no audit log"):
        files_of(path.parent)


@pytest.mark.parametrize("place", ["before the next file is named", "before it has its first line"])
def test_writer_that_is_killed_while_it_rotates_leaves_a_log_that_is_fine(
    path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    log = open_log(path, upkeep=SMALL)
    for number in range(20):
        log.append(event(number))
    with monkeypatch.context() as killed:
        target = "replace" if "named" in place else "hardlink_to"
        killed.setattr(type(path), target, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            append_all(log, range(20, 40))
    found = len(set(files_of(path)))
    assert status_of(path) is Status.OK
    assert status_of(path.parent) is Status.OK
    following = open_log(path, "next", SMALL)
    for number in range(10):
        following.append(event(number))

    assert len(files_of(path)) > found
    names = [*path.parent.glob("audit*")]
    assert len({file.stat().st_ino for file in names}) == len(names)
    assert status_of(path) is Status.OK


def test_log_behind_a_link_rotates_beside_its_file(path: Path) -> None:
    (path.parent / "large").mkdir()
    path.symlink_to("large/audit.jsonl")
    log = open_log(path, upkeep=SMALL)
    for number in range(20):
        log.append(event(number))

    assert path.is_symlink()
    assert len(files_of(path)) > 2
    assert [number for file in files_of(path) for number in numbers_in(file)] == list(range(20))
    for place in (path, path.parent, path.parent / "large"):
        assert status_of(place) is Status.OK


def test_folder_is_read_in_the_order_of_its_segments(path: Path) -> None:
    for name in ("audit.jsonl", "audit-2.jsonl"):
        log = open_log(path.with_name(name), name, upkeep=SMALL)
        for number in range(20):
            log.append(event(number))

    assert [number for file in files_of(path.parent) for number in numbers_in(file)] == [*range(20)] * 2


def test_names_that_are_no_time_are_no_segments(path: Path) -> None:
    other = path.with_name(path.name + ".20271399T000000.000000Z")
    other.write_text("mine")
    log = open_log(path, upkeep=Upkeep(max_size=1_000, keep=1))
    for number in range(20):
        log.append(event(number))

    assert other.read_text() == "mine"
    assert status_of(path) is Status.OK


def test_segment_of_the_end_of_time_refuses_and_is_named(path: Path) -> None:
    last = path.with_name(path.name + ".99991231T235959.999999Z")
    last.write_text("")
    log = open_log(path, upkeep=SMALL)
    with pytest.raises(AuditError, match=f"no name of a segment comes after {last.name}"):
        append_all(log, range(20))
    last.unlink()
    log.append(event(20))

    assert status_of(path) is Status.OK


# what somebody does to the segments


def rotated(path: Path, upkeep: Upkeep = SMALL, events: int = 20) -> FileLog:
    log = open_log(path, upkeep=upkeep)
    for number in range(events):
        log.append(event(number))
    return log


def test_log_whose_last_file_was_removed_between_two_runs_is_found_out(path: Path) -> None:
    rotated(path)
    path.unlink()
    open_log(path, "next").append(event(20))

    assert status_of(path) is Status.TRUNCATED
    assert status_of(path.parent) is Status.TRUNCATED


@pytest.mark.parametrize("stamp", ["20000101T00000{}.000000Z", "20990101T00000{}.000000Z"])
@pytest.mark.parametrize("link", [True, False])
def test_files_that_are_named_as_segments_do_not_have_the_log_excuse_a_removal(
    path: Path, stamp: str, *, link: bool
) -> None:
    log = rotated(path, Upkeep(max_size=1_000, keep=6))
    segments = segments_of(path)
    end = segments[1].read_bytes().splitlines()[-1]
    kept = Chain("forged", last_hash=hash_of_line(end)).seal(event(0))[0] if link else end + b"\n"
    for segment in segments[:2]:
        segment.unlink()
    forged = [path.with_name(f"{path.name}.{stamp.format(number)}") for number in range(6)]
    for file in forged:
        file.write_bytes(kept)
    rotations = len(segments_of(path))
    for number in range(100):
        if len(segments_of(path)) != rotations:
            break
        log.append(event(number))
    for file in forged:
        file.unlink(missing_ok=True)

    assert status_of(path) is Status.TRUNCATED


def test_retention_that_is_killed_half_way_leaves_a_log_that_is_fine(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rotated(path, events=60)
    before = len(segments_of(path))
    unlink, left = type(path).unlink, [2]

    def unlink_some(file: Path, *, missing_ok: bool = False) -> None:
        if ".new" not in file.name:
            left[0] -= 1
        if left[0] < 0:
            raise PermissionError("not this one")
        unlink(file, missing_ok=missing_ok)

    log = open_log(path, "next", Upkeep(max_size=1_000, keep=2))
    with monkeypatch.context() as killed:
        killed.setattr(type(path), "unlink", unlink_some)
        while left[0] >= 0:
            log.append(event(60))
    assert len(segments_of(path)) == before - 1
    assert status_of(path) is Status.OK
    for number in range(10):
        log.append(event(number))

    assert len(segments_of(path)) == 2
    assert status_of(path) is Status.OK


def test_retention_removes_what_an_older_chain_left(path: Path) -> None:
    rotated(path)
    path.unlink()
    old = segments_of(path)
    log = open_log(path, "next", Upkeep(max_size=1_000, keep=2))
    for number in range(30):
        log.append(event(number))

    assert len(segments_of(path)) == 2
    assert not any(file.exists() for file in old)
    assert status_of(path) is Status.OK


def test_retention_of_a_log_without_a_chain_goes_by_names(path: Path) -> None:
    log = FileLog(path, Chain("plain", is_hashed=False), Clock(), Upkeep(max_size=1_000, keep=2))
    for number in range(40):
        log.append(event(number))

    assert len(segments_of(path)) == 2


# reading while others write


@pytest.mark.parametrize("keep", [None, 1, 3])
@pytest.mark.parametrize("moment", range(6))
def test_log_is_fine_while_it_is_rotated(
    path: Path, monkeypatch: pytest.MonkeyPatch, keep: int | None, moment: int
) -> None:
    log = rotated(path, Upkeep(max_size=1_000, keep=keep))
    opened, left = verifying.open_regular, [moment]

    def open_later(file: Path) -> object:
        left[0] -= 1
        if left[0] == 0:
            for number in range(20, 32):
                log.append(event(number))
        return opened(file)

    monkeypatch.setattr(verifying, "open_regular", open_later)
    assert status_of(path) is Status.OK


def test_what_was_there_is_read_while_the_log_is_rotated(path: Path) -> None:
    log, numbers = rotated(path), list[int]()
    for _, found in read_events(path, lambda _: None):
        numbers += [found["n"]] if found and "n" in found else []
        if numbers == [0]:
            for number in range(20, 32):
                log.append(event(number))

    assert numbers == list(range(20))


def test_log_that_is_rotated_faster_than_it_can_be_read_is_said_to_be(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = rotated(path, Upkeep(max_size=1_000, keep=1))
    opened = verifying.open_regular

    def open_later(file: Path) -> object:
        found = opened(file)
        for number in range(20, 32):
            log.append(event(number))
        return found

    monkeypatch.setattr(verifying, "open_regular", open_later)
    monkeypatch.setattr(verifying, "_MOST_ATTEMPTS", 3)
    with pytest.raises(AuditError, match="rotated faster than it can be read"):
        status_of(path)


def test_segments_alone_and_links_to_logs_are_logs_of_a_folder(path: Path) -> None:
    rotated(path)
    (path.parent / "links").mkdir()
    (path.parent / "links/audit.jsonl").symlink_to(path)
    (path.parent / "links/again.jsonl").symlink_to(path)
    (path.parent / "links/nowhere.jsonl").symlink_to("missing.jsonl")
    assert files_of(path.parent / "links") == files_of(path)
    path.unlink()

    assert status_of(path.parent) is Status.OK
