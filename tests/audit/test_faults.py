"""Whatever happens to the log, on every surface: no message goes on without its event, and it recovers by itself."""

from __future__ import annotations

import json
import os
import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from audit_logs import events_in, kinds_in, status_of
from event_schema import validate_event
from surfaces import AddonSurface, RelaySurface
from talking import call

from agentfence.cli.main import main
from agentfence.core.audit.reports import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    type Fault = Callable[[Path, int], AbstractContextManager[None]]
    """Given the log and its writer's process."""

POLICY = 'version: "1"\ndefaults: {decision: deny}\ntools: {read: allow}\n'


@contextmanager
def full_disk(log: Path, writer: int) -> Iterator[None]:
    """The kernel's own limit on the size of files."""
    _, hard = resource.prlimit(writer, resource.RLIMIT_FSIZE)
    resource.prlimit(writer, resource.RLIMIT_FSIZE, (log.stat().st_size + 40, hard))
    yield
    resource.prlimit(writer, resource.RLIMIT_FSIZE, (hard, hard))


@contextmanager
def something_else_in_place(log: Path, make: Callable[[Path], object]) -> Iterator[None]:
    kept = log.with_name("kept")
    log.rename(kept)
    make(log)
    yield
    if log.is_dir() and not log.is_symlink():
        log.rmdir()
    else:
        log.unlink()
    kept.rename(log)


@contextmanager
def folder_gone(log: Path, _writer: int) -> Iterator[None]:
    elsewhere = log.parent.with_name("elsewhere")
    log.parent.rename(elsewhere)
    yield
    elsewhere.rename(log.parent)


def replaced_by(make: Callable[[Path], object]) -> Fault:
    return lambda log, _writer: something_else_in_place(log, make)


REFUSING: dict[str, Fault] = {
    "the disk is full": full_disk,
    "a folder in its place": replaced_by(lambda log: log.mkdir()),
    "a pipe in its place that nobody reads": replaced_by(lambda log: os.mkfifo(log)),
    "a device in its place that is always full": replaced_by(lambda log: log.symlink_to("/dev/full")),
    "a link that goes round": replaced_by(lambda log: log.symlink_to(log)),
    "its folder is gone": folder_gone,
}


class Relay(RelaySurface):
    def _new_events(self) -> list[dict[str, Any]]:
        return []  # the log cannot always be read here

    @property
    def writer(self) -> int:
        return self._child.pid


class Addon(AddonSurface):
    writer = 0

    def _new_events(self) -> list[dict[str, Any]]:
        return []


@pytest.mark.parametrize("make", [Relay, Addon])
def test_no_call_goes_on_while_the_log_cannot_be_written(make: type[Relay | Addon], tmp_path: Path) -> None:
    surface = make(POLICY, {}, tmp_path)
    surface.log = tmp_path / "logs/audit.jsonl"
    surface.log.parent.mkdir()
    ids = iter(range(100))

    def outcome() -> Any:
        return surface.pass_on(json.dumps(call("read", next(ids))).encode())

    with surface:
        assert outcome().sent
        for name, fault in REFUSING.items():
            with fault(surface.log, surface.writer):
                refused = outcome()
            assert refused.sent == [], name
            assert "audit_unwritable" in json.dumps(refused.received), name
            assert outcome().sent, f"no recovery: {name}"

    gaps = [event for event in events_in(surface.log) if event["kind"] == "audit_gap"]
    for event in events_in(surface.log):
        validate_event(event)
    assert len(gaps) == len(REFUSING)
    assert {gap["messages"] for gap in gaps} == {"refused"}
    assert status_of(surface.log) is Status.OK


@pytest.mark.parametrize("make", [Relay, Addon])
def test_file_that_is_removed_or_replaced_is_gone_on_with(make: type[Relay | Addon], tmp_path: Path) -> None:
    surface = make(POLICY, {}, tmp_path)
    with surface:
        for number, change in enumerate((surface.log.unlink, lambda: surface.log.write_bytes(b""))):
            assert surface.pass_on(json.dumps(call("read", 2 * number)).encode()).sent
            change()
            assert surface.pass_on(json.dumps(call("read", 2 * number + 1)).encode()).sent

    kinds = kinds_in(surface.log)
    assert kinds[0] == "log_replaced"
    assert "run_started" not in kinds


@pytest.mark.parametrize("name", ["a folder", "a pipe", "a device"])
def test_log_that_is_no_file_is_refused_at_the_start(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    {
        "a folder": log.mkdir,
        "a pipe": lambda: os.mkfifo(log),
        "a device": lambda: log.symlink_to("/dev/full"),
    }[name]()

    assert check(tmp_path, log) == 4
    assert str(log) in capfd.readouterr().err


def test_check_ends_where_its_log_is_full(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_200, before[1]))
    try:
        status = check(tmp_path, log)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert status == 4
    assert "cannot be written" in capfd.readouterr().err
    assert kinds_in(log)[:2] == ["run_started", "judged"]


def check(folder: Path, log: Path) -> int:
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "calls.jsonl").write_text("".join(f'{{"id": "{n}", "tool": "read"}}\n' for n in range(9)))
    files = ["--policy", str(folder / "policy.yaml"), "--call", str(folder / "calls.jsonl")]
    return main(["check", *files, "--output", "jsonl", "--audit-log", str(log)])
