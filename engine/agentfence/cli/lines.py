"""A stream of bytes, line by line, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LONGEST_LINE = 67_108_864
_BLOCK = 1 << 16


def read_lines(file: BinaryIO, longest: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """Give each line with its end; None for one that is longer than `longest`, whose rest is skipped."""
    while line := file.readline(longest + 1):
        if len(line) <= longest or line.endswith(b"\n"):
            yield line
            continue
        while (rest := file.readline(_BLOCK)) and not rest.endswith(b"\n"):
            pass
        yield None
