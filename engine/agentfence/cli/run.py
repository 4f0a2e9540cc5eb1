"""`agentfence run`: an agent behind the fence, without a word about it in the agent's settings.

    agentfence run [options] -- agent-command [args…]

The proxy listens at a free port for this agent alone, and the agent's environment says where it is and
whom to trust. What the agent starts inherits that. A program that ignores proxy variables, as Go ones
do for loopback addresses, is not fenced by it.
"""

from __future__ import annotations

import os
import re
import secrets
import ssl
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentfence.core.errors import UsageError
from agentfence.flags import add_option_flags, given_options
from agentfence.settings import ENVIRONMENT_PREFIX

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from mitmproxy.master import Master

PROXY_VARIABLES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
"""Each also in lower case."""
AUTHORITY_VARIABLES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, Python, Go, Rust
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "NIX_SSL_CERT_FILE",
    "DENO_CERT",
)
"""Each names the only authorities that are trusted, so it gets those of the system and ours."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "--web", action="store_true", help="show the live view of mitmweb beside it, and ask there"
    )
    parser.add_argument(
        "--set",
        metavar="OPTION=VALUE",
        action="append",
        default=[],
        help="set an option of mitmproxy, as confdir=DIR; may be given again",
    )
    add_option_flags(parser, relay=False)
    parser.add_argument(
        "command", nargs="*", metavar="-- agent-command", help="the agent, with its arguments"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the proxy and the agent; give the agent's exit status."""
    from agentfence.mitm.agent import StandardErrorLog, run_agent
    from agentfence.mitm.launcher import Launch, launch

    command: list[str] = arguments.command
    if not command:
        raise UsageError("no agent command: write it after `--`, as `agentfence run -- my-agent`")
    user, password = f"agent-{_plain_name(command[0])}", secrets.token_urlsafe(24)
    options = [f"proxyauth={user}:{password}", *arguments.set]
    if arguments.web:
        options += ["web_open_browser=false"] if not _sets(arguments.set, "web_open_browser") else []
        options += [f"web_port={_free_web_port()}"] if not _sets(arguments.set, "web_port") else []
    StandardErrorLog().install()
    with tempfile.TemporaryDirectory(prefix="agentfence-") as folder:

        def environment_of(host: Master, port: int) -> Mapping[str, str]:
            authority = Path(host.options.confdir).expanduser() / "mitmproxy-ca-cert.pem"
            bundle = write_bundle(Path(folder), authority, os.environ)
            _announce(host, port)
            return agent_environment(
                os.environ, f"http://{user}:{password}@127.0.0.1:{port}", authority, bundle
            )

        return launch(
            Launch(
                upstream=None,
                listen="127.0.0.1:0",
                shows_web=arguments.web,
                is_quiet=False,
                own_options=_own_options(arguments),
                host_options=tuple(options),
                beside=lambda host: run_agent(host, command, environment_of),
            )
        )


def agent_environment(
    inherited: Mapping[str, str], proxy: str, authority: Path, bundle: Path
) -> dict[str, str]:
    """Give the environment that leads an agent through `proxy`.

    `authority` is the certificate that signs what the proxy shows, `bundle` holds the system's as well.
    """
    # The fence's own settings are not the agent's, nor those of fences that it starts.
    environment = {name: text for name, text in inherited.items() if not name.startswith(ENVIRONMENT_PREFIX)}
    for name in PROXY_VARIABLES:
        environment[name] = environment[name.lower()] = proxy
    # Nothing goes round the proxy: MCP servers on this machine are to be fenced as well.
    environment["NO_PROXY"] = environment["no_proxy"] = ""
    environment["NODE_USE_ENV_PROXY"] = "1"  # Node.js ignores the others without it
    environment["NODE_EXTRA_CA_CERTS"] = str(authority)
    environment.update(dict.fromkeys(AUTHORITY_VARIABLES, str(bundle)))
    return environment


def write_bundle(folder: Path, authority: Path, environment: Mapping[str, str]) -> Path:
    """Write a file with the authorities that are trusted already, and `authority`; give its path."""
    import certifi

    known = b""
    places = (environment.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, certifi.where())
    for place in filter(None, places):
        with suppress(OSError):
            known = Path(place).read_bytes()
            break
    bundle = folder / "authorities.pem"
    bundle.write_bytes(known.rstrip(b"\n") + b"\n" + authority.read_bytes())
    return bundle


def _own_options(arguments: argparse.Namespace) -> dict[str, str | None]:
    """Give the fence's options, with what suits an agent that has the terminal to itself."""
    own = dict(given_options(arguments))
    suiting = {"approver": "intercept" if arguments.web else "queue"}
    if sys.stderr.isatty():
        suiting["log_level"] = "quiet"
    for name, value in suiting.items():
        if own.get(name) is None and f"{ENVIRONMENT_PREFIX}{name.upper()}" not in os.environ:
            own[name] = value
    return own


def _announce(host: Master, port: int) -> None:
    view = getattr(host, "web_url", None)
    shown = f"; live view: {view}" if view else ""
    print(f"agentfence: the agent goes through 127.0.0.1:{port}{shown}", file=sys.stderr, flush=True)
    for name in PROXY_VARIABLES[:2]:
        inherited = os.environ.get(name) or os.environ.get(name.lower())
        if inherited:
            print(
                f"agentfence: {name} was set, and is not used: --set mode=upstream:URL goes through it",
                file=sys.stderr,
                flush=True,
            )
            return


def _sets(options: list[str], name: str) -> bool:
    return any(option.partition("=")[0] == name for option in options)


def _free_web_port() -> int:
    """Give mitmweb's usual port, or another one when that is taken."""
    import socket

    for port in (8081, 0):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise UsageError("no port is free for the live view")


def _plain_name(program: str) -> str:
    """Give a program's name as a proxy user: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", Path(program).name)[:40] or "unnamed"
