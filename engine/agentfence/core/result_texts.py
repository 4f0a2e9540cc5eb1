"""The texts in what a server returns: all of them, wherever they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json

_PICTURES_AND_SOUND = ("image", "audio")  # no set: a `type` may be anything
_BLOCKS = "content"
_ALL_SHOWN = "structuredContent"


def texts_of_value(value: Json, place: str = _ALL_SHOWN) -> tuple[list[str], list[str]]:
    """Give each text and number in a value once, in order, and the keys of its objects.

    `place` is the key under which the value stands; see `texts_of_answer`.
    """
    texts: dict[str, None] = {}
    keys: dict[str, None] = {}
    waiting: list[tuple[str, Json]] = [(place, value)]
    while waiting:
        place, value = waiting.pop()
        match value:
            case str():
                texts[value] = None
            case bool():
                pass
            case int() | float():
                texts[str(value)] = None
            case list():
                waiting.extend((place, element) for element in reversed(value))
            case dict():
                keys.update(dict.fromkeys(value))
                is_binary = place == _BLOCKS and value.get("type") in _PICTURES_AND_SOUND
                waiting.extend(
                    (place if place == _ALL_SHOWN else key, member)
                    for key, member in reversed(value.items())
                    if not (is_binary and key == "data")
                )
            case _:
                pass
    return list(texts), list(keys)


def texts_of_answer(answer: Json) -> tuple[list[str], list[str]]:
    """Give the texts and keys of what a server sends, but for the bytes of pictures and of sound.

    `content`, `structuredContent`, embedded resources, links and whatever a newer revision adds are
    not told apart. Pictures and sound are those of content blocks (MCP, server/tools#tool-result): what
    is called so elsewhere is shown to models as it stands.
    """
    return texts_of_value(answer, "")
