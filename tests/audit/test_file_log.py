"""What happens to the file happens to the message: what is not written does not go on."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import signal
import stat
from typing import TYPE_CHECKING

import pytest
from audit_logs import event, events_in, kinds_in, numbers_in, open_log, status_of

from agentfence.audit.file_log import FileLog, Upkeep
from agentfence.core.audit.reports import Status
from agentfence.core.errors import AuditError
from agentfence.core.record import LONGEST_LINE, Chain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


def test_file_is_for_its_owner_alone(path: Path) -> None:
    open_log(path).append(event(1))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert status_of(path) is Status.OK


def test_two_writers_make_one_chain(path: Path) -> None:
    first, second = open_log(path, "first"), open_log(path, "second")
    for number in range(6):
        (first if number % 3 else second).append(event(number))

    assert numbers_in(path) == list(range(6))
    assert status_of(path) is Status.OK


def test_many_processes_make_one_chain(path: Path) -> None:
    children = []
    for run in range(4):
        child = os.fork()
        if not child:
            log = open_log(path, f"run-{run}", Upkeep(max_size=20_000))
            for number in range(100):
                log.append(event(number, 10 + 97 * number % 900))
            os._exit(0)
        children.append(child)

    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    assert status_of(path) is Status.OK
    segments = [file for file in path.parent.iterdir() if not file.name.startswith(".")]
    found = [(e["session_id"], e["n"]) for file in segments for e in events_in(file) if "n" in e]
    assert len(segments) > 2
    assert sorted(found) == [(f"run-{run}", number) for run in range(4) for number in range(100)]


@pytest.mark.parametrize("torn", [b"{", b'{"schema_version":"6","session', b"\x00" * 5000, b"x" * 200_000])
def test_torn_last_line_is_repaired_with_an_event_that_says_so(path: Path, torn: bytes) -> None:
    open_log(path).append(event(1))
    with path.open("ab") as file:
        file.write(torn)

    assert status_of(path) is Status.CORRUPT
    open_log(path, "next").append(event(2))
    assert kinds_in(path) == ["judged", "log_repaired", "judged"]
    assert events_in(path)[1]["cut_bytes"] == len(torn)
    assert status_of(path) is Status.OK


# faults


@pytest.fixture
def size_limit() -> Iterator[object]:
    """The kernel's own limit on the size of files, which is like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    action = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, action)


@pytest.mark.parametrize("room", [0, 1, 100, 300])
def test_full_disk_refuses_and_recovers(path: Path, size_limit: object, room: int) -> None:
    log = open_log(path)
    log.append(event(1))
    whole = path.read_bytes()
    size_limit(len(whole) + room)  # type: ignore[operator]
    for number in (2, 3):
        with pytest.raises(AuditError, match="cannot be written"):
            log.append(event(number, 500))
    after_failure = path.read_bytes()
    size_limit(1 << 30)  # type: ignore[operator]
    log.append(event(4))

    assert after_failure == whole
    assert numbers_in(path) == [1, 4]
    assert status_of(path) is Status.OK


def test_line_that_cannot_be_taken_back_is_repaired(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(path)
    log.append(event(1))
    write = os.write
    with monkeypatch.context() as broken:
        broken.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:20]))
        broken.setattr(os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        with pytest.raises(AuditError):
            log.append(event(2))
    log.append(event(3))

    assert kinds_in(path) == ["judged", "log_repaired", "judged"]
    assert status_of(path) is Status.OK


def test_fsync_that_fails_refuses_and_takes_the_line_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(path, upkeep=Upkeep(fsync=True))
    log.append(event(1))
    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "broken disk")))
        with pytest.raises(AuditError, match="broken disk"):
            log.append(event(2))
    log.append(event(3))

    assert numbers_in(path) == [1, 3]
    assert status_of(path) is Status.OK


def test_fsync_is_called_only_when_asked_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", synced.append)
    open_log(path).append(event(1))
    assert synced == []

    open_log(path, upkeep=Upkeep(fsync=True)).append(event(2))
    assert len(synced) == 1


