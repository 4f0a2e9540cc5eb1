"""The entry to the relay.

python -m agentfence.stdio [options] -- server-cmd [args…]
"""

from agentfence.working_folder import leave_out_working_folder

if __name__ == "__main__":
    leave_out_working_folder()

import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run the relay; give the server's exit status, or 125 to 127 for failures of its own."""
    # What is made until lines are carried stays: to look through it again and again for what could
    # be freed is a tenth of the start. The relay enables this again once it runs.
    gc.disable()
    try:
        from agentfence.relay_start import start

        return start(sys.argv[1:] if arguments is None else list(arguments))
    finally:
        gc.enable()


if __name__ == "__main__":
    sys.exit(main())
