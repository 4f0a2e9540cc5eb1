"""`agentfence proxy-http`: the fence on HTTP, in one process with mitmproxy.

The same fence as the script's, on a small set of addons: no script that could be edited away, and
much less work for each request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.flags import add_option_flags, given_options

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--upstream", metavar="URL", help="the one server to stand in front of; without it a forward proxy"
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default="127.0.0.1:8080", help="default: 127.0.0.1:8080"
    )
    parser.add_argument("--web", action="store_true", help="show the live view of mitmweb beside it")
    parser.add_argument(
        "--set",
        metavar="OPTION=VALUE",
        action="append",
        default=[],
        help="set an option of mitmproxy, as confdir=DIR; may be given again",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print errors only")
    add_option_flags(parser, relay=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the proxy until it is told to end."""
    from agentfence.mitm.launcher import Launch, launch

    return launch(
        Launch(
            upstream=arguments.upstream,
            listen=arguments.listen,
            shows_web=arguments.web,
            is_quiet=arguments.quiet,
            own_options=given_options(arguments),
            host_options=tuple(arguments.set),
        )
    )
