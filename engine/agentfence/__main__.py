"""`python -m agentfence`: the same as the command `agentfence`."""

from agentfence.working_folder import leave_out_working_folder

if __name__ == "__main__":
    leave_out_working_folder()

import sys

from agentfence.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
