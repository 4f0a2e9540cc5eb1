"""Keys that some reader takes for another key.

JSON readers that ignore case (many in Go, .NET and Java do by default or as an option) take
`Method` for `method`, and `param\u017f` or `\uff50arams` for `params`; readers that end a text at
NUL cut a tail off; readers that generate their names (mcp 2 for Python accepts a field's own name
beside its alias) take `task_id` for `taskId` and `meta` for `_meta`. Whichever of two such keys the
fence reads, the server may read the other, so a message with one is refused, even if it is alone.

Not here: the keys of `arguments`, which only the constraints know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.constraints.folding import fold_name
from agentfence.core.revisions import METHODS
from agentfence.core.values import frozen
from agentfence.core.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from agentfence.core.constraints.interface import Json

_LONGEST_FOLDED = 64
"""Normalising a long run of combining marks costs the square of its length."""
_SHOWN = 60


def fold_key(key: str) -> str:
    """Give one spelling for all keys that some reader takes for this one.

    Of a long key only the beginning counts.
    """
    if key.isascii() and key.isidentifier():
        return key.lower()
    return fold_name(key[:_LONGEST_FOLDED])


def _fold_member(key: str) -> str:
    return fold_key(key).replace("_", "")


@frozen
class _Names:
    exact: frozenset[str]
    folded: Mapping[str, str]
    fold: Callable[[str], str]

    @classmethod
    def of(cls, names: Iterable[str], fold: Callable[[str], str] = fold_key) -> _Names:
        exact = frozenset(names)
        return cls(exact, {fold(name): name for name in exact}, fold)

    def twin(self, members: Mapping[str, Json]) -> str | None:
        """Give a sentence on the first key that is not one of the names but could be read as one."""
        if members.keys() <= self.exact:
            return None
        return next(filter(None, map(self.twin_of, members)), None)

    def twin_of(self, text: str) -> str | None:
        """Give a sentence on `text` if it is not one of the names but could be read as one."""
        name = None if text in self.exact else self.folded.get(self.fold(text))
        return None if name is None else f"`{visible(text[:_SHOWN])}` could be read as `{name}`"


_METHODS = _Names.of(METHODS)
_MESSAGE = _Names.of({"jsonrpc", "id", "method", "params", "result", "error"})
_META = _Names.of(
    {
        "progressToken",
        "io.modelcontextprotocol/clientCapabilities",
        "io.modelcontextprotocol/clientInfo",
        "io.modelcontextprotocol/logLevel",
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/related-task",
        "io.modelcontextprotocol/serverInfo",
        "io.modelcontextprotocol/subscriptionId",
    }
)
# The members of `params` of every request and notification (schema.ts of each revision, SEP-2663).
_PARAMS_KEYS = frozenset[str]().union(
    ("_meta", "task", "inputResponses", "requestState"),  # any request
    ("protocolVersion", "capabilities", "clientInfo"),  # initialize
    ("name", "arguments", "uri", "cursor"),  # tools, prompts, resources
    ("ref", "argument", "context"),  # completion/complete
    ("level", "logger", "data"),  # logging
    ("notifications",),  # subscriptions
    ("requestId", "reason", "progressToken", "progress", "total", "message"),  # cancelled, progress
    ("mode", "url", "elicitationId", "requestedSchema"),  # elicitation
    ("messages", "systemPrompt", "includeContext", "maxTokens", "temperature"),  # sampling
    ("stopSequences", "metadata", "modelPreferences", "tools", "toolChoice"),  # sampling
    ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "ttlMs"),  # tasks
    ("pollInterval", "pollIntervalMs", "result", "error", "inputRequests"),  # tasks
)
_CUSTOM_PARAMS = _Names.of(_PARAMS_KEYS)
_PARAMS = _Names.of(_PARAMS_KEYS, _fold_member)
_NESTED = {
    "_meta": _META,
    "ref": _Names.of({"type", "name", "uri"}, _fold_member),
    "notifications": _Names.of(
        {
            "toolsListChanged",
            "promptsListChanged",
            "resourcesListChanged",
            "resourceSubscriptions",
            "taskIds",
        },
        _fold_member,
    ),
}
"""Objects inside `params` that say which revision, resource, prompt or task is meant."""
_CUSTOM_NESTED = {"_meta": _META}
_PLAIN_PARAMS = _PARAMS_KEYS - _NESTED.keys()
"""Exact names without anything in them to look at."""
_RESULT = _Names.of({"inputRequests", "protocolVersion", "tools"}, _fold_member)
"""What the fence reads of a result; others are for the client alone."""


def twin_in_message(message: Mapping[str, Json]) -> str | None:
    """Give a sentence on a key that could be read as another one; None when there is none.

    Looks at the message, its `params` with `_meta`, `ref` and `notifications`, its `result`, and
    the method's name.
    """
    if not message.keys() <= _MESSAGE.exact and (twin := _MESSAGE.twin(message)) is not None:
        return twin
    if "result" in message and isinstance(result := message["result"], dict):
        return _RESULT.twin(result)
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str):
        return None
    is_custom = method not in METHODS
    if is_custom and (twin := _METHODS.twin_of(method)) is not None:
        return twin
    return _twin_in_params(params, is_custom=is_custom) if isinstance(params, dict) else None


def _twin_in_params(params: Mapping[str, Json], *, is_custom: bool) -> str | None:
    if params.keys() <= _PLAIN_PARAMS:  # by far the usual
        return None
    # Vendors' own methods have members such as `request_id` and `meta`, and the fence reads none.
    twin = (_CUSTOM_PARAMS if is_custom else _PARAMS).twin(params)
    for key, names in (_CUSTOM_NESTED if is_custom else _NESTED).items():
        value = params.get(key)
        if twin is None and isinstance(value, dict):
            twin = names.twin(value)
    return twin
