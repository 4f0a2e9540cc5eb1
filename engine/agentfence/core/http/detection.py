"""Whether a body is a JSON-RPC message at all, asked in every reading that a server might use.

What one reading shows as a message is then held to the strict rules, which refuse all readings but
one.

Not read: fields of forms (no server takes a message out of one), and what stands behind so many
other members that `read_top_level` gives up, unless the text as a whole is broken.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from agentfence.core.http.codings import End
from agentfence.core.http.media_types import declared_charsets, declared_type
from agentfence.core.http.message import mcp_headers
from agentfence.core.http.readings import plain_bodies, texts
from agentfence.core.http.top_level import members_of, read_top_level
from agentfence.core.jsonrpc import fold_key
from agentfence.core.revisions import METHODS

if TYPE_CHECKING:
    from agentfence.core.http.message import Headers
    from agentfence.core.http.top_level import TopLevel

_MAX_CHARSETS = 2
_BLANKS = "\0\ufeff \t\r\n"
_PREFIX_KEYS = frozenset({"jsonrpc", "id", "method", "params"})
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})")
_JSONRPC_KEY = re.compile(r'"jsonrpc[\0 ]*"\s*:')
_ANY_KEY = re.compile(r'"(?:jsonrpc|method|result|error)[\0 ]*"\s*:')
_MESSAGE_KEY = re.compile(r'"(?:jsonrpc|method)[\0 ]*"\s*:')

_EVERYBODYS_PING = "ping"
_METHODS_OF_A2A = frozenset({"tasks/get", "tasks/list", "tasks/cancel"})


def shows_jsonrpc(body: bytes, headers: Headers, *, mcp_only: bool) -> bool:
    """Whether some reading of `body` is a message, so that the strict rules must hold.

    A JSON type that no reading can parse counts too, and so does a declared coding that cannot be
    undone. `mcp_only`, for hosts that the policy does not name: a message is MCP's when an MCP
    header comes with it or its method is one of MCP's; other JSON-RPC and broken JSON are nothing.
    """
    if mcp_only and any(mcp_headers(headers)):
        return True
    if not body or body.isspace():
        return False
    charsets = declared_charsets(headers)
    if len(charsets) > _MAX_CHARSETS:
        return True
    bodies, is_undone = plain_bodies(body, headers)
    must_parse = not is_undone or (not mcp_only and "json" in declared_type(headers))
    is_parsed = False
    for plain in bodies:
        for text in texts(plain.content, charsets):
            is_cut = plain.end is End.AT_LIMIT
            if mcp_only and not must_parse and not is_cut and not _may_name_a_method(text):
                continue
            top = read_top_level(text)
            shows = _shows_mcp(top, text) if mcp_only else _shows_message(top, text)
            if shows or (is_cut and _begins_as_message(top, text)):
                return True
            is_parsed = is_parsed or top.is_complete
    return must_parse and not is_parsed


def prefix_shows_message(prefix: bytes, headers: Headers = ()) -> bool:
    """Whether the beginning of a body that is too long to judge is a message's.

    It is when a key at its top folds to jsonrpc, id, method or params, and when it is blank; where it has too
    many keys for that, when it has jsonrpc anywhere.
    """
    charsets = declared_charsets(headers)
    if len(charsets) > _MAX_CHARSETS:
        return True
    bodies, _ = plain_bodies(prefix, headers)
    readings = (text for plain in bodies for text in texts(plain.content, charsets))
    return any(_begins_as_message(read_top_level(text), text) for text in readings)


def _begins_as_message(top: TopLevel, text: str) -> bool:
    if top.is_too_much:
        return _JSONRPC_KEY.search(_unescaped(text)) is not None  # `method` stands in telemetry too
    return not _PREFIX_KEYS.isdisjoint(top.keys) or not text.strip(_BLANKS)


def _shows_message(top: TopLevel, text: str) -> bool:
    keys = top.keys
    if "jsonrpc" in keys or "method" in keys or ("id" in keys and ("result" in keys or "error" in keys)):
        return True
    sought = _ANY_KEY if top.is_too_much else _MESSAGE_KEY
    return not top.is_complete and sought.search(_unescaped(text)) is not None


def _shows_mcp(top: TopLevel, text: str) -> bool:
    named = {fold_key(value) for key, value in top.members if key == "method" and isinstance(value, str)}
    if any(_is_mcp(method, top) for method in named & _methods()):
        return True
    return not top.is_complete and _mcp_call().search(_unescaped(text)) is not None


def _is_mcp(method: str, top: TopLevel) -> bool:
    """Whether a method of MCP's list is meant as MCP's where others have it too."""
    if method == _EVERYBODYS_PING:
        return "jsonrpc" in top.keys
    if method not in _METHODS_OF_A2A:
        return True
    params = [value for key, value in top.members if key == "params"]
    return any(key.replace("_", "") == "taskid" for value in params for key, _ in members_of(value))


def _may_name_a_method(text: str) -> bool:
    return not text.isascii() or r"\u" in text or "method" in text.lower()


def _unescaped(text: str) -> str:
    """Give a broken text with the escapes of letters undone and in one case, for a search in it."""
    folded = text.casefold()
    if "\\" not in folded:
        return folded
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), folded).replace(r"\/", "/").casefold()


@cache
def _methods() -> frozenset[str]:
    return frozenset(map(fold_key, METHODS))


@cache
def _mcp_call() -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(_methods())))
    return re.compile(rf'"method[\0 ]*"\s*:\s*"(?:{names})[\0 ]*"')