def test_deleted_file_is_begun_again_and_the_loss_shows(path: Path) -> None:
    log = open_log(path)
    log.append(event(1))
    path.unlink()
    log.append(event(2))

    assert kinds_in(path) == ["log_replaced", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_replaced_file_is_gone_on_with_and_the_loss_is_recorded(path: Path) -> None:
    log = open_log(path)
    log.append(event(1))
    other = path.with_name("other.jsonl")
    open_log(other, "other").append(event(7))
    other.replace(path)
    log.append(event(2))

    assert kinds_in(path) == ["judged", "log_replaced", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_file_cut_short_under_its_writer_is_recorded(path: Path) -> None:
    log = open_log(path)
    log.append(event(1))
    whole = path.read_bytes()
    log.append(event(2))
    path.write_bytes(whole)
    log.append(event(3))

    assert kinds_in(path) == ["judged", "log_replaced", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_file_emptied_under_its_writer_is_recorded(path: Path) -> None:
    log = open_log(path)
    log.append(event(1))
    path.write_bytes(b"")
    log.append(event(2))

    assert kinds_in(path) == ["log_replaced", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_file_that_was_cut_and_grew_again_is_recorded(path: Path) -> None:
    first, second = open_log(path, "first"), open_log(path, "second")
    first.append(event(1))
    whole = path.stat().st_size
    first.append(event(2))
    os.truncate(path, whole)
    for number in (3, 4, 5):
        second.append(event(number, 100))
    first.append(event(6))

    assert kinds_in(path) == ["judged"] * 4 + ["log_replaced", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_older_state_of_a_rotated_log_that_is_put_back_is_recorded(path: Path) -> None:
    log = open_log(path, upkeep=Upkeep(max_size=1_500))
    for number in range(7):
        log.append(event(number, 100))
    older = path.with_name("older")
    older.write_bytes(path.read_bytes())
    log.append(event(7))
    assert events_in(path)[0]["kind"] == "log_rotated"
    older.replace(path)
    log.append(event(8))

    assert kinds_in(path)[-2:] == ["log_replaced", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_loss_that_cannot_be_recorded_at_once_is_recorded_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(path)
    log.append(event(1))
    older = path.with_name("older")
    older.write_bytes(path.read_bytes())
    log.append(event(2))
    with older.open("ab") as torn:
        torn.write(b"{")
    older.replace(path)
    with monkeypatch.context() as broken:
        broken.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        for number in (3, 4):
            with pytest.raises(AuditError):
                log.append(event(number))
    log.append(event(5))

    assert kinds_in(path) == ["judged", "log_replaced", "log_repaired", "judged"]
    assert status_of(path) is Status.TRUNCATED


def test_log_that_people_move_away_under_two_writers_is_whole_with_what_they_moved(path: Path) -> None:
    first, second = open_log(path, "first"), open_log(path, "second")
    second.append(event(1))
    first.append(event(2))
    path.rename(path.with_name("moved.jsonl"))
    first.append(event(3))
    second.append(event(4))

    assert kinds_in(path) == ["log_replaced", "judged", "log_replaced", "judged"]
    assert status_of(path.parent) is Status.OK
    assert status_of(path) is Status.TRUNCATED


def test_run_without_a_chain_goes_on_with_the_one_that_is_there(path: Path) -> None:
    open_log(path).append(event(1))
    plain = FileLog(path, Chain("plain", is_hashed=False), lambda: 1.0)
    plain.append(event(2))
    open_log(path, "last").append(event(3))
    plain.append(event(4))

    assert numbers_in(path) == [1, 2, 3, 4]
    assert status_of(path) is Status.OK


def test_chain_that_begins_after_lines_without_one_is_partial(path: Path) -> None:
    plain = FileLog(path, Chain("plain", is_hashed=False), lambda: 1.0)
    plain.append(event(1))
    open_log(path).append(event(2))
    plain.append(event(3))

    assert "hash" in events_in(path)[-1]
    assert status_of(path) is Status.PARTIAL


def test_lock_that_is_held_for_ever_refuses_and_recovers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentfence.audit.file_log._PATIENCE", 0.01)
    log = open_log(path)
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        with pytest.raises(AuditError, match="another process has had it locked"):
            log.append(event(1))
    log.append(event(2))

    assert numbers_in(path) == [2]


@pytest.mark.parametrize("text", [b'version: "1"', b"{}", b"\n", b"\x00" * 40, b'{"schema_version":1}'])
def test_file_that_is_no_log_is_left_as_it_is(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    log = open_log(path)
    for number in (1, 2):
        with pytest.raises(AuditError, match="that is no audit log"):
            log.append(event(number))
    assert path.read_bytes() == text
    path.write_bytes(b"")
    log.append(event(3))
    path.write_bytes(text * 1_000)
    with pytest.raises(AuditError, match="that is no audit log"):
        log.append(event(4))

    assert path.read_bytes() == text * 1_000


@pytest.mark.parametrize("length", range(1, 30))
def test_first_line_that_is_not_whole_is_repaired(path: Path, length: int) -> None:
    line, _ = Chain("run").seal(event(1))
    path.write_bytes(line[:length])
    open_log(path).append(event(2))

    assert kinds_in(path) == ["log_repaired", "judged"]
    assert status_of(path) is Status.OK


def test_line_that_nobody_would_read_is_not_written(path: Path) -> None:
    log = open_log(path)
    line, _ = Chain("run").seal(event(1, 0))
    log.append(event(1, LONGEST_LINE - len(line)))
    with pytest.raises(AuditError, match="longer than a line may be"):
        log.append(event(2, LONGEST_LINE))
    log.append(event(3))

    assert (path.stat().st_size, status_of(path)) == (
        LONGEST_LINE + len(path.read_bytes().splitlines()[1]) + 1,
        Status.OK,
    )


def test_file_system_without_locks_refuses(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(path)
    log.append(event(1))
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOLCK, "no locks")))

    with pytest.raises(AuditError, match="no locks"):
        log.append(event(2))
    assert status_of(path) is Status.OK


def test_folder_that_is_gone_refuses_and_recovers(path: Path) -> None:
    folder = path.parent / "logs"
    folder.mkdir()
    log = open_log(folder / "audit.jsonl")
    log.append(event(1))
    folder.rename(path.parent / "moved")
    with pytest.raises(AuditError):
        log.append(event(2))
    folder.mkdir()
    log.append(event(3))

    assert kinds_in(folder / "audit.jsonl") == ["log_replaced", "judged"]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_path_that_is_no_file_any_more_refuses_and_recovers(path: Path, make: object) -> None:
    log = open_log(path)
    log.append(event(1))
    moved = path.rename(path.with_name("moved.jsonl"))
    make(path)  # type: ignore[operator]
    with pytest.raises(AuditError):
        log.append(event(2))
    path.rename(path.with_name("away"))
    moved.rename(path)
    log.append(event(3))

    assert numbers_in(path) == [1, 3]
    assert status_of(path) is Status.OK


@pytest.fixture
def somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody may do everything: root becomes somebody, who owns the folder."""
    monkeypatch.chdir(tmp_path)
    was = os.geteuid()
    if was == 0:
        os.chown(tmp_path, 65534, 65534)
        os.seteuid(65534)
    yield
    os.seteuid(was)


@pytest.mark.usefixtures("somebody_else")
def test_permission_that_is_lost_refuses_and_recovers(path: Path) -> None:
    path = path.relative_to(path.parent)
    log = open_log(path)
    log.append(event(1))
    path.rename("moved")
    open_log(path, "other").append(event(7))
    path.chmod(0)
    with pytest.raises(AuditError, match="Permission denied"):
        log.append(event(2))
    path.chmod(0o600)
    log.append(event(3))

    assert numbers_in(path) == [7, 3]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_log_that_is_no_file_is_refused_at_the_start(path: Path, make: object) -> None:
    make(path)  # type: ignore[operator]

    with pytest.raises(AuditError):
        FileLog(path, Chain("run"), lambda: 1.0)
