"""Policies for tests, from texts: no file is read."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import BuildContext
from agentfence.core.errors import PolicyError
from agentfence.core.policy.imports import PACKAGED, ImportRefusedError, PolicyFile
from agentfence.core.policy.load import load_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentfence.core.errors import Problem
    from agentfence.core.policy.load import LoadedPolicy
    from agentfence.core.policy.model import Policy

FOLDER = "/etc/policies"
CONTEXT = BuildContext(home="/home/me", environment={"PROJECT": "/work/project"})


def file_of(name: str, text: str) -> PolicyFile:
    """Give the file that a loader would give; `name` is relative to one folder for all."""
    path = f"{FOLDER}/{name}"
    is_packaged = name.startswith(PACKAGED)
    return PolicyFile(name, text.encode(), path, posixpath.dirname(path), is_packaged)


def load_texts(files: Mapping[str, str], context: BuildContext = CONTEXT) -> LoadedPolicy:
    """Give the policy in `root.yaml`, with the other files there to be imported."""

    def load(reference: str, importer: PolicyFile) -> PolicyFile:
        folder = posixpath.dirname(importer.name)
        name = (
            reference
            if reference.startswith(PACKAGED)
            else posixpath.normpath(f"{folder}/{reference}".lstrip("/"))
        )
        if name not in files:
            raise ImportRefusedError("there is no such file")
        return file_of(name, files[name])

    return load_policy(file_of("root.yaml", files["root.yaml"]), load, context)


def problems_in(read: Callable[[], object]) -> tuple[Problem, ...]:
    """Give the problems that reading something raises; empty when it can be read."""
    try:
        read()
    except PolicyError as error:
        return error.problems
    return ()


def load_text(text: str) -> Policy:
    """Give the policy in one text."""
    return load_texts({"root.yaml": text}).policy
