"""The command `agentfence`: finds the verb, and runs its module.

Each verb is a module with `HELP`, `add_arguments(parser)` and `run(arguments) -> int`; only the one
that is asked for is imported. Exit status: 0 fine, 1 a gate or test failed, 2 usage, 3 bad policy,
4 audit log broken or not verifiable.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from agentfence import __version__
from agentfence.cli.parsing import Parser
from agentfence.core.errors import AgentFenceError, PolicyError, UsageError
from agentfence.core.visible import visible

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


class Verb(Protocol):
    """What the module of a verb offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the verb's arguments to its parser."""
        ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Do it; give the exit status."""
        ...


VERBS = {
    "proxy": "put the fence around a server that talks on stdin and stdout",
    "proxy-http": "start the fence as an HTTP proxy, in one process with mitmproxy",
    "run": "run an agent behind the fence: the proxy starts and ends with it",
    "approvals": "show the calls that wait for a person, and approve or deny them",
    "check": "judge recorded calls, one a line",
    "explain": "say how one call is decided, and why",
    "validate": "say what is wrong in policies, or doubtful",
    "test": "run the tests of policies",
    "pin": "agree to the tools of a server as they are, or see what changed in them",
    "init": "write a policy to start from",
    "schema": "print the JSON Schema of policies, for editors",
    "completion": "print what completes command lines in a shell",
    "audit": "verify, anchor and read audit logs",
}
_AS_JSON = "agentfence-json"
INTERRUPTED = 130
"""128 and the number of SIGINT, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; give the exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] in ([], ["help"]):
        given = [*given[1:], "--help"]
    if given[:1] == ["proxy"]:  # the relay reads its own command line, and must not pay for ours
        from agentfence.stdio import main as relay

        return relay(given[1:])
    _prepare_streams()
    try:
        status = _run(given)
        sys.stdout.flush()
    except PolicyError as error:
        from agentfence.core.policy.rendering import render_text

        print(render_text(error.problems), file=sys.stderr)
        return error.exit_status
    except UsageError as error:
        print(f"agentfence: {visible(str(error))} (see --help)", file=sys.stderr)
        return error.exit_status
    except AgentFenceError as error:
        print(f"agentfence: {visible(str(error))}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:  # whoever read our output has gone; nothing is to be said at the end either
        _drop_output()
        return 1
    except OSError as error:  # as a full disk under stdout; files that are named were opened with more care
        where = f" `{visible(str(error.filename))}`" if error.filename else ""
        print(f"agentfence: reading or writing{where} failed: {error.strerror or error}", file=sys.stderr)
        _drop_output()
        return UsageError.exit_status
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _prepare_streams() -> None:
    """Have something in the place of a closed stdout or stderr, and every text writable to each.

    The next file that is opened would take a closed one's number. What the encoding of a terminal lacks,
    and a name that is no text, is escaped as JSON has it, so that JSON stays JSON.
    """
    codecs.register_error(_AS_JSON, _escaped_as_json)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as we run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_AS_JSON)


def _escaped_as_json(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_line(verb: str | None = None) -> Parser:
    """Give the parser; with the arguments of `verb`, or of all verbs when None."""
    parser = Parser(
        prog="agentfence",
        description="The policy firewall for MCP.",
        epilog="Exit status: 0 fine, 1 a gate or test failed, 2 usage, 3 bad policy, 4 audit log.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"agentfence {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, summary in VERBS.items():
        sub = verbs.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name != "proxy" and verb in (None, name):
            _module(name).add_arguments(sub)
    return parser


def _run(given: list[str]) -> int:
    verb = given[0] if given and given[0] in VERBS else ""
    arguments = command_line(verb).parse_line(given)
    return _module(arguments.verb).run(arguments)


def _module(verb: str) -> Verb:
    return cast("Verb", import_module(f"agentfence.cli.{verb.replace('-', '_')}"))
