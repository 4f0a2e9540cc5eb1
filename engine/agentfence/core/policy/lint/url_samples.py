"""URLs that a URL pattern is meant to fit."""

from __future__ import annotations

import re

from agentfence.core.constraints.url_patterns import with_query_mark
from agentfence.core.policy.globs_covering import samples

_URL = re.compile(
    r"(?:(\*|[A-Za-z][A-Za-z0-9+.-]*)://)?(\[[^\]]*\]|[^/?:\[\]]*)(:[0-9*]+)?([/?].*)?", re.DOTALL
)


def url_samples(pattern: str) -> list[str]:
    """Give a few URLs, the plainest first; whether they really fit is for the pattern to say."""
    parts = _URL.fullmatch(pattern)
    if parts is None:  # as `urn:x:*`
        return samples(pattern)
    scheme = "https" if parts[1] in (None, "*") else parts[1]
    host = "www.example.com" if parts[2] in ("*", "**") else parts[2].replace("*.", "x.", 1)
    port = "" if parts[3] is None else parts[3].replace("*", "8080")
    return [f"{scheme}://{host}{port}{path}" for path in samples(with_query_mark(parts[4] or "/"))]
