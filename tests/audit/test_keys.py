"""Keys sign, verify, and are never written over."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from audit_logs import Clock, event

from agentfence.audit.file_log import FileLog
from agentfence.audit.keys import make_keys, read_private_key, read_public_key
from agentfence.audit.verifying import verify_log
from agentfence.core.audit.reports import Status
from agentfence.core.errors import AuditError, UsageError
from agentfence.core.record import Chain

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    private, public = tmp_path / "key", tmp_path / "key.pub"
    make_keys(private, public)
    return private, public


def test_log_that_was_signed_verifies_with_its_key_alone(keys: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = FileLog(path, Chain("run", sign=read_private_key(keys[0])), Clock())
    for number in range(3):
        log.append(event(number))
    make_keys(tmp_path / "other", tmp_path / "other.pub")

    assert verify_log(path, check_signature=read_public_key(keys[1])).status is Status.OK
    other = verify_log(path, check_signature=read_public_key(tmp_path / "other.pub"))
    assert (other.status, other.findings[0].line) == (Status.FAILED, 1)
    FileLog(path, Chain("unsigned"), Clock()).append(event(3))
    assert verify_log(path).status is Status.OK
    assert verify_log(path, check_signature=read_public_key(keys[1])).status is Status.UNSIGNED


def test_private_key_is_for_its_owner_alone(keys: tuple[Path, Path]) -> None:
    assert stat.S_IMODE(keys[0].stat().st_mode) == 0o600
    keys[0].chmod(0o640)

    with pytest.raises(AuditError, match="chmod 600"):
        read_private_key(keys[0])


@pytest.mark.parametrize("kept", [0, 1])
def test_keys_are_never_written_over(keys: tuple[Path, Path], kept: int) -> None:
    keys[1 - kept].unlink()
    before = keys[kept].read_bytes()

    with pytest.raises(UsageError, match="exists"):
        make_keys(*keys)
    assert keys[kept].read_bytes() == before
    assert not keys[1 - kept].exists()


@pytest.mark.parametrize("names", [("a", "no/b"), ("no/a", "b"), ("a", "a")])
def test_keys_are_written_both_or_not_at_all(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(UsageError):
        make_keys(tmp_path / names[0], tmp_path / names[1])

    assert [*tmp_path.iterdir()] == []


def test_other_files_are_no_keys(tmp_path: Path, keys: tuple[Path, Path]) -> None:
    text = tmp_path / "text"
    text.write_text("no key")
    text.chmod(0o600)

    for read in (read_private_key, read_public_key):
        with pytest.raises(AuditError):
            read(text)
        with pytest.raises(AuditError):
            read(tmp_path / "missing")
    keys[1].chmod(0o600)
    with pytest.raises(AuditError):
        read_private_key(keys[1])
