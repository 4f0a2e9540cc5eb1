"""`Content-Type`: read strictly where a message is judged, leniently where one is looked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentfence.core.http.message import values

if TYPE_CHECKING:
    from agentfence.core.http.message import Headers

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

# A quoted value holds no `;`, `,` or `=`, as readers that only split would find a parameter in it.
_PARAMETER = re.compile(r"""([A-Za-z0-9!#$&^_.+-]+)=([A-Za-z0-9!#$&^_.+-]+|"[A-Za-z0-9!#$&^_.+ -]*")""")
# With the charset and the language that RFC 2231 allows before a value: `charset*=utf-8'en'utf-7`.
_CHARSET = re.compile(
    r"""charset[*0-9]*\s*=\s*(?:[^\s"';,]*'[^\s"';,]*')?["']?\s*([^\s"';,]+)""", re.IGNORECASE
)
UTF_8 = frozenset({"utf-8", "utf8"})


def problem_with_json_type(text: str) -> str | None:
    """Give why a `Content-Type` is not plain UTF-8 JSON to every reader; None when it is."""
    media_type, *parameters = (part.strip(" \t") for part in text.split(";"))
    if media_type.lower() != JSON:
        return f"Content-Type must be {JSON}"
    names: set[str] = set()
    for parameter in filter(None, parameters):
        match = _PARAMETER.fullmatch(parameter)
        name = match[1].lower() if match else ""
        if match is None or name in names or name.startswith("charset*"):
            return "the parameters of Content-Type are malformed or repeated"
        if name == "charset" and match[2].strip('"').lower() not in UTF_8:
            return "the charset of Content-Type must be utf-8"
        names.add(name)
    return None


def declared_type(headers: Headers) -> str:
    """Give all that is declared, in lower case; empty when there is no `Content-Type`."""
    return ",".join(values(headers, "content-type")).lower()


def declared_charsets(headers: Headers) -> list[str]:
    """Give every charset that some reader may find, in lower case and without repeats."""
    return list(dict.fromkeys(_CHARSET.findall(declared_type(headers))))
