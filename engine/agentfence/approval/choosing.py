"""Which approver a surface gets: the one that was asked for, else the one that suits it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agentfence.approval.deny import DenyApprover
from agentfence.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentfence.approval.interface import Approver
    from agentfence.settings import Settings

_CHOSEN = "the approver is `deny`: start AgentFence with another --approver to be asked"
_NO_VIEW = "the approver `intercept` needs mitmweb or the console: use `tty` or `queue`"


def relay_approver(settings: Settings, environment: Mapping[str, str]) -> Approver:
    """Give the approver of the relay: a client that was started from a desktop has no terminal.

    Raises:
        UsageError: The one that was asked for cannot ask anybody here.

    """
    if settings.approver == "intercept":
        raise UsageError(_NO_VIEW)
    return _approver(settings.approver or "queue", settings, environment)


def http_approver(
    settings: Settings,
    environment: Mapping[str, str],
    *,
    intercept: Callable[[float], Approver] | None,
    has_free_terminal: bool,
) -> Approver:
    """Give the approver of the HTTP surface.

    `intercept` makes the one that holds flows, where somebody can see them; `has_free_terminal` says
    that this process has a terminal on which nothing else draws.

    Raises:
        UsageError: The one that was asked for cannot ask anybody here.

    """
    suiting = "tty" if has_free_terminal else "queue"
    chosen = settings.approver or ("intercept" if intercept else suiting)
    if chosen != "intercept":
        return _approver(chosen, settings, environment)
    if intercept is None:
        raise UsageError(_NO_VIEW)
    return intercept(settings.approval_timeout)


def why_nobody_is_asked(approver: Approver, settings: Settings) -> str | None:
    """Give why nobody will be asked where that was not chosen; None where somebody will be, or it was."""
    if isinstance(approver, DenyApprover) and settings.approver != "deny":
        return approver.answer.advice
    return None


def has_terminal() -> bool:
    """Whether this process has a controlling terminal."""
    try:
        with open("/dev/tty", "r+b", buffering=0):
            return True
    except OSError:
        return False


def _approver(name: str, settings: Settings, environment: Mapping[str, str]) -> Approver:
    match name:
        case "tty":
            return _tty(settings, environment)
        case "queue":
            return _queue(settings, environment)
    return DenyApprover(_CHOSEN)


def _tty(settings: Settings, environment: Mapping[str, str]) -> Approver:
    from pathlib import Path

    from agentfence.approval.queue_folder import make_folder
    from agentfence.approval.terminal import Terminal
    from agentfence.approval.tty import TtyApprover

    try:
        return TtyApprover(Terminal(), settings.approval_timeout, Path(make_folder(environment)))
    except OSError as error:
        raise UsageError(
            f"the approver `tty` has no terminal to ask on ({error.strerror or error}): use `queue`"
        ) from error


def _queue(settings: Settings, environment: Mapping[str, str]) -> Approver:
    if sys.platform == "win32":
        return DenyApprover(
            "the approver `queue` needs a Unix system: use mitmweb, which asks by `intercept`"
        )
    from agentfence.approval.queue import QueueApprover
    from agentfence.approval.queue_folder import make_folder

    try:
        return QueueApprover(make_folder(environment), settings.approval_timeout)
    except OSError as error:
        # Asking is one of three verdicts: without it the others still hold, and what would ask is denied.
        where = f" at `{error.filename}`" if error.filename else ""
        reason = (error.strerror or str(error)).lower()
        return DenyApprover(f"AgentFence could not open its queue for approvals{where}: {reason}")
