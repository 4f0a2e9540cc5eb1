"""Opens the audit log that the settings ask for."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from agentfence.audit.file_log import PLAIN, FileLog, Upkeep
from agentfence.audit.gaps import GapLog
from agentfence.audit.interface import NoLog
from agentfence.core.errors import AuditError, UsageError
from agentfence.core.record import Chain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentfence.audit.interface import AuditLog
    from agentfence.core.record import Sign
    from agentfence.settings import Settings


def open_audit_log(
    place: str | None,
    environment: Mapping[str, str],
    *,
    tamper_evident: bool,
    upkeep: Upkeep = PLAIN,
    sign_key: str | None = None,
) -> AuditLog:
    """Give the log at `place`; None: a new file for this run in the state folder; `none`: no log.

    Raises:
        AuditError: It cannot be opened, or the key to sign with cannot be used.
        UsageError: A log is to be signed that is not chained, or none at all.

    """
    if place == "none":
        if sign_key is not None:
            raise UsageError("audit_sign_key signs the audit log, which `none` switches off")
        return NoLog()
    if sign_key is not None and not tamper_evident:
        raise UsageError("--audit-sign-key signs the chain, which --no-tamper-evident switches off")
    session_id = _new_id()
    path = os.path.expanduser(place) if place is not None else _new_file(session_id, environment)
    chain = Chain(session_id, is_hashed=tamper_evident, sign=_read_key(sign_key))
    return FileLog(path, chain, time.time, upkeep)


def open_log_of_run(
    settings: Settings, environment: Mapping[str, str], report: Callable[[str], None], *, is_strict: bool
) -> AuditLog:
    """Give the log that the settings ask for; unless `is_strict`, one that never stops a message.

    Raises:
        AuditError: It cannot be opened, or the key to sign with cannot be used.
        UsageError: A log is to be signed that is not chained, or none at all.

    """
    log = open_audit_log(
        settings.audit_log,
        environment,
        tamper_evident=settings.tamper_evident,
        upkeep=Upkeep(
            fsync=settings.audit_fsync,
            max_size=settings.audit_max_size,
            max_age=settings.audit_max_age,
            keep=settings.audit_keep,
        ),
        sign_key=settings.audit_sign_key,
    )
    if settings.audit_keep and not (settings.audit_max_size or settings.audit_max_age):
        report("audit_keep removes nothing: without audit_max_size or audit_max_age no log is ever closed")
    return GapLog(log, time.time, report, is_strict=is_strict)


def _new_id() -> str:
    """Give a UUID of version 4 (RFC 9562, 5.4), without `uuid`, which looks at the platform first."""
    octets = bytearray(os.urandom(16))
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    digits = octets.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _read_key(name: str | None) -> Sign | None:
    if name is None:
        return None
    from pathlib import Path

    from agentfence.audit.keys import read_private_key

    return read_private_key(Path(name).expanduser())


def state_folder(environment: Mapping[str, str]) -> str:
    """Give the user's folder for what AgentFence keeps between runs.

    Raises:
        AuditError: The user has none.

    """
    base = environment.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        base = os.path.expanduser("~/.local/state")
    if not base.startswith("/"):
        raise AuditError("there is no home folder for audit logs: set HOME, XDG_STATE_HOME or --audit-log")
    return os.path.join(base, "agentfence")


def _new_file(session_id: str, environment: Mapping[str, str]) -> str:
    folder = os.path.join(state_folder(environment), "audit")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AuditError(f"the folder {folder} for audit logs cannot be made: {reason}") from error
    started = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    return os.path.join(folder, f"{started}-{os.getpid()}-{session_id[:8]}.jsonl")
