"""The first and the last line of a file that is open."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_BLOCK = 65_536
_BEGINNING = b'{"schema_version":"'
_LONGEST_FIRST_LINE = 8_388_608


def is_log(descriptor: int) -> bool:
    """Whether a file begins as a log does, or as one whose first line is not whole.

    Anything else that is named by mistake must not lose its last line as a torn one.
    """
    beginning = os.pread(descriptor, len(_BEGINNING), 0)
    return _BEGINNING.startswith(beginning)


def first_line(descriptor: int) -> bytes:
    """Give the first line of a file without its end; nothing when it is not whole."""
    block = os.pread(descriptor, _BLOCK, 0)
    if b"\n" not in block and len(block) == _BLOCK:
        block = os.pread(descriptor, _LONGEST_FIRST_LINE, 0)
    line, newline, _ = block.partition(b"\n")
    return line if newline else b""


def first_event(descriptor: int) -> dict[str, Any]:
    """Give the first event of a file; empty when it cannot be read."""
    import json

    try:
        event = json.loads(first_line(descriptor))
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def last_line(descriptor: int, size: int, start: int = 0) -> tuple[bytes | None, bytes]:
    """Give the last whole line without its end, and what follows it without one.

    Of a file of `size` bytes; what stands before `start`, where a line begins, is not looked at.
    """
    tail = b""
    position = size
    while position > start and tail.count(b"\n") < 2:
        begin = max(start, position - _BLOCK)
        tail = os.pread(descriptor, position - begin, begin) + tail
        position = begin
    whole, newline, torn = tail.rpartition(b"\n")
    if not newline:
        return None, torn
    return whole.rpartition(b"\n")[2], torn
