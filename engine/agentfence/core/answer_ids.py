"""Which calls an answer belongs to that cannot be passed on, from what of it can be read.

Nothing is decided by this but which call gets an error instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import legal_id, parse_json
from agentfence.core.late_regex import late_regex

if TYPE_CHECKING:
    from agentfence.core.jsonrpc import Id, Json

_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"\s*'
_ID = rb'"id"\s*:\s*(-?[0-9]{1,16}|"(?:[^"\\]|\\.){0,1024}")(?:\.0)?\s*'
_BEFORE = rb"(?:\xef\xbb\xbf)?\s*"
"""Some programs begin what they write with a byte order mark."""
# Only the first and the last members are looked at: one in between could be inside the result.
_FIRST = late_regex(_BEFORE + rb"\{\s*(?:" + _VERSION + rb",\s*)?" + _ID + rb"[,}]")
_LAST = late_regex(rb"[,{]\s*" + _ID + rb"(?:,\s*" + _VERSION + rb")?\}\s*\Z")
_CALL = late_regex(_BEFORE + rb"\{\s*(?:" + _VERSION + rb",\s*)?(?:" + _ID + rb',\s*)?"method"\s*:')
_SEARCHED = 4_096


def answered_ids(body: bytes) -> list[Id] | None:
    """Give the ids that `body`, or what is left of it, answers; None when that cannot be told."""
    try:
        value = parse_json(body)
    except ProtocolViolation:
        return _ids_at_the_ends(body)
    return _ids_of(value if isinstance(value, list) else [value])


def _ids_of(entries: list[Json]) -> list[Id] | None:
    answers = [entry for entry in entries if isinstance(entry, dict) and "method" not in entry]
    ids = [id_ for id_ in map(_meant_id, answers) if id_ is not None]
    return ids if len(ids) == len(answers) else None


def _meant_id(answer: dict[str, Json]) -> Id | None:
    """Give the id of an answer, of `1.0` the 1: a call would wait in vain for what its server meant so."""
    id_ = answer.get("id")
    return legal_id({"id": int(id_)} if isinstance(id_, float) and id_.is_integer() else answer)


def _ids_at_the_ends(body: bytes) -> list[Id] | None:
    if _CALL.match(body):
        return []
    found = _FIRST.match(body) or _LAST.search(body, max(0, len(body) - _SEARCHED))
    if found is not None:
        text = found[1].decode("utf-8", "replace")
        return [text[1:-1] if text.startswith('"') else int(text)]
    is_json = body.lstrip()[:1] in {b"", b"{", b"["}
    return None if is_json else []
