"""What the verbs print with: colours on a terminal alone, and nothing that a terminal would act on."""

from __future__ import annotations

import os
import sys
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentfence.core.visible import visible

if TYPE_CHECKING:
    from typing import TextIO

_COLOURS = MappingProxyType({"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"})
_OF_DECISION = MappingProxyType({"allow": "green", "deny": "red", "ask": "yellow"})


class Paint:
    """Colours words where the stream shows colours."""

    __slots__ = ("is_on",)

    def __init__(self, stream: TextIO) -> None:
        """Take the stream that is written to."""
        # https://no-color.org: any value that is not empty
        self.is_on = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def __call__(self, text: str, colour: str) -> str:
        """Give `text` in `red`, `green`, `yellow`, `bold` or `dim`."""
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.is_on else text

    def decision(self, decision: str) -> str:
        """Give `allow`, `deny` or `ask` in its colour."""
        return self(decision, _OF_DECISION[decision])


def say(text: str) -> None:
    """Print a line for people that is no result."""
    print(f"agentfence: {visible(text)}", file=sys.stderr, flush=True)
