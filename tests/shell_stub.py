"""Real shells that can run nothing but a program which writes down its arguments."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = [
    shell
    for shell in ("sh", "bash", "dash", "zsh", "mksh", "fish", "busybox")
    if shutil.which(shell) is not None
]
"""Those that this machine has."""
_OPTIONS = {"zsh": ["-f"], "fish": ["--no-config"], "busybox": ["sh"]}
_STUB = """#!/bin/sh
{ printf '%s\\037' "${0##*/}" "$@"; printf '\\036'; } >> "$STUB_LOG/$$"  # two may run at once
"""


class Stub:
    """A folder with programs of the given names, and a shell to run scripts with them alone."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self.programs = folder / "programs"
        self.work = folder / "work"
        self.log = folder / "log"
        for each in (self.programs, self.work, self.log):
            each.mkdir()
        for name in names:
            program = self.programs / name
            program.write_text(_STUB)
            program.chmod(0o755)

    def run(self, shell: str, script: str) -> list[tuple[str, ...]]:
        """Give each program that the shell ran, with its arguments, in any order."""
        path = shutil.which(shell)
        assert path is not None
        environment = {
            "PATH": str(self.programs),
            "STUB_LOG": str(self.log),
            "HOME": str(self.work),
            "LC_ALL": "C.UTF-8",
        }
        subprocess.run(
            [path, *_OPTIONS.get(shell, []), "-c", script],
            env=environment,
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        calls: list[tuple[str, ...]] = []
        for file in self.log.iterdir():
            calls += (tuple(call.split("\037")[:-1]) for call in file.read_text("utf-8").split("\036")[:-1])
            file.unlink()
        return calls
