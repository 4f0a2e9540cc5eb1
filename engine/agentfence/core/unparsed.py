"""What `on_unparsed: forward` lets pass: JSON of endpoints that mix MCP with something else."""

from __future__ import annotations

from agentfence.core.errors import ProtocolViolation
from agentfence.core.jsonrpc import fold_key, parse_json

_MESSAGE_KEYS = frozenset({"jsonrpc", "method", "result", "error"})


def is_other_json(body: bytes) -> bool:
    """Whether `body` is a strict JSON object that no reader could take for a JSON-RPC message."""
    try:
        value = parse_json(body)
    except ProtocolViolation:
        return False
    return isinstance(value, dict) and not any(fold_key(key) in _MESSAGE_KEYS for key in value)
