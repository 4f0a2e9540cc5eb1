"""HTTP requests as values, and the refusal of an exchange.

Header values are Latin-1 text, one character for each byte, as they came and in their order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

type Headers = tuple[tuple[str, str], ...]
"""Names as sent and values, in order; a name may repeat."""

METHOD_OVERRIDES = frozenset({"x-http-method-override", "x-http-method", "x-method-override"})
"""Headers by which some frameworks take one verb for another."""

_FOLDED = str.maketrans(dict.fromkeys("!#$%&'*+.^_`|~", "-"))


@frozen
class HttpRequest:
    """The head of a request, as the agent sent it."""

    method: str
    """In the case in which it was sent."""
    scheme: str
    host: str
    """Where the request goes: the CONNECT target, the host of an absolute URL, the upstream."""
    port: int
    target: str
    """Path and query."""
    headers: Headers = ()
    has_body: bool | None = None
    """None: not known yet, the headers tell."""
    trailers: Headers = ()
    authority: str = ""
    """The authority of a target in absolute form, where the host would send it on like that."""

    @property
    def announces_body(self) -> bool:
        """Whether there is a body, or may be one by what the headers say."""
        return announce_body(self.headers) if self.has_body is None else self.has_body


@frozen
class HttpRefusal:
    """A refusal of the exchange itself, sent with a JSON-RPC error whose id is null unless it is known."""

    status: int
    code: int
    """The JSON-RPC error's."""
    message: str
    reason_code: str
    headers: Headers = ()


def announce_body(headers: Headers) -> bool:
    """Whether headers say that a body follows."""
    has_length = any(length.strip() != "0" for length in values(headers, "content-length"))
    return has_length or bool(values(headers, "transfer-encoding"))


def values(headers: Headers, name: str) -> list[str]:
    """Give every value of a header; `name` in lower case."""
    return [value for field, value in headers if field.lower() == name]


def single(headers: Headers, name: str) -> str | None:
    """Give the value of a header that is there exactly once, without blanks around it, else None."""
    found = values(headers, name)
    return found[0].strip(" \t") if len(found) == 1 else None


def list_members(headers: Headers, name: str) -> list[str]:
    """Give the members of a comma-separated header in lower case, over all its lines."""
    members = (member.strip(" \t").lower() for value in values(headers, name) for member in value.split(","))
    return [member for member in members if member]


@lru_cache(maxsize=1024)
def fold_name(name: str) -> str:
    """Give one spelling for all header names that a CGI or WSGI server takes for this one."""
    return name.lower().translate(_FOLDED)


def mcp_headers(headers: Headers) -> Iterator[tuple[str, str]]:
    """Give the headers that are MCP's by any spelling, with folded names."""
    for name, value in headers:
        if name[:3].lower() == "mcp":
            folded = fold_name(name)
            if folded.startswith("mcp-"):
                yield folded, value
