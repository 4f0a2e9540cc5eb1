"""`agentfence check`: judge recorded calls offline, one a line, however many there are."""

from __future__ import annotations

import gc
import json
import os
import stat
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.opening import open_log_of_run
from agentfence.audit.run_events import run_ended, run_started
from agentfence.cli.asking import asking, choose_approver
from agentfence.cli.check_output import FORMATS, make_writer
from agentfence.cli.check_run import CheckRun
from agentfence.cli.check_summary import Gate
from agentfence.cli.lines import read_lines
from agentfence.cli.loading import link_resolver, load, load_lock, redactor_of
from agentfence.cli.progress import ByteProgress
from agentfence.cli.terminal import say
from agentfence.core.errors import UsageError
from agentfence.core.offline import OfflineJudge
from agentfence.core.policy.model import Verdict
from agentfence.flags import add_options, given_options
from agentfence.policy_files import find_policy
from agentfence.settings import read_settings

if TYPE_CHECKING:
    import argparse
    from typing import BinaryIO, TextIO

    from agentfence.approval.interface import Approver
    from agentfence.audit.interface import AuditLog
    from agentfence.core.policy.model import Policy
    from agentfence.settings import Settings

_FAILED = 1
_OF_THE_LOG = (
    *("tamper_evident", "audit_fsync", "audit_max_size", "audit_max_age", "audit_keep"),
    "audit_sign_key",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_options(parser, "policy", "lock")
    parser.add_argument(
        "--call", metavar="FILE", required=True, help="the recorded calls, a JSON object a line; - for stdin"
    )
    parser.add_argument(
        "--output", choices=FORMATS, default="text", help="how outcomes are printed (default: text)"
    )
    parser.add_argument(
        "--fail-on",
        metavar="LIST",
        default="",
        help="exit with 1 when a call was decided so: deny, ask, or both with a comma between",
    )
    parser.add_argument("--summary", metavar="FILE", help="write counts as JSON; - for stderr")
    parser.add_argument(
        "--dry-run", action="store_true", help="ask nobody, leave ask as it is, and never fail on a decision"
    )
    parser.add_argument(
        "--approver",
        metavar="tty|queue|deny",
        help="who is asked: tty, queue (`agentfence approvals`), or deny; without it the terminal where "
        "there is one, else nobody",
    )
    add_options(parser, "approval_timeout")
    parser.add_argument(
        "--no-interactive", action="store_true", help="ask nobody: the same as --approver deny"
    )
    parser.add_argument(
        "--audit-log", metavar="FILE", help="append an event for each record; without it nothing is written"
    )
    add_options(parser, *_OF_THE_LOG)
    parser.add_argument(
        "--follow-links", action="store_true", help="resolve links on this machine's disk, as the relay does"
    )


def run(arguments: argparse.Namespace) -> int:
    """Judge the records; give the exit status."""
    gate = Gate(_read_fail_on(arguments.fail_on), is_dry_run=arguments.dry_run)
    settings = _read_settings(arguments)
    policy = load(settings.policy, follow_links=arguments.follow_links).policy
    with ExitStack() as opened:
        calls = _open_calls(arguments.call, opened)
        summary = _open_summary(arguments.summary, opened) if arguments.summary else None
        approver = _choose_approver(arguments, settings)
        if approver is not None:
            opened.callback(approver.close)
        ask = None if approver is None else asking(approver, settings.approval_timeout)
        log = _open_log(arguments, settings, policy, approver, opened)
        check = CheckRun(
            OfflineJudge(policy, redactor_of(policy), ask, load_lock(settings.policy, settings.lock, policy)),
            log,
            make_writer(arguments.output, sys.stdout, is_dry_run=arguments.dry_run),
            link_resolver(follow_links=arguments.follow_links),
        )
        is_quiet = sys.stdout.isatty() or not (approver is None or approver.name == "deny")
        gc.freeze()  # what was made so far stays, and need not be looked at again
        with ByteProgress(_size_of(calls), is_wanted=not is_quiet) as progress:
            check.judge_all(read_lines(calls), progress)
        if log is not None:
            log.append(run_ended(time.time()))
        if summary is not None:
            counts = check.summary.as_json(gate, policy.digest)
            print(json.dumps(counts, ensure_ascii=False, indent=2), file=summary)
    return _conclude(check, gate)


def _read_fail_on(text: str) -> tuple[Verdict, ...]:
    words = [word.strip() for word in text.split(",")] if text else []
    for word in words:
        if word not in (Verdict.DENY, Verdict.ASK):
            raise UsageError(f"--fail-on must list `deny` and `ask`, not `{word}`")
    return tuple(verdict for verdict in (Verdict.DENY, Verdict.ASK) if verdict in words)


def _read_settings(arguments: argparse.Namespace) -> Settings:
    idle = [name for name in _OF_THE_LOG if getattr(arguments, name) is not None]
    if idle and arguments.audit_log is None:
        flag = idle[0].replace("_", "-")
        raise UsageError(f"--{flag} is about the file that --audit-log names, and there is none")
    given = {**given_options(arguments), "audit_log": arguments.audit_log or "none"}
    return read_settings(given, os.environ)


def _open_log(
    arguments: argparse.Namespace,
    settings: Settings,
    policy: Policy,
    approver: Approver | None,
    opened: ExitStack,
) -> AuditLog | None:
    """Give the log that was asked for, with the event of this run's start."""
    if arguments.audit_log is None:
        return None
    log = open_log_of_run(settings, os.environ, say, is_strict=True)
    opened.callback(log.close)
    mode = "dry_run" if arguments.dry_run else "audit_only"
    found = find_policy(settings.policy, os.environ).description
    name = "none" if approver is None else approver.name
    redactor, now = redactor_of(policy), time.time()
    log.append(run_started("check", policy, found, redactor, mode=mode, approver=name, time=now))
    return log


def _open_calls(name: str, opened: ExitStack) -> BinaryIO:
    if name == "-":
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it is when closed
            raise UsageError("cannot read records from stdin: it is closed")
        return sys.stdin.buffer
    try:
        return opened.enter_context(Path(name).expanduser().open("rb"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read `{name}`: {reason}") from error


def _choose_approver(arguments: argparse.Namespace, settings: Settings) -> Approver | None:
    if arguments.dry_run:
        return None
    return choose_approver(settings, reads_stdin=arguments.call == "-")


def _size_of(file: BinaryIO) -> int | None:
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _open_summary(name: str, opened: ExitStack) -> TextIO:
    if name == "-":
        return sys.stderr
    try:
        return opened.enter_context(Path(name).expanduser().open("w", encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot write `{name}`: {reason}") from error


def _conclude(check: CheckRun, gate: Gate) -> int:
    summary = check.summary
    say(summary.line())
    if summary.is_all_unreadable:
        say("no line could be read: expected JSON objects with `id` and `tool`, one a line")
        return _FAILED
    matched = summary.matched(gate)
    if matched:
        listed = " or ".join(gate.fail_on)
        would = "would have failed" if gate.is_dry_run else "failed"
        say(f"--fail-on {would}: {matched} of {summary.total} were decided {listed}")
    return _FAILED if check.failures or (matched and not gate.is_dry_run) else 0
