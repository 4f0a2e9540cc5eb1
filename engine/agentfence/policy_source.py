"""Where the policy and the pins of a run come from, so that they can be loaded again when files change."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from agentfence.core.errors import Place, PolicyError, Problem
from agentfence.core.pins import NOTHING_PINNED
from agentfence.core.policy.imports import PACKAGED, ImportRefusedError
from agentfence.core.policy.model import Pins
from agentfence.core.policy.nodes import Table
from agentfence.policy_cache import read_policy
from agentfence.policy_files import find_import, load_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.pins import Lock
    from agentfence.core.policy.imports import PolicyFile
    from agentfence.core.policy.model import Policy
    from agentfence.policy_files import FoundPolicy

    type Mark = tuple[int, int, int] | None
    """What tells one state of a file from another; None where there is no file."""

_NEVER = 0, 0, -1
"""No file has it."""
_EMPTY = "a file that says nothing"


class PolicySource:
    """A policy that was found, and the files that it was made of when it was last loaded."""

    def __init__(
        self,
        found: FoundPolicy,
        lock: str | None,
        environment: Mapping[str, str],
        *,
        follow_links_default: bool,
    ) -> None:
        """Take what was found at the start, which is never looked for again, and the option for the lock."""
        self.description = found.description
        self._found = found
        self._lock = lock
        self._environment = environment
        self._follow_links_default = follow_links_default
        self._loaded: dict[str, Mark] = {}
        self._seen: dict[str, Mark] = {}
        self._is_in_force = False

    def load(self) -> tuple[Policy, Lock]:
        """Give the policy, and the pins that it asks for, as the files have them now.

        Raises:
            PolicyError: The policy cannot be read or used, or was loaded before and says nothing now.
            UsageError: The lock file cannot.

        """
        # Marked before they are read: a change in between is then seen as one. What cannot be found
        # is marked too, so that a policy is loaded again when a missing import comes.
        self._loaded = {}
        self._mark(self._found.reference)
        if self._is_in_force and stat.S_ISFIFO(self._mode_of_root()):  # to open one waits for its writer
            raise self._refused("unreadable_file", "cannot read the policy: a pipe is read only once")
        loaded = load_document(
            self._found,
            self._environment,
            follow_links_default=self._follow_links_default,
            load_import=self._load_import,
        )
        policy = loaded.policy
        if self._has_lost(loaded.document.file):
            raise self._refused("empty", f"expected a policy, got {_EMPTY}")
        self._is_in_force = True
        if policy.pins is Pins.OFF:
            return policy, NOTHING_PINNED
        from agentfence.lock_file import lock_path, open_lock

        if self._lock is not None or not self._found.reference.startswith(PACKAGED):
            self._mark(str(lock_path(self._lock, self._found)))
        return policy, open_lock(self._lock, self._found)

    def has_changed(self) -> bool:
        """Whether a file changed since the last load, and is the same as when this was last asked.

        So a file that is just being written is left alone, and a bad one is not read again and again.
        """
        seen, self._seen = self._seen, {name: _mark_of(name) for name in self._loaded}
        return self._seen == seen and self._seen != self._loaded

    def owe(self) -> None:
        """Count as changed what was loaded last: it did not come into force."""
        self._loaded = dict.fromkeys(self._loaded, _NEVER)

    def _load_import(self, reference: str, importer: PolicyFile) -> PolicyFile:
        if not reference.startswith(PACKAGED):
            self._mark(os.path.join(os.path.dirname(importer.identity), reference))
        file = find_import(reference, importer)
        if self._has_lost(file):
            raise ImportRefusedError(f"it is {_EMPTY}")
        return file

    def _refused(self, code: str, message: str) -> PolicyError:
        return PolicyError([Problem(Place(self._found.reference, 1, 1), code, message)])

    def _mode_of_root(self) -> int:
        try:
            return os.stat(os.path.expanduser(self._found.reference)).st_mode
        except (OSError, ValueError):
            return 0

    def _has_lost(self, file: PolicyFile) -> bool:
        """Whether a file of a policy in force says nothing any more.

        A full disk or a save that broke off leaves it empty, and an editor with nothing but comments.
        """
        if not self._is_in_force:
            return False
        node = read_policy(file.name, file.content)
        return isinstance(node, Table) and not node.entries

    def _mark(self, name: str) -> None:
        if not name.startswith(PACKAGED):
            name = os.path.expanduser(name)
            self._loaded[name] = _mark_of(name)


def _mark_of(name: str) -> Mark:
    try:
        status = os.stat(name)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
