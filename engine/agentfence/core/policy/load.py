"""A policy file, and what it imports, into a policy: the whole way in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.policy.compile import compile_policy
from agentfence.core.policy.imports import read_anew, resolve
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import BuildContext
    from agentfence.core.errors import Problem
    from agentfence.core.policy.imports import Document, Loader, PolicyFile, Read
    from agentfence.core.policy.model import Policy


@frozen
class LoadedPolicy:
    """A policy, with what it was made from."""

    policy: Policy
    document: Document
    problems: tuple[Problem, ...] = ()
    """Warnings: what is doubtful, and does not keep the policy from being used."""


def load_policy(
    root: PolicyFile, load: Loader, context: BuildContext, read: Read = read_anew
) -> LoadedPolicy:
    """Give the policy of a file; raises `PolicyError` when it cannot be used.

    `context` says what a surface knows of its surroundings; the folder and the language are the file's.
    `read` gives the tree of each file.
    """
    document = resolve(root, load, read)
    return LoadedPolicy(compile_policy(document, context), document, document.doubts)
