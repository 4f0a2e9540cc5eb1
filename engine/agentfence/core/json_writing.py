"""Values into compact ASCII JSON.

`json.JSONEncoder` makes its encoder in C anew for each text, which costs more than encoding an event.
Here it is made once, where this Python has it.
"""

from __future__ import annotations

import json
from json import encoder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agentfence.core.constraints.interface import Json

_PLAIN = json.JSONEncoder(separators=(",", ":"), check_circular=False, allow_nan=False)


def _make_encode() -> Callable[[Json], str]:
    make = encoder.c_make_encoder  # type: ignore[attr-defined]  # typeshed leaves it out
    if make is None:
        return _PLAIN.encode
    # markers, default, encoder, indent, separators, sort_keys, skipkeys, allow_nan
    flags = (False, False, False)
    encode = make(None, _PLAIN.default, encoder.encode_basestring_ascii, None, ":", ",", *flags)
    return lambda value: "".join(encode(value, 0))


_encode = _make_encode()
write_text = encoder.encode_basestring_ascii
"""Give the JSON of a text."""


def write_json(value: Json) -> bytes:
    """Give the text of a value, which must come from JSON, without blanks.

    Raises:
        ValueError: it holds a number that JSON has none for.

    """
    return _encode(value).encode("ascii")


def write_value(value: Json) -> str:
    """Give what `write_json` gives, as characters.

    Raises:
        ValueError: it holds a number that JSON has none for.

    """
    return _encode(value)


def write_members(members: Mapping[str, Json]) -> str:
    """Give the members of an object as `write_json` gives them, without the braces.

    Raises:
        ValueError: one holds a number that JSON has none for.

    """
    return _encode({**members})[1:-1]
