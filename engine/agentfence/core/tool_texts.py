"""What is odd in the texts with which a server describes a tool: models read all of them, people do not.

Signs of an attack that was seen in the wild ("tool poisoning"), in English; a server that words it
otherwise is not found, which is what pins are for.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING
from unicodedata import normalize

from agentfence.core.late_regex import late_regex
from agentfence.core.result_texts import texts_of_value
from agentfence.core.visible import hides_something

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentfence.core.constraints.interface import Json

_MOST_CHARACTERS = 262_144
_OUT_OF_SIGHT = late_regex(r"[ \t]{100}|(?:\n[ \t]*){15}|<!--")
"""Blanks that push text off a screen, and comments that no page shows."""
_SECRETS = (
    r"~/\.|\.ssh\b|\bid_(?:rsa|ed25519)|\.env\b|\bmcp\.json|\.aws\b|/etc/(?:passwd|shadow)|\bprivate key"
    r"|\bpassword|\bcredentials?\b|\b(?:api|access) (?:key|token)s?\b|\b(?:conversation|chat) history"
    r"|\bsystem prompt"
)
_INSTRUCTIONS = late_regex(
    r"</?(?:important|system|secret|hidden|instructions?|assistant|admin|critical)>"
    r"|\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|other|your|any)\b"
    r".{0,30}\b(?:instructions?|rules|prompts?|guidelines|restrictions|policy|policies)\b"
    r"|\b(?:do not|don't|never|must not|without|avoid)\b.{0,30}"
    r"\b(?:tell|inform|mention|notify|reveal|show|alert|ask)(?:ing)?\b.{0,40}"
    r"\b(?:the user|the human|anyone|anybody)\b"
    r"|\b(?:read|cat|open|send|upload|include|attach|forward|append|leak|post)\b.{0,60}(?:" + _SECRETS + r")"
    r"|\byou are (?:now|no longer|actually)\b|\b(?:new|updated|real) (?:system )?instructions?:"
)


def oddities_of_texts(descriptor: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """Give reason code and reason of each oddity in the texts of a tool's definition."""
    texts = "\n".join(chain(*texts_of_value(descriptor)))
    if hides_something(texts) or _OUT_OF_SIGHT.search(texts):
        yield (
            "tool_text_hidden",
            "is described with characters that people cannot see, or text out of their sight",
        )
    if _INSTRUCTIONS.search(_folded(texts[:_MOST_CHARACTERS])):
        yield (
            "tool_text_instructs",
            "is described with instructions to the model that people are not meant to read",
        )


def _folded(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())
