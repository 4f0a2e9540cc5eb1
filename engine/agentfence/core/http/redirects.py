"""Where a redirect leads an agent that takes the fence for the server.

In reverse mode it would be followed past the fence: servers redirect `/mcp` to `/mcp/` by their own
address. So the agent is told a path, and a redirect to another origin does not pass.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.http.message import values
from agentfence.core.http.sse_endpoints import announced_target

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentfence.core.http.hosts import Origin
    from agentfence.core.http.message import Headers

_NOT_MODIFIED = 304
# WHATWG URLs drop tabs and line ends, and read a backslash as a slash; RFC 3986 has none of them.
_TWO_READINGS = re.compile(r"[^!-~]|\\")


def redirects_to(status: int, headers: Headers) -> str | None:
    """Give where an answer sends its client; None when it sends it nowhere."""
    locations = values(headers, "location")
    is_redirect = 300 <= status < 400 and status != _NOT_MODIFIED and bool(locations)
    return " ".join(locations) if is_redirect else None


def is_for_an_agent(method: str, headers: Headers) -> bool:
    """Whether an agent reads the answer; people's browsers are sent to other servers to log in."""
    return method != "GET" or any(
        "event-stream" in accepted.lower() for accepted in values(headers, "accept")
    )


def target_of_redirect(location: str, origins: Iterable[Origin], base: str) -> str | None:
    """Give path and query of a redirect to one of `origins` from the path `base`; None for any other."""
    if _TWO_READINGS.search(location):
        return None
    targets = (announced_target(origin, base, location.encode()) for origin in origins)
    target = next(filter(None, targets), "//")
    return None if target.startswith("//") else target
