"""`agentfence pin`: agree to the tools of a server as they are now, or see what changed in them.

    agentfence pin [options] -- server-cmd [args…]
    agentfence pin [options] --url URL
    agentfence pin [options] --from-log [PATH]

What it writes is the lock file. A pin that is there already is only replaced by somebody who has seen
what changed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.audit.opening import state_folder
from agentfence.audit.reading import read_events
from agentfence.cli.pin_printing import print_changes
from agentfence.cli.terminal import say
from agentfence.core.errors import UsageError
from agentfence.core.pin_changes import ChangeKind, changes_of
from agentfence.core.pins import PIN_TEXTS, Lock, Pin
from agentfence.core.servers import check_given_name, name_of_command
from agentfence.flags import add_options
from agentfence.lock_file import lock_path, read_lock_at, save_lock
from agentfence.policy_files import find_policy, load_policy

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from agentfence.core.pin_changes import ToolChange
    from agentfence.core.policy.model import Policy

_NOTED = frozenset(code for code, _ in PIN_TEXTS.values())

type _Servers = Mapping[str, Mapping[str, Pin]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_options(parser, "policy", "lock")
    parser.add_argument(
        "--server", metavar="NAME", help="the server, as `servers` names it; else found there"
    )
    parser.add_argument("--url", metavar="URL", help="ask the server that listens there")
    parser.add_argument(
        "--header",
        metavar="NAME:VALUE",
        action="append",
        default=[],
        help="send a header with it, as Authorization; may be given again",
    )
    parser.add_argument(
        "--from-log",
        metavar="PATH",
        nargs="?",
        const="",
        help="ask no server: take what `pins: observe` noted in a log (default: those in your state folder)",
    )
    parser.add_argument(
        "--diff", action="store_true", help="write nothing, and exit with 1 when anything changed"
    )
    parser.add_argument("--yes", "-y", action="store_true", help="replace pins without asking")
    parser.add_argument("command", nargs="*", metavar="-- server-cmd", help="start the server so, and ask it")


def run(arguments: argparse.Namespace) -> int:
    """Pin, or show what changed; give the exit status."""
    found = find_policy(arguments.policy, os.environ)
    path = lock_path(arguments.lock or os.environ.get("AGENTFENCE_LOCK"), found)
    pinned = read_lock_at(path)
    now = _seen(arguments, load_policy(found, os.environ, follow_links_default=False), pinned)
    if not now and not arguments.diff:
        say("no log notes a tool that is not pinned as it is: nothing was written")
        return 0
    changes = {server: changes_of(pinned.servers.get(server, {}), tools) for server, tools in now.items()}
    print_changes(changes, now)
    if arguments.diff:
        return 1 if any(changes.values()) else 0
    if not _is_agreed(arguments, pinned, changes):
        say("nothing was written: look at what changed, and say --yes if it is right")
        return 1
    save_lock(path, Lock({**pinned.servers, **now}))
    servers = f"{len(now)} server" + ("s" if len(now) != 1 else "")
    print(f"{path}: tools pinned: {sum(map(len, now.values()))}, of {servers}")
    return 0


def _is_agreed(
    arguments: argparse.Namespace, pinned: Lock, changes: Mapping[str, Sequence[ToolChange]]
) -> bool:
    """Whether pins may be written: new ones always, others when somebody has said yes to it."""
    has_changed = any(
        server in pinned.servers and (change.kind is not ChangeKind.ADDED or arguments.from_log is None)
        for server, found in changes.items()
        for change in found
    )
    if not has_changed or arguments.yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print("agentfence: pin this? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _seen(arguments: argparse.Namespace, policy: Policy, pinned: Lock) -> _Servers:
    """Give the tools of each server that this is about."""
    ways = [arguments.url is not None, arguments.from_log is not None, bool(arguments.command)]
    if sum(ways) != 1:
        raise UsageError("expected one of a server command after `--`, --url and --from-log")
    if arguments.from_log is not None:
        return _from_log(arguments.from_log, pinned)
    if arguments.server is not None:
        check_given_name(policy.servers, arguments.server)
    from agentfence import live_tools  # what starts servers is needed for nothing else

    if arguments.url is None:
        name = arguments.server or name_of_command(policy.servers, arguments.command) or ""
        return {name: live_tools.tools_of_command(arguments.command)}
    headers = dict(map(_header, arguments.header))
    tools = live_tools.tools_of_url(arguments.url, headers)
    return {arguments.server or _name_of_url(policy, arguments.url): tools}


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise UsageError("--header must be like `Authorization: Bearer TOKEN`")
    return name.strip(), value.strip()


def _name_of_url(policy: Policy, url: str) -> str:
    """Give what the fence knows the server by: the policy's name, else its origin."""
    from urllib.parse import urlsplit

    from agentfence.core.http.endpoints import DEFAULT_PORTS
    from agentfence.core.http.message import HttpRequest
    from agentfence.core.http.traffic import Held, Sorter, Watched

    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme]
    except (ValueError, KeyError) as error:
        raise UsageError(f"--url `{url}` is not the URL of a server") from error
    headers = (("host", parts.netloc.rpartition("@")[2]), ("content-type", "application/json"))
    request = HttpRequest("POST", parts.scheme, host, port, parts.path or "/", headers)
    where = Sorter(policy.servers).sort(request)
    name = where.server if isinstance(where, Held | Watched) else None
    return name or f"{parts.scheme}://{host}:{port}"


def _from_log(given: str, pinned: Lock) -> _Servers:
    """Give the pins with what was noted since; of those only digests are known."""
    place = Path(given).expanduser() if given else Path(state_folder(os.environ), "audit")
    seen: dict[str, dict[str, Pin]] = {}
    for _, event in read_events(place, lambda _: None):
        if event is None or event.get("kind") != "noted" or event.get("reason_code") not in _NOTED:
            continue
        server = event.get("server") or event.get("origin") or ""
        tools = seen.setdefault(server, dict(pinned.servers.get(server, {})))
        tools[str(event.get("tool"))] = Pin(str(event.get("digest")))
    return seen
