"""How the Go AgentFence read patterns, said in ours.

It tried each pattern twice, as the shell does and with `?`, `[` and the backslash as themselves; a
malformed one was only itself. `.` and `./` matched everything, and one leading `./` was dropped from
pattern and value.
"""

from __future__ import annotations

from agentfence.core.constraints.globs import compile_glob
from agentfence.core.late_regex import late_regex

_SPECIAL = late_regex(r"[?\[\\]")


def original_spellings(pattern: str) -> tuple[str, ...]:
    """Give the patterns that together match what the Go AgentFence matched with this one."""
    if pattern in (".", "./"):
        return ("**",)
    pattern = pattern.removeprefix("./")
    literal = _SPECIAL.sub(r"\\\g<0>", pattern)
    if literal == pattern:
        return (pattern,)
    try:
        compile_glob(pattern)
    except ValueError:
        return (literal,)
    return (literal, pattern)


def original_value(text: str) -> str:
    """Give the text that the Go AgentFence held its patterns against."""
    return text.removeprefix("./") or "."
