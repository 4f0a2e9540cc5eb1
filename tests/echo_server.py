"""A server for tests, over stdio (run as a script) or in memory: it does what a call's arguments say.

`tools/call` with `answer` gets that as its result, with `sends` these messages before the answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def answers(body: bytes) -> list[bytes]:
    """What the server writes for one line or one POST, in order."""
    value = json.loads(body)
    if isinstance(value, list):
        results = [_result(entry) for entry in value if _is_request(entry)]
        return [json.dumps(results).encode()] if results else []
    return [*_sent_before(value), json.dumps(_result(value)).encode()] if _is_request(value) else []


def _is_request(message: dict[str, Any]) -> bool:
    return "method" in message and "id" in message


def _arguments(message: dict[str, Any]) -> dict[str, Any]:
    arguments = message.get("params", {}).get("arguments") if message["method"] == "tools/call" else None
    return arguments or {}


def _sent_before(message: dict[str, Any]) -> list[bytes]:
    return [json.dumps(sent).encode() for sent in _arguments(message).get("sends", [])]


def _result(message: dict[str, Any]) -> dict[str, Any]:
    result: Any = {"reached": True}
    if message["method"] == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}}
    arguments = _arguments(message)
    if "error" in arguments:
        return {"jsonrpc": "2.0", "id": message["id"], "error": arguments["error"]}
    return {"jsonrpc": "2.0", "id": message["id"], "result": arguments.get("answer", result)}


def serve(log: Path) -> None:
    """Answer line by line, and keep each line in `log`."""
    with log.open("ab", buffering=0) as seen:
        for line in sys.stdin.buffer:
            seen.write(line)
            for answer in answers(line):
                sys.stdout.buffer.write(answer + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
