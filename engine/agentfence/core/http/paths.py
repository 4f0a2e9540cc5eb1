"""A request target, in every reading that a server may route it by.

Servers decode escapes, merge slashes, resolve dot segments and drop path parameters, each in an
order of its own, and some ignore case.

Invariant: a rule that holds traffic asks whether *any* reading fits it, a rule that frees traffic
whether *all* do.
"""

from __future__ import annotations

import re
from itertools import product
from urllib.parse import unquote

_UNUSUAL = re.compile(r"[%;\\#\x00]|//|/\.|[^\x21-\x7e]")
_END = re.compile(r"[?#\x00]")
_PARAMETERS = re.compile(r";[^/]*")
_SLASHES = re.compile(r"/{2,}")


def path_readings(target: str) -> frozenset[str]:
    """Give the paths that a target may mean: decoded once, plain, case-folded, without a slash at the end."""
    path = target.partition("?")[0]
    if not _UNUSUAL.search(path):
        return frozenset((_without_end_slash(path.casefold()),))
    forms = (path, unquote(path, errors="surrogateescape"))
    choices = product(forms, (False, True), (False, True))
    return frozenset(
        _read(form, drops_parameters=drops, merges_first=merges) for form, drops, merges in choices
    )


def plain_path(path: str) -> str:
    """Give the one reading that a policy or a server's metadata means by a path."""
    return _read(unquote(path, errors="surrogateescape"), drops_parameters=False, merges_first=True)


def _read(path: str, *, drops_parameters: bool, merges_first: bool) -> str:
    path = _END.split(path, maxsplit=1)[0].replace("\\", "/")
    if drops_parameters:
        path = _PARAMETERS.sub("", path)
    if merges_first:
        path = _SLASHES.sub("/", path)
    kept: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return _without_end_slash(_SLASHES.sub("/", "/" + "/".join(kept)).casefold())


def _without_end_slash(path: str) -> str:
    return path.rstrip("/") or "/"
