"""Keeps the working folder from being a place where Python looks for modules.

`python -m` puts it first. So a cloned repository could bring a `json.py` that runs in the fence's place.
Nothing is imported here, or before this by what `python -m` starts, that Python has not loaded by then:
`__future__` and `typing` would be looked for there, too.
"""

import os
import sys


def leave_out_working_folder() -> None:
    """Take out what `python -m` put first."""
    try:
        if not sys.flags.safe_path and sys.path[0] == os.getcwd():
            del sys.path[0]
    except OSError:  # the folder is gone: then Python has put nothing there
        pass
