"""A server that lists the tools in a file, a page each; it asks for roots first, as servers may."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def say(**message: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    asked = json.loads(line)
    match asked.get("method"):
        case "initialize" if "modern" not in sys.argv:
            say(id=asked["id"], result={"protocolVersion": "2025-11-25", "capabilities": {}})
        case "notifications/initialized":
            say(id="r", method="roots/list")
        case "tools/list":
            tools = json.loads(Path(sys.argv[1]).read_text())
            at = int(asked["params"].get("cursor", 0))
            more = {"nextCursor": str(at + 1)} if at + 1 < len(tools) else {}
            say(method="notifications/message", params={"level": "info", "data": "listing"})
            say(id=asked["id"], result={"tools": tools[at : at + 1], **more})
        case None:
            pass
        case _:
            say(id=asked["id"], error={"code": -32601, "message": "not known"})
