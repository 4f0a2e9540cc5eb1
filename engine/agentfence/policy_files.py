"""Where policies come from: the file that a run uses, what it imports, and the packaged ones.

Never the working folder: a cloned repository could bring a policy of its own.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from agentfence.core.constraints.interface import BuildContext
from agentfence.core.errors import Place, PolicyError, Problem, UsageError
from agentfence.core.late_regex import late_regex
from agentfence.core.policy import load
from agentfence.core.policy.imports import PACKAGED, ImportRefusedError, PolicyFile
from agentfence.core.policy.nodes import MAX_BYTES
from agentfence.core.policy.validation import did_you_mean
from agentfence.core.values import frozen, replace
from agentfence.policy_cache import read_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentfence.core.policy.imports import Loader
    from agentfence.core.policy.load import LoadedPolicy
    from agentfence.core.policy.model import Policy

_BUILT_IN = f"{PACKAGED}default"
_PACKAGED_NAME = late_regex(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")


@frozen
class FoundPolicy:
    """Which policy a run uses, and why that one."""

    reference: str
    """A path, or `agentfence:NAME` for a packaged policy."""
    origin: str
    """How it was found: an option, a variable, a folder."""

    @property
    def description(self) -> str:
        """For the line at the start: the policy and how it was found."""
        return f"{self.reference} ({self.origin})"


def find_policy(option: str | None, environment: Mapping[str, str]) -> FoundPolicy:
    """Give the policy of this run: the option's, else the variable's, the user's own, the built-in one.

    Raises:
        UsageError: The option is there, and empty.

    """
    if option is not None:
        if not option:
            raise UsageError("expected a policy file, got an empty name")
        return FoundPolicy(option, "as given")
    if environment.get("AGENTFENCE_POLICY"):
        return FoundPolicy(environment["AGENTFENCE_POLICY"], "AGENTFENCE_POLICY")
    folder = _configuration_folder(environment)
    if folder and _may_be_there(own := os.path.join(folder, "agentfence", "policy.yaml")):
        return FoundPolicy(own, "your configuration folder")
    return FoundPolicy(_BUILT_IN, "built in")


def _may_be_there(path: str) -> bool:
    """Whether a policy is there, as far as can be seen.

    One that cannot be read, or looked for, must stop the start and not be passed over: `os.path.exists`
    takes a folder that nobody may look into for an empty one.
    """
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _configuration_folder(environment: Mapping[str, str]) -> str | None:
    if sys.platform == "win32":
        return environment.get("APPDATA")
    # XDG Base Directory Specification: a relative path there is ignored.
    folder = environment.get("XDG_CONFIG_HOME", "")
    if os.path.isabs(folder):
        return folder
    home = environment.get("HOME", "")
    return os.path.join(home, ".config") if os.path.isabs(home) else None


def load_policy(
    found: FoundPolicy, environment: Mapping[str, str], *, follow_links_default: bool = True
) -> Policy:
    """Give the policy that was found, compiled.

    Raises:
        PolicyError: It cannot be read or used.

    """
    return load_document(found, environment, follow_links_default=follow_links_default).policy


def load_document(
    found: FoundPolicy,
    environment: Mapping[str, str],
    *,
    follow_links_default: bool = True,
    load_import: Loader | None = None,
) -> LoadedPolicy:
    """Give the policy that was found, with its document and what is doubtful in it.

    `load_import` finds what it imports; without it, `find_import`.

    Raises:
        PolicyError: It cannot be read or used.

    """
    context = BuildContext(
        home=environment.get("HOME") or environment.get("USERPROFILE"),
        environment=environment,
        follow_links_default=follow_links_default,
    )
    return load.load_policy(_root_file(found.reference), load_import or find_import, context, read_policy)


def packaged_folder() -> str:
    """Give the folder of the packaged policies: inside a wheel's package, or at the top of a checkout."""
    package = os.path.dirname(os.path.abspath(__file__))
    inside = os.path.join(package, "policies")
    return (
        inside
        if os.path.isdir(inside)
        else os.path.join(os.path.dirname(os.path.dirname(package)), "policies")
    )


