"""What `mitmdump -s addon/agentfence.py` loads: it starts the fence, no more."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mitmproxy import ctx

if TYPE_CHECKING:
    from mitmproxy.addonmanager import Loader

# mitmproxy puts this folder first on sys.path, where this file would hide the package of the same
# name. So take the folder out, and put this checkout's package first: the script must never run
# with another version of it.
_HERE = Path(__file__).resolve().parent
_ENGINE = _HERE.parent / "engine"
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _HERE]
if _ENGINE.is_dir():
    sys.path.insert(0, str(_ENGINE))

from agentfence.mitm.entry import promote


def load(_loader: Loader) -> None:
    """Put the fence into mitmproxy's own chain, where it outlives this script."""
    promote(ctx.master.addons)
