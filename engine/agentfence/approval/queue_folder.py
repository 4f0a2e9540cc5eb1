"""Where fences that ask by queue can be found: sockets in folders that only their user can enter."""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SUFFIX: Final = ".sock"
_LONGEST_ADDRESS: Final = 100
"""Bytes of a path that every system takes for a socket (Linux 107, others 103)."""


def candidates(environment: Mapping[str, str]) -> list[str]:
    """Give the folders that fences of this user may use, the best first.

    A client that was started from a desktop often gives its servers an environment without
    XDG_RUNTIME_DIR, so the places that the variables default to are among them.
    """
    bases = [environment.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}"]
    folders = [os.path.join(base, "agentfence") for base in bases if base.startswith("/") and _is_own(base)]
    states = [environment.get("XDG_STATE_HOME", ""), os.path.expanduser("~/.local/state")]
    folders += [os.path.join(state, "agentfence", "approvals") for state in states if state.startswith("/")]
    return list(dict.fromkeys(folders))


def make_folder(environment: Mapping[str, str]) -> str:
    """Give the best folder that this user has to itself; it is made when it is not there.

    Raises:
        OSError: There is none.

    """
    problem = OSError("there is no folder for it")
    for folder in candidates(environment):
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            problem = error
            continue
        if is_private(folder):
            return folder
        problem = OSError(f"{folder} is open to others: give it mode 0700")
    raise problem


def is_private(folder: str | Path) -> bool:
    """Whether nobody but this user can put anything into `folder`, or replace what is there."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def find_sockets(environment: Mapping[str, str]) -> list[Path]:
    """Give the sockets of all fences of this user, by name."""
    from pathlib import Path  # for who looks for fences; these start more often

    return sorted(
        entry
        for folder in candidates(environment)
        if is_private(folder)
        for entry in Path(folder).iterdir()
        if entry.suffix == SUFFIX and entry.is_socket()
    )


@contextmanager
def address_of(path: str | Path) -> Iterator[str]:
    """Give `path` as an address for a socket, whatever its length.

    Raises:
        OSError: It is too long for this system.

    """
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS:
        yield str(path)
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        short = f"/proc/self/fd/{descriptor}"
        if not os.path.isdir(short):
            raise OSError(f"the path {path} is too long for a socket")
        yield f"{short}/{name}"
    finally:
        os.close(descriptor)


def peer_of(connection: socket.socket) -> tuple[int, int | None]:
    """Give the user at the other end of a connection, and its process where the system tells.

    Raises:
        OSError: The system does not say.

    """
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        process, user, _ = struct.unpack("3i", credentials)
        return user, process
    # LOCAL_PEERCRED of the BSDs and macOS: `struct xucred` begins with a version and the user.
    _, user = struct.unpack("2I", connection.getsockopt(0, 1, 76)[:8])
    return user, None


def _is_own(folder: str) -> bool:
    try:
        return os.stat(folder).st_uid == os.getuid()
    except OSError:
        return False
