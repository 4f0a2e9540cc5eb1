"""Imports point one way: surfaces know the core, and the core knows nothing of the world."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "engine" / "agentfence"
CORE = PACKAGE / "core"
WORLD = {
    "asyncio",
    "io",
    "mitmproxy",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "rich",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
BUILTINS = {"open", "input", "print", "exec", "eval", "__import__"}
BUILTINS_OF = {"values.py": {"exec"}}  # writes the `__init__` of each class of values, as `dataclasses` does


def modules() -> list[Path]:
    return sorted(CORE.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(CORE)))
def test_the_core_touches_nothing(module: Path) -> None:
    tree = ast.parse(module.read_text())
    names = set(imported(tree))
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert {name.split(".")[0] for name in names} & WORLD == set()
    assert {
        name for name in names if name.startswith("agentfence") and not name.startswith("agentfence.core")
    } == set()
    assert called & BUILTINS == BUILTINS_OF.get(str(module.relative_to(CORE)), set())


def test_the_relay_and_the_cli_do_not_need_mitmproxy() -> None:
    program = (
        "import sys\nsys.modules['mitmproxy'] = None\n"
        "import agentfence.stdio, agentfence.relay_start, agentfence.fence, agentfence.cli.main\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_the_relay_starts_without_what_most_starts_never_use(tmp_path: Path) -> None:
    """Clients start one for each of their servers: what is loaded here, each of them waits for."""
    spared = (
        "argparse asyncio dataclasses inspect jsonschema mitmproxy pathlib re2 rich secrets shutil traceback"
        " tree_sitter urllib.parse uuid yaml"
    )
    program = (
        f"import sys\nspared = set('{spared}'.split()) - sys.modules.keys()\n"
        "from agentfence.stdio import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "sys.exit(', '.join(spared & sys.modules.keys()) or 0)\n"
    )
    # A bytecode folder of its own: elsewhere relays of other tests may keep a policy in the same place meanwhile.
    environment = {
        "XDG_STATE_HOME": str(tmp_path),
        "PYTHONPYCACHEPREFIX": str(tmp_path),
        "PATH": os.environ["PATH"],
    }
    policy = str(PACKAGE.parents[1] / "policies" / "default.yaml")
    arguments = ["--policy", policy, "--log-level", "quiet", "--", "true"]
    for first in (["-m", "agentfence.stdio"], ["-c", program]):  # the first one reads the YAML, and keeps it
        subprocess.run(
            [sys.executable, *first, *arguments],
            env=environment,
            check=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if path.name != "__init__.py" and not ast.get_docstring(ast.parse(path.read_text()))
    ]

    assert silent == []
