"""What several verbs do first: find the policy, load it, open what they read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agentfence.core.errors import UsageError
from agentfence.core.pins import NOTHING_PINNED, of_any_server
from agentfence.core.policy.model import Pins
from agentfence.core.redaction import build_redactor
from agentfence.lock_file import open_lock
from agentfence.policy_files import find_policy, load_document

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import LinkResolver
    from agentfence.core.pins import Lock
    from agentfence.core.policy.load import LoadedPolicy
    from agentfence.core.policy.model import Policy
    from agentfence.core.redaction import Redactor


def load(option: str | None, *, follow_links: bool = False) -> LoadedPolicy:
    """Give the policy that an option, or its absence, means.

    Raises:
        PolicyError: It cannot be read or used.
        UsageError: The option is there, and empty.

    """
    return load_document(find_policy(option, os.environ), os.environ, follow_links_default=follow_links)


def load_lock(option: str | None, lock: str | None, policy: Policy) -> Lock:
    """Give the pins that hold for calls that are written down; `option` is what means the policy.

    Raises:
        UsageError: The lock file cannot be read, or is no lock file.

    """
    if policy.pins is not Pins.REQUIRE:
        return NOTHING_PINNED
    lock = lock or os.environ.get("AGENTFENCE_LOCK") or None
    return of_any_server(open_lock(lock, find_policy(option, os.environ)))


def link_resolver(*, follow_links: bool) -> LinkResolver | None:
    """Give what resolves links on this machine's disk, where that is wanted."""
    if not follow_links:
        return None
    from agentfence.disk import resolve_links

    return resolve_links


def redactor_of(policy: Policy) -> Redactor:
    """Give the redactor that a policy asks for."""
    settings = policy.redaction
    return build_redactor(builtin=settings.builtin, patterns=settings.patterns, enabled=settings.enabled)


def read_file(name: str, limit: int) -> bytes:
    """Give the content of a small file that the command line names.

    Raises:
        UsageError: It cannot be read, or is larger than `limit` bytes.

    """
    try:
        with Path(name).expanduser().open("rb") as file:
            content = file.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"cannot read `{name}`: {reason}") from error
    if len(content) > limit:
        raise UsageError(f"`{name}` is larger than {limit} bytes")
    return content
