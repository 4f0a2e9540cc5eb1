"""Starts the relay: reads its command line, opens the fence, starts the server."""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import sys
from contextlib import closing, suppress
from functools import partial
from typing import TYPE_CHECKING

from agentfence.core.errors import AgentFenceError, PolicyError, UsageError
from agentfence.flags import add_option_flags, given_options, read_plain_flags
from agentfence.settings import ENVIRONMENT_PREFIX, read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentfence.approval.interface import Approver
    from agentfence.cli.parsing import Parser
    from agentfence.core.policy.model import Policy
    from agentfence.fence import Fence
    from agentfence.relay import Relay
    from agentfence.settings import Settings

    type NameServer = Callable[[Policy], tuple[str | None, bool]]
    """Gives the policy's name for the server, and whether the server may be started at all."""

OWN_FAILURE = 125
"""As env(1) and nohup(1) have it."""


def start(arguments: Sequence[str]) -> int:
    """Run the relay for a command line; give the exit status."""
    flags, command = _split(arguments)
    # What a person asks of all relays must not end the one that has just begun.
    held = _hold_signals(signal.SIGHUP, signal.SIGUSR1)
    try:
        given = read_plain_flags(flags) or given_options(command_line().parse_line(flags))
        if not command:
            raise UsageError("no server command: write it after `--`, as `-- npx -y some-mcp-server`")
        if sys.stdin is None or sys.stdout is None:  # Python leaves out what is closed at its start
            raise UsageError("expected an agent on stdin and stdout, and one of them is closed")
        return _run(read_settings(given, os.environ), command, held)
    except PolicyError as error:
        from agentfence.core.policy.rendering import render_text

        _report(render_text(error.problems))
        return error.exit_status
    except UsageError as error:
        _report(f"{error} (see --help)")
        return error.exit_status
    except AgentFenceError as error:
        _report(str(error))
        return error.exit_status
    except Exception as error:  # noqa: BLE001 - a bug; its status must not look like the server's own
        _report(f"the relay failed: {type(error).__name__}: {error}")
        return OWN_FAILURE


def command_line() -> Parser:
    """Give the parser of the relay's own flags."""
    from agentfence.cli.parsing import Parser

    parser = Parser(
        prog="python -m agentfence.stdio",
        usage="%(prog)s [options] -- server-cmd [args…]",
        description="Put a policy firewall around an MCP server that talks on stdin and stdout.",
        epilog="Exit status: the server's own; 128+n when signal n ended it; 126 and 127 when the server "
        "cannot be run or is not found, 125 when the relay failed; 2 usage, 3 bad policy, 4 audit log.",
        allow_abbrev=False,
    )
    add_option_flags(parser, relay=True)
    return parser


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Give the relay's own arguments and the server command, which begins after the first `--`."""
    everything = list(arguments)
    if "--" not in everything:
        return everything, []
    position = everything.index("--")
    return everything[:position], everything[position + 1 :]


def _run(settings: Settings, command: list[str], held: list[int]) -> int:
    from agentfence.approval.choosing import relay_approver, why_nobody_is_asked
    from agentfence.disk import resolve_links
    from agentfence.fence import open_fence
    from agentfence.reporting import Reporter, StandardError, is_colourful

    write, colours = StandardError(), is_colourful(os.environ, sys.stderr)
    reporter = Reporter(write, settings.log_level, settings.log_format, colours=colours)
    with closing(relay_approver(settings, os.environ)) as approver:
        fence = open_fence(
            settings,
            os.environ,
            reporter,
            surface="relay",
            approver=approver.name,
            resolve_links=resolve_links,
        )
        unasked = why_nobody_is_asked(approver, settings)
        if unasked:
            fence.report(f"nobody can be asked, so what asks is denied: {unasked}")
        return _serve(fence, approver, command, held)


def _serve(fence: Fence, approver: Approver, command: list[str], held: list[int]) -> int:
    try:
        name_server = partial(_name_server, given=fence.settings.server, command=command)
        name, is_allowed = name_server(fence.policy)
        if name is None and any(server.command for server in fence.policy.servers):
            fence.report(
                "no entry of `servers:` covers this command, so no rule for `server/tool` holds; "
                "`--server NAME` says which one it is"
            )
        if not is_allowed:
            raise UsageError(
                "no entry of `servers:` covers this command, and the policy says `unlisted: block`"
            )
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, as some clients leave it, no status comes
        ends = _hold_signals(signal.SIGTERM, signal.SIGINT)  # else a server would be left behind
        try:
            child = _start_server(command)
        except OSError as error:
            from agentfence.starting import describe_failure, status_of

            _report(describe_failure(command[0], error))
            return status_of(error)
        try:
            relay = _relay(fence, child, approver, name_server, command)
            for number in (*held, *ends):
                signal.raise_signal(number)
            return relay.run()
        finally:
            _end_now(child)
    finally:
        fence.close()


def _hold_signals(*numbers: int) -> list[int]:
    """Give the list of what comes from now on until the relay listens."""
    held: list[int] = []
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _frame: held.append(number))
    return held


def _relay(
    fence: Fence,
    child: subprocess.Popen[bytes],
    approver: Approver,
    name_server: NameServer,
    command: list[str],
) -> Relay:
    # Only now: the server starts while this loads what judges messages.
    from agentfence.core.session import Conversation, Session, Transport
    from agentfence.relay import Relay

    session = Session(f"stdio:{os.getppid()}", is_identified=True)
    server, _ = name_server(fence.policy)
    conversation = Conversation(session, Transport.STDIO, server)
    conversation.command = " ".join(command).encode(errors="backslashreplace").decode()
    relay = Relay(fence, child, conversation, approver, name_server)
    gc.freeze()  # all that is there now stays
    gc.enable()
    return relay


def _end_now(child: subprocess.Popen[bytes]) -> None:
    """Leave no process behind, whatever happened to the relay."""
    if child.poll() is None:
        child.kill()
    child.wait()


def _name_server(policy: Policy, *, given: str | None, command: Sequence[str]) -> tuple[str | None, bool]:
    from agentfence.core.policy.model import Unlisted
    from agentfence.core.servers import check_given_name, name_of_command

    if given is not None:
        check_given_name(policy.servers, given)
        return given, True
    name = name_of_command(policy.servers, command)
    return name, name is not None or policy.unlisted is not Unlisted.BLOCK


def _start_server(command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the server without what is set for the fence alone."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    outliving, _ours = os.pipe()
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env=environment,
        pass_fds=(outliving,),
    )
    _end_with_us(child.pid, outliving)
    os.close(outliving)
    return child


def _end_with_us(pid: int, outliving: int) -> None:
    """Have the server told to end when this process is gone, even by SIGKILL.

    The end of a pipe that the server holds then loses its other end, which is ours alone, and Linux
    tells the owner of that by a signal. To ask for one at the death of a parent (prctl(2)) takes code
    in the child, and with it a slower start.
    """
    if sys.platform == "linux":
        with suppress(OSError):  # some that call themselves Linux lack it
            fcntl.fcntl(outliving, fcntl.F_SETOWN, pid)
            fcntl.fcntl(outliving, fcntl.F_SETSIG, signal.SIGTERM)
            fcntl.fcntl(outliving, fcntl.F_SETFL, os.O_ASYNC)


def _report(text: str) -> None:
    if sys.stderr is None:  # without one it would be written to stdout, which is the protocol's
        return
    with suppress(OSError):  # a closed or full stderr must not end the relay
        print(f"agentfence: {text}", file=sys.stderr, flush=True)  # noqa: T201 - stderr is for people
