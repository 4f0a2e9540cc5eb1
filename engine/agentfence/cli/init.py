"""`agentfence init`: write a commented policy to start from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.cli.terminal import say
from agentfence.core.errors import UsageError
from agentfence.core.policy.imports import PACKAGED
from agentfence.core.policy.validation import did_you_mean
from agentfence.core.visible import visible
from agentfence.policy_files import packaged_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

_DEFAULT_FILE = "agentfence.yaml"
"""As the starters call themselves, too."""
_IMPORT_OF_STARTER = f'"{PACKAGED}SERVER"'
_STARTERS = Path(__file__).with_name("starters")
_NOT_OF_SERVERS = frozenset({"default", "observe", "read-only"})
"""Packaged policies that know tools by their names alone, and are to be used as they are."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default=_DEFAULT_FILE,
        help=f"default: {_DEFAULT_FILE}; - for stdout",
    )
    parser.add_argument(
        "--server",
        metavar="LIST",
        action="append",
        default=[],
        help=f"build on ready rules for servers, with commas between: {', '.join(_packaged())}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the policy; give the exit status."""
    servers = _read_servers(arguments.server)
    name = str(arguments.file)
    if name == "-":
        sys.stdout.write(starter(servers, _DEFAULT_FILE))
        return 0
    path = Path(name).expanduser()
    _write_new(path, starter(servers, visible(path.name)))
    say(f"wrote {name}; look at it with `agentfence validate --lint {name}`, and use it with --policy")
    return 0


def starter(servers: Sequence[str], file: str) -> str:
    """Give the text of a policy to start from; `servers` are packaged policies to build on."""
    text = (_STARTERS / ("for_servers.yaml" if servers else "own_rules.yaml")).read_text(encoding="utf-8")
    imports = ", ".join(f'"{PACKAGED}{name}"' for name in servers)
    return text.replace(_DEFAULT_FILE, file).replace(_IMPORT_OF_STARTER, imports)


def _packaged() -> list[str]:
    return sorted(
        path.stem for path in Path(packaged_folder()).glob("*.yaml") if path.stem not in _NOT_OF_SERVERS
    )


def _read_servers(lists: Iterable[str]) -> list[str]:
    names = [name.strip() for text in lists for name in text.split(",")]
    known = _packaged()
    for name in names:
        if name not in known:
            raise UsageError(f"there are no ready rules for `{name}`; {did_you_mean(name, known)}")
    return [*dict.fromkeys(names)]


def _write_new(path: Path, text: str) -> None:
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        raise UsageError(f"`{path}` is there already, and is not overwritten") from None
    except OSError as error:
        raise UsageError(f"cannot write `{path}`: {error.strerror}") from error
    try:
        with file:
            file.write(text)
    except OSError as error:
        path.unlink(missing_ok=True)  # half a policy may mean something else
        raise UsageError(f"cannot write `{path}`: {error.strerror}") from error
