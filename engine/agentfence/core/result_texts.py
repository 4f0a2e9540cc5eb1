"""The texts in what a server returns: all of them, wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json

_PICTURES_AND_SOUND = ("image", "audio")  # no set: a `type` may be anything


def texts_of_value(value: Json) -> tuple[list[str], list[str]]:
    """Give each text and number in a value once, in order, and the keys of its objects.

    `content`, `structuredContent`, embedded resources, links and whatever a newer revision adds are
    not told apart; the bytes of pictures and of sound are left out (MCP, server/tools#tool-result).
    """
    texts: dict[str, None] = {}
    keys: dict[str, None] = {}
    waiting: list[Json] = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                texts[text] = None
            case bool():
                pass
            case int() | float() as number:
                texts[str(number)] = None
            case list(elements):
                waiting.extend(reversed(elements))
            case dict(members):
                keys.update(dict.fromkeys(members))
                is_binary = members.get("type") in _PICTURES_AND_SOUND
                shown = [member for key, member in members.items() if not (is_binary and key == "data")]
                waiting.extend(reversed(shown))
            case _:
                pass
    return list(texts), list(keys)
