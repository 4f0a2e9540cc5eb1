"""Which segments of a log are old enough to be removed.

They are found by the chain, from the file that is written back: a file that somebody named as a
segment neither counts nor can have the log say that another one is removed.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agentfence.audit.ends import first_line, last_line
from agentfence.audit.segments import segments_of
from agentfence.core.record import hash_of_line, read_seal

if TYPE_CHECKING:
    from pathlib import Path


def old_segments(path: Path, descriptor: int, keep: int) -> tuple[list[Path], str | None]:
    """Give the segments of the log at `path` beyond the `keep` newest, and where those go on from.

    The oldest comes first; `descriptor` is the file that is written.

    Raises:
        OSError: They cannot be read.

    """
    segments = segments_of(path)
    link = _link_of(first_line(descriptor))
    if link is None:  # a log without a chain
        return segments[: max(0, len(segments) - keep)], None
    chain: list[Path] = []  # newest first
    boundary: str | None = None
    while link is not None:
        if len(chain) == keep:
            boundary = link
        found = _find(segments, link)
        if found is None:
            break
        segment, link = found
        segments = segments[: segments.index(segment)]
        chain.append(segment)
    if link is not None and len(chain) < keep:  # one that is to be kept is gone: then the others stay
        return [], None
    # What is older still is of a chain before this one, or was to be removed before.
    old = [*segments, *chain[::-1]]
    return old[: max(0, len(old) - keep)], boundary


def _find(segments: list[Path], last_hash: str) -> tuple[Path, str | None] | None:
    """Give the newest segment that ends so, and what it goes on from."""
    for segment in reversed(segments):
        descriptor = os.open(segment, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            last, _ = last_line(descriptor, os.fstat(descriptor).st_size)
            if last is not None and hash_of_line(last) == last_hash:
                return segment, _link_of(first_line(descriptor))
        finally:
            os.close(descriptor)
    return None


def _link_of(line: bytes) -> str | None:
    seal = read_seal(line)
    return None if seal is None else seal.prev_hash