def find_import(reference: str, importer: PolicyFile) -> PolicyFile:
    """Give the file that an import means: a packaged policy, or one inside the importing file's folder.

    Raises:
        ImportRefusedError: It is somewhere else, or cannot be read.

    """
    if reference.startswith(PACKAGED):
        return _packaged(reference)
    if os.path.isabs(reference) or reference.startswith(("/", "\\")):
        raise ImportRefusedError("expected a path relative to the importing file's folder")
    folder = os.path.dirname(importer.identity)
    try:
        path = _posix(os.path.realpath(os.path.join(folder, reference)))
    except (OSError, ValueError) as error:
        raise ImportRefusedError(_reason(error)) from error
    if not f"{path}/".startswith(folder.rstrip("/") + "/"):
        raise ImportRefusedError("it leads out of the importing file's folder")
    if not os.path.isfile(path):
        is_packaged = _PACKAGED_NAME.match(reference) and reference in _packaged_names()
        meant = f"; did you mean `{PACKAGED}{reference}`?" if is_packaged else ""
        raise ImportRefusedError(f"{_why_no_file(path)}{meant}")
    name = f"{importer.name}/{reference}" if importer.is_packaged else _beside(importer.name, reference)
    return replace(_read(path, name), is_packaged=importer.is_packaged)


def _why_no_file(path: str) -> str:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "there is no such file"
    except OSError as error:
        return _reason(error)
    return "it is a folder" if os.path.isdir(path) else "it is no regular file"


def _root_file(reference: str) -> PolicyFile:
    try:
        if reference.startswith(PACKAGED):
            # Its relative roots mean the folder that the fence, and a server behind it, was started in.
            return replace(_packaged(reference), folder=_posix(_working_folder()))
        return _read(os.path.expanduser(reference), reference)
    except ImportRefusedError as error:
        place, message = Place(reference, 1, 1), f"cannot read the policy: {error}"
        problem = Problem(place, "unreadable_file", message, _where_it_was_looked_for(reference))
        raise PolicyError([problem]) from error


def _where_it_was_looked_for(reference: str) -> str | None:
    """Say where a relative path began: clients start programs in folders of their own."""
    path = os.path.expanduser(reference)
    if reference.startswith(PACKAGED) or os.path.isabs(path) or os.path.lexists(path):
        return None
    try:
        return f"it was looked for in `{_working_folder()}`; a full path is found from anywhere"
    except ImportRefusedError as error:
        return str(error)


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise ImportRefusedError("the working folder, where its paths begin, is gone") from error


def _packaged(reference: str) -> PolicyFile:
    name, folder = reference.removeprefix(PACKAGED), packaged_folder()
    path = os.path.join(folder, f"{name}.yaml")
    if not _PACKAGED_NAME.match(name) or not os.path.isfile(path):
        advice = did_you_mean(name, _packaged_names())
        raise ImportRefusedError(f"there is no packaged policy `{name}`; {advice}")
    return replace(_read(path, reference), is_packaged=True)


def _packaged_names() -> list[str]:
    files = os.listdir(packaged_folder())
    return sorted(file.removesuffix(".yaml") for file in files if file.endswith(".yaml"))


def _beside(importer: str, reference: str) -> str:
    return _posix(os.path.normpath(os.path.join(os.path.dirname(importer), reference)))


def _read(path: str, name: str) -> PolicyFile:
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)  # one more, so that the reader sees that it is too much
        identity = _posix(os.path.realpath(path))
    except (OSError, ValueError) as error:
        raise ImportRefusedError(_reason(error)) from error
    return PolicyFile(name, content, identity, os.path.dirname(identity))


def _posix(path: str) -> str:
    return path.replace(os.sep, "/")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
