"""`python -m agentfence`: the same as the command `agentfence`."""

from __future__ import annotations

import sys

from agentfence.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
