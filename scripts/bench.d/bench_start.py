"""Starting the relay, against starting Python and reading a YAML library."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from figures import ROOT, Figure, in_turn

SUMMARY = "python -m agentfence.stdio -- true with the default policy, against python -c 'import yaml'"

_ROUNDS = 21
_MOST_TIMES = 2.5
_SERVER = (sys.executable, str(Path(__file__).with_name("line_server.py")), "16")
_PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def run(scale: float) -> list[Figure]:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        # What is imported is compiled once for all, as where a package is installed.
        environment = {**os.environ, "XDG_STATE_HOME": folder, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        policy = str(ROOT / "policies" / "default.yaml")
        relay = ("-m", "agentfence.stdio", "--policy", policy, "--log-level", "quiet", "--")

        def start(arguments: tuple[str, ...], given: bytes = b"") -> None:
            """Start Python and wait for its end, as it comes when its input has ended."""
            subprocess.run(
                [sys.executable, *arguments],
                env=environment,
                check=True,
                input=given,
                stdout=subprocess.DEVNULL,
            )

        works = (
            lambda: start(("-c", "import yaml")),
            lambda: start((*relay, "true")),
            lambda: start(_SERVER[1:], _PING),
            lambda: start((*relay, *_SERVER), _PING),
        )
        for work in works:  # once, so that everything is compiled and cached
            work()
        yaml, through, direct, answered = in_turn(max(3, int(_ROUNDS * scale)), *works)
    return [
        Figure("python -c 'import yaml'", 1e3 * yaml, "ms"),
        Figure("python -m agentfence.stdio -- true", 1e3 * through, "ms"),
        Figure(
            "start of the relay against that of Python with yaml", through / yaml, "times", most=_MOST_TIMES
        ),
        Figure("a Python server, from its start to its end after one answer", 1e3 * direct, "ms"),
        Figure("added by the relay", 1e3 * (answered - direct), "ms"),
    ]
