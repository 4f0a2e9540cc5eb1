"""`agentfence explain`: what the policy says of one call, which rule says it, and what was looked at."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from agentfence.cli.loading import link_resolver, load, load_lock
from agentfence.cli.terminal import Paint, say
from agentfence.core.constraints.effort import Effort
from agentfence.core.constraints.interface import Circumstances
from agentfence.core.engine import Engine
from agentfence.core.errors import ProtocolViolation, UsageError
from agentfence.core.jsonrpc import parse_json
from agentfence.core.policy.lookup_trace import trace_lookup
from agentfence.core.policy.validation import did_you_mean
from agentfence.core.session import Session
from agentfence.core.values import frozen
from agentfence.core.visible import visible
from agentfence.core.written_requests import decide_request, request_for_method, request_for_tool
from agentfence.flags import add_options

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from agentfence.core.constraints.interface import Json
    from agentfence.core.decision import Decision
    from agentfence.core.jsonrpc import Request
    from agentfence.core.policy.model import Policy

_SUBJECTS = ("tool", "method", "uri", "prompt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    add_options(parser, "policy", "lock")
    parser.add_argument("--tool", metavar="NAME", help="the tool that is called")
    parser.add_argument(
        "--server", metavar="NAME", help="the server that is talked to, as `servers` names it"
    )
    parser.add_argument(
        "--args", metavar="JSON", default="{}", help="the arguments of the call (default: {})"
    )
    parser.add_argument("--method", metavar="NAME", help="instead of a tool: the method of another message")
    parser.add_argument("--uri", metavar="URI", help="instead of a tool: a resource")
    parser.add_argument("--prompt", metavar="NAME", help="instead of a tool: a prompt")
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="how it is printed (default: text)"
    )
    parser.add_argument(
        "--follow-links", action="store_true", help="resolve links on this machine's disk, as the relay does"
    )


def run(arguments: argparse.Namespace) -> int:
    """Explain one decision; give the exit status, 0 whatever the decision is."""
    request = _read_request(arguments)
    policy = load(arguments.policy, follow_links=arguments.follow_links).policy
    note = _note_on_server(arguments, [server.name for server in policy.servers])
    if note:
        say(note)
    explained = _explain(policy, request, arguments)
    if arguments.output == "json":
        print(json.dumps(_as_json(explained, arguments, policy.digest), ensure_ascii=False, indent=2))
    else:
        _print(explained, arguments)
    return 0


@frozen
class _Explained:
    """A decision and how it came about."""

    decision: Decision
    trace: list[str]


def _explain(policy: Policy, request: Request, arguments: argparse.Namespace) -> _Explained:
    trace: list[str] = []
    resolve_links = link_resolver(follow_links=arguments.follow_links)
    circumstances = Circumstances(time.time(), resolve_links, Effort())
    session = Session("explain", is_identified=True)
    engine = Engine(policy, load_lock(arguments.policy, arguments.lock, policy))
    decision = decide_request(engine, request, arguments.server, session, circumstances, trace.append)
    if arguments.tool is not None and decision.reason_code not in ("forbidden", "tool_name_ambiguous"):
        trace = [*trace_lookup(policy, arguments.server, arguments.tool)[0], *trace]
    return _Explained(decision, trace)


def _note_on_server(arguments: argparse.Namespace, known: Sequence[str]) -> str | None:
    """Give what may be wrong about the server that was given, or was not."""
    if not known or arguments.server in known:
        return None
    if arguments.server is not None:
        return f"the policy names no server `{arguments.server}`; {did_you_mean(arguments.server, known)}"
    if arguments.tool is None:
        return None
    server, _, tool = arguments.tool.partition("/")
    if server in known:
        return f"did you mean `--server {server} --tool {tool}`?"
    return f"without --server no rule for `server/tool` counts; the policy's servers: {', '.join(known)}"


def _read_request(arguments: argparse.Namespace) -> Request:
    given = [name for name in _SUBJECTS if getattr(arguments, name) is not None]
    if not given or (len(given) > 1 and set(given) not in ({"method", "uri"}, {"method", "prompt"})):
        raise UsageError(
            "expected one of --tool, --method, --uri and --prompt; --method may go with the last two"
        )
    if any(not getattr(arguments, name) for name in given):
        raise UsageError(f"--{given[0]} is empty")
    if arguments.method == "tools/call":
        raise UsageError("`tools/call` is explained with --tool and --args")
    if arguments.tool is None:
        return request_for_method("1", arguments.method, uri=arguments.uri, prompt=arguments.prompt)
    try:
        values = parse_json(arguments.args.encode("utf-8", "surrogateescape"))
    except ProtocolViolation as violation:
        raise UsageError(f"--args must be a JSON object: {violation}") from violation
    if not isinstance(values, dict):
        raise UsageError('--args must be a JSON object, as `{"path": "docs/a.md"}`')
    return request_for_tool("1", arguments.tool, values)


def _subject(arguments: argparse.Namespace) -> dict[str, Json]:
    """Give what the decision is about, as it was given."""
    named = {name: getattr(arguments, name) for name in (*_SUBJECTS, "server")}
    return {name: value for name, value in named.items() if value is not None}


def _as_json(explained: _Explained, arguments: argparse.Namespace, digest: str) -> dict[str, Json]:
    decision = explained.decision
    place = decision.place
    return {
        **_subject(arguments),
        "decision": decision.verdict.value,
        "reason_code": decision.reason_code,
        "reason": decision.reason,
        "rule": decision.rule,
        "place": None if place is None else {"file": place.file, "line": place.line, "column": place.column},
        "message": decision.message,
        "trace": [*explained.trace],
        "policy_digest": digest,
    }


def _print(explained: _Explained, arguments: argparse.Namespace) -> None:
    paint, decision = Paint(sys.stdout), explained.decision
    for name, value in _subject(arguments).items():
        print(f"{name + ':':10}{visible(str(value))}")
    print(f"{'decision:':10}{paint.decision(decision.verdict)}")
    print(f"{'reason:':10}{visible(decision.reason)} ({decision.reason_code})")
    place = decision.place
    print(f"{'rule:':10}{visible(decision.rule)}" + (f" at {place}" if place else ""))
    if decision.message:
        print(f"{'message:':10}{visible(decision.message)}")
    for number, step in enumerate(explained.trace, 1):
        print(f"{'trace:' if number == 1 else '':10}{number}. {visible(step)}")
