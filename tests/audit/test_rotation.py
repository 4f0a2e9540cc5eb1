"""Rotation links the files of a log, and retention removes its own segments alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from audit_logs import Clock, event, events_in, kinds_in, numbers_in, open_log, status_of

from agentfence.audit.file_log import Upkeep
from agentfence.audit.segments import files_of, segments_of
from agentfence.core.audit.reports import Status
from agentfence.core.errors import AuditError

if TYPE_CHECKING:
    from pathlib import Path

SMALL = Upkeep(max_size=1_000)


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
