"""The policy language as JSON Schema 2020-12, for editors and other tools.

`schema.json` beside this module is what `policy_schema` gives. Whatever passes `validation.py` passes it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.policy.language import LANGUAGE
from agentfence.core.policy.shapes import (
    AnyTable,
    Anything,
    Choice,
    Constant,
    Either,
    Flag,
    Keys,
    ListOf,
    Names,
    Number,
    Reserved,
    Shape,
    Text,
    Whole,
)
from agentfence.core.policy.validation import OWN_KEYS

if TYPE_CHECKING:
    from agentfence.core.constraints.interface import Json


def policy_schema() -> dict[str, Json]:
    """Give the JSON Schema of a policy file of version 1."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AgentFence policy",
        "description": "What an agent may do with its MCP servers. Keys that begin with x- are ignored.",
        **_schema(LANGUAGE),
    }


def _schema(shape: Shape) -> dict[str, Json]:
    match shape:
        case Anything():
            return {}
        case AnyTable():
            return {"type": "object"}
        case Reserved():
            return {"not": {}}
        case Choice(words):
            return {"enum": list(words)}
        case Constant(value):
            return {"const": value}
        case Flag():
            return {"type": "boolean"}
        case Whole(least, most):
            return {"type": "integer", "minimum": least, "maximum": most}
        case Number():
            return {"type": "number"}
        case Text():
            return {"type": "string", "minLength": 1, **_without(shape)}
        case ListOf(item, least):
            return {"type": "array", "items": _schema(item), **({"minItems": least} if least else {})}
        case Either(shapes):
            return {"anyOf": [_schema(one) for one in shapes]}
        case Keys():
            return _of_keys(shape)
        case Names():
            return _of_names(shape)


def _without(shape: Text) -> dict[str, Json]:
    return {"pattern": f"^[^{re.escape(shape.without)}]*$"} if shape.without else {}


def _of_keys(shape: Keys) -> dict[str, Json]:
    required: list[Json] = [key for key, meant in shape.keys.items() if meant.is_required]
    return {
        "type": "object",
        "properties": {
            key: {"description": meant.description, **_schema(meant.shape)}
            for key, meant in shape.keys.items()
        },
        "patternProperties": {f"^{OWN_KEYS}": {}},
        "additionalProperties": False,
        **({"required": required} if required else {}),
        **({"minProperties": shape.least} if shape.least else {}),
    }


def _of_names(shape: Names) -> dict[str, Json]:
    own: dict[str, Json] = {"pattern": f"^{OWN_KEYS}"}
    return {
        "type": "object",
        "patternProperties": {f"^{OWN_KEYS}": {}},
        "additionalProperties": _schema(shape.value),
        "propertyNames": {"anyOf": [own, {"minLength": 1, **_without(shape.name)}]},
        **({"minProperties": shape.least} if shape.least else {}),
    }
