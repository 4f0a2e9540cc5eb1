"""What policy files said when they were last read, kept where Python keeps the package's bytecode.

To read YAML, and to load what reads it, takes a third of a start. So the tree that a file's bytes gave
is kept, and given again for the same bytes.

- Never stale: a tree goes by a digest of those bytes, of the code that reads them and of the state of PyYAML.
- Never planted: who can write to this folder can replace the fence's own code, and nobody else can.
  Python takes modules from there at the same start, without a question.
- Never more than the text: what is no fault to the reader is kept, and what it means is worked out anew.
- Bounded: a few files, written whole, for their owner alone; none where Python may write none.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from hashlib import sha256
from importlib.util import cache_from_source, find_spec
from typing import TYPE_CHECKING, Final

from agentfence.core.policy.kept_trees import keep, restore
from agentfence.core.policy.nodes import Source

if TYPE_CHECKING:
    from agentfence.core.policy.nodes import Node

_READERS: Final = ("nodes.py", "reader.py", "kept_trees.py")
_MOST: Final = 64
_LARGEST: Final = 8_388_608


def read_policy(name: str, content: bytes) -> Node:
    """Give the tree of a policy file.

    Raises:
        PolicyError: It is not one document of the YAML that is read here.

    """
    place = _place(content)
    kept = place and _load(*place)
    if kept:
        return restore(json.loads(kept), Source(name, content.decode("utf-8-sig")))
    from agentfence.core.policy.reader import read_document

    node = read_document(name, content)
    if place and not sys.dont_write_bytecode:
        _save(*place, json.dumps(keep(node), separators=(",", ":")).encode())
    return node


def _place(content: bytes) -> tuple[str, bytes] | None:
    """Give the file for the tree of `content`, and the digest of all that the tree depends on."""
    try:
        key = _key(content)
        folder = os.path.dirname(cache_from_source(__file__))
    except (OSError, NotImplementedError):  # the code is in no files, or its bytecode is not kept
        return None
    return os.path.join(folder, f"policy-{int(key[:8], 16) % _MOST}.json"), key


def _key(content: bytes) -> bytes:
    digest = sha256(f"{sys.version} {len(content)} ".encode())
    digest.update(content)
    folder = os.path.join(os.path.dirname(__file__), "core", "policy")
    for name in _READERS:
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(sha256(file.read()).digest())
    digest.update(repr(_state_of_yaml()).encode())
    return digest.hexdigest().encode()


def _state_of_yaml() -> list[tuple[str, int, int]]:
    """Give what tells one installation of PyYAML from another: it is too much to be read."""
    found = find_spec("yaml")
    if found is None or found.origin is None:
        raise FileNotFoundError("yaml")
    with os.scandir(os.path.dirname(found.origin)) as entries:
        files = [(entry.path, entry.stat()) for entry in entries if entry.is_file()]
    return sorted((path, status.st_size, status.st_mtime_ns) for path, status in files)


def _load(path: str, key: bytes) -> bytes | None:
    """Give what is kept under `key`, whole; None when it is not there."""
    try:
        with open(path, "rb") as file:
            head, _, kept = file.read(_LARGEST).partition(b"\n")
    except OSError:
        return None
    return kept if head == _head(key, kept) else None


def _head(key: bytes, kept: bytes) -> bytes:
    return key + b" " + sha256(kept).hexdigest().encode()


def _save(path: str, key: bytes, kept: bytes) -> None:
    if len(kept) > _LARGEST - 256:
        return
    beside = f"{path}.{os.getpid()}"
    with suppress(OSError):  # a folder of somebody else's, a full disk: it is read again next time
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(_head(key, kept) + b"\n" + kept)
            os.replace(beside, path)
        except OSError:
            os.unlink(beside)
