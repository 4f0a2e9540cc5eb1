"""Where the policy and the pins of a run come from, so that they can be loaded again when files change."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentfence.core.pins import NOTHING_PINNED
from agentfence.core.policy.imports import PACKAGED
from agentfence.core.policy.model import Pins
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

    def load(self) -> tuple[Policy, Lock]:
        """Give the policy, and the pins that it asks for, as the files have them now.

        Raises:
            PolicyError: The policy cannot be read or used.
            UsageError: The lock file cannot.

        """
        # Marked before they are read: a change in between is then seen as one. What cannot be found
        # is marked too, so that a policy is loaded again when a missing import comes.
        self._loaded = {}
        self._mark(self._found.reference)
        policy = load_document(
            self._found,
            self._environment,
            follow_links_default=self._follow_links_default,
            load_import=self._load_import,
        ).policy
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
        return find_import(reference, importer)

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
