"""A policy and everything that it imports, as one document.

- Every file is read and held to the language by itself, so an error is shown where it stands.
- Files are found by a loader, which a surface brings; this side only knows texts.
- All files of one policy speak the same language: version 1, or that of the Go AgentFence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Protocol

from agentfence.core.errors import PolicyError
from agentfence.core.late_regex import late_regex
from agentfence.core.policy.language import LANGUAGE, VERSION
from agentfence.core.policy.merging import merge_documents, without_looser_imports
from agentfence.core.policy.nodes import Node, Scalar, Table, plain
from agentfence.core.policy.original import validate_original
from agentfence.core.policy.rebasing import is_readable_otherwise, rebased
from agentfence.core.policy.validation import described, validate
from agentfence.core.values import frozen, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentfence.core.errors import Problem
    from agentfence.core.policy.nodes import Position

    type Read = Callable[[str, bytes], Node]
    """Gives the tree of a file, by its name and content; raises `PolicyError`."""

MAX_IMPORT_DEPTH = 3
MAX_IMPORTS = 256
PACKAGED = "agentfence:"
"""How references to packaged policies begin."""

_OF_VERSION_1 = ("unknown_key", "wrong_type")
"""What is wrong without `version` where a file is meant to be one of this language."""
_ORIGINAL_VERSION = late_regex(r"v?0(?:\.[0-9]+)*\Z")
_LATER_VERSION = late_regex(r"(?:1\.0*[1-9]|[2-9]|[1-9][0-9])[0-9.]*\Z")


@frozen
class PolicyFile:
    """One file, as a surface has read it."""

    name: str
    """What people are shown."""
    content: bytes
    identity: str
    """The same text for the same file, however it was reached."""
    folder: str
    """The absolute folder that the file stands in, links resolved, `/` between its parts."""
    is_packaged: bool = False
    """A policy that comes with AgentFence: relative roots in it start at the folder of the root file."""


class ImportRefusedError(ValueError):
    """A reference that cannot be followed; its text says why."""


class Loader(Protocol):
    """Finds imported files."""

    def __call__(self, reference: str, importer: PolicyFile, /) -> PolicyFile:
        """Give the file that `importer` means; raises `ImportRefusedError`."""
        ...


@frozen
class Document:
    """A whole policy before it is compiled, with the place of every key and value."""

    table: Table
    file: PolicyFile
    is_original: bool
    """True for a policy of the Go AgentFence (`version` 0.x, or none)."""
    doubts: tuple[Problem, ...] = ()
    """What was found that keeps no policy from being used."""


def read_anew(name: str, content: bytes) -> Node:
    """Give the tree of a file, from its text; raises `PolicyError`."""
    from agentfence.core.policy.reader import read_document  # not where a surface knows the tree

    return read_document(name, content)


def resolve(root: PolicyFile, load: Loader, read: Read = read_anew) -> Document:
    """Give the policy in `root`, merged with all that it imports.

    Raises `PolicyError` with all that is wrong in `root`, or else in what it imports.
    """
    node = read(root.name, root.content)
    is_original = _is_original(node)
    resolver = _Resolver(root, load, read, is_original=is_original)
    table = without_looser_imports(resolver.resolve(root, node, ()), node)
    if "version" not in table.entries:
        message = "the file says no `version`, so it is read as a policy of the Go AgentFence"
        advice = f'write `version: "{VERSION}"`, or `version: "0.1"` to keep its meaning'
        resolver.doubts.append(table.position.problem("missing_version", message, (), advice))
    return Document(table, root, is_original, tuple(resolver.doubts))


class _Resolver:
    def __init__(self, root: PolicyFile, load: Loader, read: Read, *, is_original: bool) -> None:
        self._root = root
        self._load = load
        self._read = read
        self._is_original = is_original
        self._files = 0
        self.doubts: list[Problem] = []
        self._validated: dict[str, Table] = {}

    def resolve(self, file: PolicyFile, node: Node, importers: tuple[str, ...]) -> Table:
        """Give the merged document of one file; `importers` are the identities that lead to it."""
        own = self._own(file, node)
        merged = Table({}, own.position)
        problems: dict[Problem, None] = {}  # what is wrong in a file that comes by two ways is said once
        for reference in own.items("imports"):
            try:
                imported = self._imported(reference, file, (*importers, file.identity))
            except PolicyError as error:
                problems.update(dict.fromkeys(error.problems))
                if self._files > MAX_IMPORTS:
                    break
            else:
                merged = merge_documents(merged, imported, is_original=self._is_original)
        if problems:
            raise PolicyError(tuple(problems))
        return merge_documents(merged, own, is_original=self._is_original)

    def _own(self, file: PolicyFile, node: Node) -> Table:
        known = self._validated.get(file.identity)
        if known is not None:
            return known
        validated = validate_original(node) if self._is_original else validate(node, LANGUAGE)
        if validated.problems or not isinstance(validated.node, Table):
            raise PolicyError(_with_version_advice(validated.problems, node))
        self.doubts += validated.doubts
        own = rebased(validated.node, self._prefix(file))
        self._validated[file.identity] = own
        return own

    def _imported(self, node: Node, importer: PolicyFile, importers: tuple[str, ...]) -> Table:
        reference = str(plain(node))
        position = node.position
        if len(importers) > MAX_IMPORT_DEPTH:
            _refuse(position, "import_too_deep", f"expected at most {MAX_IMPORT_DEPTH} levels of imports")
        self._files += 1
        if self._files > MAX_IMPORTS:
            _refuse(position, "import_too_many", f"expected at most {MAX_IMPORTS} imports")
        try:
            file = self._load(reference, importer)
        except ImportRefusedError as error:
            _refuse(position, "import_refused", f"cannot import `{reference}`: {error}")
        if file.identity in importers:
            circle = (*importers[importers.index(file.identity) :], file.identity)
            way = " → ".join(f"`{each.removeprefix(f'{self._root.folder}/')}`" for each in circle)
            _refuse(position, "import_cycle", f"`{reference}` imports itself: {way}")
        if is_readable_otherwise(self._prefix(file)):
            folder = f"its folder `{self._prefix(file)}` would be read as something else"
            _refuse(position, "import_refused", f"cannot import `{reference}`: {folder}", "rename the folder")
        imported = self._read(file.name, file.content)
        if _is_original(imported) != self._is_original:
            language = "the Go AgentFence" if self._is_original else f'version "{VERSION}"'
            message = f"expected a policy of {language}, as its importer is, in `{reference}`"
            _refuse(position, "import_other_version", message)
        return self.resolve(file, imported, importers)

    def _prefix(self, file: PolicyFile) -> str:
        """Give what leads from the root file's folder to this one's."""
        if file.is_packaged or file.folder == self._root.folder:
            return ""
        return file.folder.removeprefix(self._root.folder.rstrip("/") + "/")


def _refuse(position: Position, code: str, message: str, advice: str | None = None) -> NoReturn:
    raise PolicyError([position.problem(code, message, (), advice)])


def _is_original(node: Node) -> bool:
    """Whether this is a policy of the Go AgentFence; raises `PolicyError` for a version yet unknown."""
    version = node.get("version") if isinstance(node, Table) else None
    if not isinstance(version, Scalar):
        return isinstance(node, Table) and version is None
    if version.text == VERSION:
        return False
    if version.value is None or _ORIGINAL_VERSION.match(version.text):
        return True
    if _LATER_VERSION.match(version.text):
        _refuse(version.position, "newer_version", f"version `{version.text}` needs a newer AgentFence")
    _refuse(version.position, "wrong_value", f'expected version "{VERSION}", got {described(version)}')


def _with_version_advice(problems: Sequence[Problem], node: Node) -> list[Problem]:
    """Say, where a file without `version` has what version 1 knows, what is missing."""
    if not isinstance(node, Table) or "version" in node.entries:
        return list(problems)
    advice = (
        f'begin the file with `version: "{VERSION}"`: without it only the Go AgentFence\'s keys are known'
    )
    return [
        replace(problem, help=advice) if problem.code in _OF_VERSION_1 else problem for problem in problems
    ]
