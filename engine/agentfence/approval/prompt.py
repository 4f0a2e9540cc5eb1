"""A question as a person sees it, and what they may type.

Invariants
- Nothing that a peer chose reaches a terminal but as visible characters: see `core/visible.py`.
- Nothing that a peer chose begins a line: values stand behind a label or a bar, wrapped lines too, so
  that no argument can look like the prompt's own words.
- What is left out is said, and said outside the quotes of the value.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from agentfence.core.shown_json import json_lines
from agentfence.core.values import frozen
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.constraints.interface import Json
    from agentfence.core.effects import Question

MAX_TEXT = 2_000
"""Characters of one argument's text that are shown."""
MAX_ARGUMENTS = 8_000
"""Characters of all arguments together that are shown."""
_TEXTS = (MAX_TEXT, 500, 100, 40)
"""How much of each text is shown, the most that fits: no text pushes another argument out of sight."""
_MAX_FIELD = 1_000
_WIDEST_SUBJECT = 80
_NARROWEST = 20
_LABEL = 11
READING_SECONDS = 0.5
"""What is typed so soon after a question is shown was not typed by somebody who has read it."""
HOLDS_FOR = {"call": "exactly this call", "tool": "every call of this tool that asks for the same reason"}
"""What an approval for the session covers, by `remember`."""


class Reply(StrEnum):
    """What a person says to a question."""

    APPROVE = "approve"
    APPROVE_FOR_SESSION = "approve_for_session"
    DENY = "deny"


@frozen
class Prompt:
    """A question with every text in it safe to show."""

    client: str
    server: str | None
    """The policy's name for it, which holds no `/` and no `[`, else its origin or its `[command]`."""
    method: str
    tool: str | None
    arguments: str
    """As JSON, in lines."""
    hidden: int
    """Characters of `arguments` that are left out at its end."""
    rule: str
    reason: str
    message: str | None
    remember: str | None
    """For what an approval may hold: `call`, `tool`, or only this once."""

    @property
    def subject(self) -> str:
        """What is asked about, in one word: the tool with its server's name, else the method; cut."""
        name = self.tool or self.method
        has_name = self.server and "/" not in self.server and "[" not in self.server
        return cut(f"{self.server}/{name}" if has_name else name, _WIDEST_SUBJECT)


def prompt_for(question: Question) -> Prompt:
    """Give `question` as it may be shown."""
    server = question.server or question.origin
    arguments = _shown(question.arguments)
    return Prompt(
        client=_field(question.client),
        server=_field(server) if server else None,
        method=_field(question.method),
        tool=None if question.tool is None else _field(question.tool),
        arguments=arguments[:MAX_ARGUMENTS],
        hidden=max(0, len(arguments) - MAX_ARGUMENTS),
        rule=_field(question.rule),
        reason=_field(question.reason),
        message=None if question.message is None else _field(question.message),
        remember=question.remember,
    )


def _shown(arguments: Json) -> str:
    """Give the arguments as JSON, with texts cut until all fits; more than fits where that does not help."""
    for longest in _TEXTS[:-1]:
        lines, size = list[str](), 0
        for line in json_lines(arguments, longest):
            lines.append(line)
            size += len(line) + 1
            if size > MAX_ARGUMENTS + 1:
                break
        else:
            return "\n".join(lines)
    return "\n".join(json_lines(arguments, _TEXTS[-1]))


def render(prompt: Prompt, width: int, name: str = "") -> str:
    """Give the lines that show `prompt`, each with its end; `name` is how the question is called."""
    lines = [f"AgentFence asks whether this may run:{' ' + name if name else ''}"]
    columns = max(width, _NARROWEST) - 1
    lines += _labelled("server", prompt.server, columns)
    lines += _labelled("method" if prompt.tool is None else "tool", prompt.tool or prompt.method, columns)
    lines += _labelled("client", prompt.client, columns)
    lines += _labelled("rule", prompt.rule, columns)
    lines += _labelled("reason", prompt.reason, columns)
    lines += _labelled("policy says", prompt.message, columns)
    lines.append("  arguments")
    for line in prompt.arguments.split("\n"):
        lines += [f"  | {piece}" for piece in _wrapped(line, columns - 4)]
    if prompt.hidden:
        lines.append(f"  {prompt.hidden:,} more characters of the arguments are not shown")
    return "\n".join(lines) + "\n"


def choices(prompt: Prompt, timeout: float) -> str:
    """Give the line that says what may be typed."""
    session = f", s = yes, and for the session: {HOLDS_FOR[prompt.remember]}" if prompt.remember else ""
    return f"approve? y = yes, n = no{session} (no answer in {timeout:g} s denies) "


def once_more(prompt: Prompt) -> str:
    """Give what is said to anything else that is typed."""
    return f"please type {'y, n or s' if prompt.remember else 'y or n'}: "


def read_reply(text: str, prompt: Prompt) -> Reply | None:
    """Give what a person meant by a line; None when it cannot be told. An empty line denies."""
    match text.strip().lower():
        case "y" | "yes":
            return Reply.APPROVE
        case "" | "n" | "no":
            return Reply.DENY
        case "s" | "session" if prompt.remember:
            return Reply.APPROVE_FOR_SESSION
    return None


def _field(text: str) -> str:
    if len(text) <= _MAX_FIELD:
        return visible(text)
    return f"{visible(text[:_MAX_FIELD])}… {len(text) - _MAX_FIELD:,} more characters"


def _labelled(label: str, text: str | None, columns: int) -> Iterator[str]:
    if text is None:
        return
    for position, piece in enumerate(_wrapped(text, columns - _LABEL - 4)):
        yield f"  {label if position == 0 else '':<{_LABEL}}  {piece}"


def cut(text: str, columns: int) -> str:
    """Give `text` in at most so many columns; `…` stands for the rest."""
    return text if len(_wrapped(text, columns)) == 1 else f"{_wrapped(text, columns - 1)[0]}…"


def _wrapped(text: str, columns: int) -> list[str]:
    """Cut where the terminal would wrap, by what characters take on the screen."""
    if text.isascii():
        return [text[start : start + columns] for start in range(0, len(text), columns)] or [""]
    from rich.cells import chop_cells

    return chop_cells(text, columns) or [""]
