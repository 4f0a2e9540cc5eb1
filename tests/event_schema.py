"""Every event that a test sees must fit the schema in the package."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from agentfence.core.audit.event_schema import event_schema
from agentfence.core.record import is_intact

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

IN_A_LOG = {"schema_version": "6", "session_id": "run", "seq": 1}


@cache
def _validators() -> tuple[dict[str, Draft202012Validator], Draft202012Validator]:
    """One for each kind, as `oneOf` over all is slow and says little."""
    schema = event_schema()
    Draft202012Validator.check_schema(schema)
    rest = {key: value for key, value in schema.items() if key != "oneOf"}
    kinds = {
        name: Draft202012Validator({**rest, "$ref": f"#/$defs/{name}"})
        for name in (entry["$ref"].rsplit("/", 1)[1] for entry in schema["oneOf"])
    }
    return kinds, Draft202012Validator(schema)


def validate_event(event: Mapping[str, Any]) -> None:
    """Raise when an event, in a log or on its way there, does not fit."""
    whole = dict(event) if "seq" in event else {**IN_A_LOG, **event}
    kinds, _ = _validators()
    kinds[whole["kind"]].validate(whole)


def validate_log(log: Path) -> None:
    """Raise when a line that the fence has written does not fit; those that a test spoiled, or made (with a member `n`), are not its.

    Of events that look alike, a hundred are enough.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    for line in log.read_bytes().split(b"\n"):
        event = json.loads(line) if is_intact(line) else {"n": "spoiled, or without a hash"}
        if "n" in event:
            continue
        look = (event.get("kind"), event.get("decision"), event.get("status"), *event)
        seen[look] += 1
        if seen[look] <= 100 and event.get("schema_version") == IN_A_LOG["schema_version"]:
            validate_event(event)


def fits_the_whole_schema(event: Mapping[str, Any]) -> bool:
    """Whether an event fits the schema as others use it."""
    return bool(_validators()[1].is_valid(dict(event)))
