"""Where the lock file is, and what is in it; only people, and `agentfence pin`, write it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.core.errors import UsageError
from agentfence.core.pins import NOTHING_PINNED, read_lock, write_lock

if TYPE_CHECKING:
    from agentfence.core.pins import Lock
    from agentfence.policy_files import FoundPolicy

LOCK_NAME = "agentfence.lock"
_PACKAGED = "agentfence:"


def lock_path(option: str | None, found: FoundPolicy) -> Path:
    """Give where the lock file is, or would be: the option, else beside the policy.

    Raises:
        UsageError: the policy is a packaged one, which has no place of its own.

    """
    if option is not None:
        return Path(option).expanduser()
    if found.reference.startswith(_PACKAGED):
        raise UsageError("a packaged policy has no lock file beside it: name one with --lock")
    return Path(found.reference).parent / LOCK_NAME


def open_lock(option: str | None, found: FoundPolicy) -> Lock:
    """Give the lock of a run; one that is not named and not there pins nothing.

    Raises:
        UsageError: the file cannot be read, or is no lock file.

    """
    if option is None and found.reference.startswith(_PACKAGED):
        return NOTHING_PINNED
    path = lock_path(option, found)
    if option is not None and not path.exists():
        raise UsageError(f"the lock file {path} is not there")
    return read_lock_at(path)


def read_lock_at(path: Path) -> Lock:
    """Give the lock in a file; one that is not there pins nothing.

    Raises:
        UsageError: the file cannot be read, or is no lock file.

    """
    try:
        return read_lock(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return NOTHING_PINNED
    except OSError as error:
        raise UsageError(f"the lock file {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"the lock file {path} cannot be read: expected UTF-8 text") from None


def save_lock(path: Path, lock: Lock) -> None:
    """Write the lock file in one step, so that nobody ever reads half of it.

    Raises:
        UsageError: it cannot be written.

    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(write_lock(lock), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UsageError(f"the lock file {path} cannot be written: {error.strerror}") from error
