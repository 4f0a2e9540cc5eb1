"""What is odd in the texts with which a server describes a tool: models read all of them, people do not.

Signs of an attack that was seen in the wild ("tool poisoning"), in English; a server that words it
otherwise is not found, which is what pins are for.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from agentfence.core.redaction.scanning import byte_scanner
from agentfence.core.redaction.spans import encode
from agentfence.core.result_texts import texts_of_value
from agentfence.core.visible import hides_something

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.constraints.interface import Json

_MOST_CHARACTERS: Final = 524_288
"""Of all definitions in a list, that people might still read."""
_OUT_OF_SIGHT: Final = rb"[ \t]{100}|(?:\n[ \t]*){15}|<!--"
"""Blanks that push text off a screen, and comments that no page shows."""
_SECRETS: Final = (
    rb"~/\.|\.ssh\b|\bid_(?:rsa|ed25519)|\.env\b|\bmcp\.json|\.aws\b|/etc/(?:passwd|shadow)|\bprivate key"
    rb"|\bpassword|\bcredentials?\b|\b(?:api|access) (?:key|token)s?\b|\b(?:conversation|chat) history"
    rb"|\bsystem prompt"
)
_INSTRUCTIONS: Final = (
    rb"</?(?:important|system|secret|hidden|instructions?|assistant|admin|critical)>"
    rb"|\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|your|any)\b"
    rb".{0,30}\b(?:instructions?|rules|prompts?|guidelines|restrictions|policy|policies)\b"
    rb"|\b(?:do not|don't|never|must not|without|avoid)\b.{0,30}"
    rb"\b(?:tell|inform|mention|notify|reveal|show|alert|ask)(?:ing)?\b.{0,40}"
    rb"\b(?:the user|the human|anyone|anybody)\b"
    rb"|\b(?:read|cat|open|send|upload|include|attach|forward|append|leak|post)\b.{0,60}(?:"
    + _SECRETS
    + rb")"
    rb"|\byou are (?:now|no longer|actually)\b|\b(?:new|updated|real) (?:system )?instructions?:"
)


class ToolTexts:
    """Looks at the definitions in one list of tools."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        """Begin a list."""
        self._left = _MOST_CHARACTERS

    def oddities(self, descriptor: dict[str, Json]) -> Iterator[tuple[str, str]]:
        """Give reason code and reason of each oddity in the texts of a tool's definition.

        What is behind all that people might read is not looked at, and odd for that.
        """
        texts = "\n".join(chain(*texts_of_value(descriptor)))
        is_unread, texts = len(texts) > self._left, texts[: self._left]
        self._left -= len(texts)
        if is_unread or hides_something(texts) or _finds(_OUT_OF_SIGHT, texts):
            yield (
                "tool_text_hidden",
                "is described with characters that people cannot see, or text out of their sight",
            )
        if _finds(_INSTRUCTIONS, _folded(texts)):
            yield (
                "tool_text_instructs",
                "is described with instructions to the model that people are not meant to read",
            )


def _finds(expression: bytes, text: str) -> bool:
    return _scanner(expression).search(encode(text)) is not None


_scanner = cache(byte_scanner)


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())
