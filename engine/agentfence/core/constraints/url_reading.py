r"""A URL as every reader reads it, or the reason why there is none.

The agent's text reaches a server whose parser nobody knows. So it is read twice, by WHATWG (browsers,
Node) and by a grammar in which RFC 3986, WHATWG, Python's `urllib` and curl cannot differ, and
refused unless both find the same scheme, host and port. The grammar leaves out what parsers quarrel
about: user names, backslashes, blanks and controls, escapes in hosts, `https:host`, port 0.

- The host of a `Url` has one form: lower case, no trailing dot, punycode, IPv4 as four decimal
  numbers (also when mapped into IPv6), IPv6 in brackets and shortened.
- Reasons never hold any of the text.
"""

from __future__ import annotations

import re
from contextlib import suppress
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, NamedTuple

import can_ada

from agentfence.core.constraints.url_globs import expand_globs
from agentfence.core.constraints.url_paths import decode_once, is_simple, read_path
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
"""The schemes that always have a host, and the port that each means without writing it."""


def _characters(but: str = "") -> str:
    return rf"[^\s\x00-\x1f\x7f-\x9f\\{but}]*"


_HOST = r"[^\x00-,/:-@\[-^`{-\x9f]"  # letters, digits, `.`, `_`, `-` and all that is not ASCII
_ADDRESS = r"\[[0-9A-Fa-f:.]{2,45}\]"
_PORT = "(?::([1-9][0-9]{0,4})?)?"
_TAIL = rf"(\?{_characters('#')})?(#{_characters()})?"
_WEB = re.compile(rf"([A-Za-z]+)://({_HOST}{{1,254}}|{_ADDRESS}){_PORT}(/{_characters('?#')})?{_TAIL}")
_OTHER = re.compile(
    rf"([A-Za-z][A-Za-z0-9+.-]*):(?://({_HOST}{{0,254}}|{_ADDRESS}){_PORT}(?![^/?#]))?({_characters('?#')}){_TAIL}"
)
_DATABASES = ("postgres", "cockroach", "redshift", "mysql", "mariadb")
# What libpq and the clients of MySQL take from there, instead of from the authority.
_HOST_IN_QUERY = late_regex(
    "[?&;](?:host|hostaddr|port|service|socket|unix_?socket|socketpath)=", re.IGNORECASE
)
_LONGEST_QUERY = 65536  # servers stop at 8 to 16 KiB
# To an eye, and to the best-fit tables of Windows, these are `/`, `\`, `:`, `#` and `.`.
_LIKE_DELIMITER = late_regex(
    "[\u00a5\u0589\u06d4\u2044\u20a9\u2215\u2216\u2236\u2571\u266f\u29f5\u29f8\u29f9\u3033\ua789]"
)
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]*:")
_AUTHORITY = re.compile("[^:]*:/*([^/?#]*)")
_QUERY_OR_FRAGMENT = late_regex("[?#]")
_ENCODED_CONTROL = re.compile("%(?:[01][0-9A-Fa-f]|7[Ff])")


class Url(NamedTuple):  # each call makes one, and this is the cheapest that cannot be changed
    """What all readers find in a text."""

    text: str
    """As it came."""
    scheme: str
    host: str | None
    """In its one form; empty in `note:///x`, None in `urn:x`."""
    port: int | None
    """Written or the scheme's default; None where a scheme has none."""
    path: str
    """As `UrlPath.text`."""
    query: str
    """As written, with its question mark."""
    other_paths: tuple[str, ...] = ()
    """What else the path may be, as `UrlPath.other_readings`."""
    is_ambiguous: bool = False
    """True when the path may lead anywhere, or the query is too long to be looked at."""


@frozen
class UnreadableUrl:
    """Why a text is no URL, or not the same for every reader."""

    reason: str
    """What to say after "the URL"."""
    code: str = "url_invalid"


def read_url(text: str) -> Url | UnreadableUrl:
    """Give the URL in a text; a text that two readers read differently is unreadable."""
    match = _WEB.fullmatch(text)
    scheme = match[1].lower() if match else ""
    if match is None or scheme not in DEFAULT_PORTS:
        return _read_other(text)
    _, written_host, written_port, path, query, fragment = match.groups()
    port = int(written_port or DEFAULT_PORTS[scheme])
    page = _parse(text)
    if page is None:
        return UnreadableUrl("has a host or a port that cannot be")
    host = _reduce_host(written_host, page.hostname)
    is_same = page.protocol == f"{scheme}:" and int(page.port or DEFAULT_PORTS[scheme]) == port
    if host is None or not is_same or not page.has_valid_domain():
        return _explain_host(page.hostname)
    if not (path or query) and fragment and "@" in fragment:
        return UnreadableUrl("has two readings")  # curl to 7.50 takes what follows the @ for the host
    return _with_readings(Url(text, scheme, host, port, path or "/", query or ""), page, fragment)


def _read_other(text: str) -> Url | UnreadableUrl:
    """Read a scheme whose URLs need no host; WHATWG leaves theirs as written, numbers too."""
    match = _OTHER.fullmatch(text)
    scheme = match[1].lower() if match else ""
    if match is None or scheme in DEFAULT_PORTS:
        return UnreadableUrl(next(_complaints(text)))
    _, host, port, path, query, fragment = match.groups()
    page = _parse(text)
    if (
        page is None
        or page.protocol != f"{scheme}:"
        or decode_once(page.hostname) != (host or "")
        or str(page.port) != (port or "")
        or host == "."
        or (scheme == "file" and (host is None or _leads_to_network(path)))
    ):
        return UnreadableUrl("has two readings")
    if host is not None and scheme.startswith(_DATABASES) and _HOST_IN_QUERY.search(decode_once(query or "")):
        return UnreadableUrl("names another host in its query")
    if host is not None:
        host, path = page.hostname.lower().removesuffix("."), path or "/"
    url = Url(text, scheme, host, int(port) if port else None, path, query or "")
    return _with_readings(url, page, fragment)


def _leads_to_network(path: str) -> bool:
    """Whether the path of a `file:` URL is one of a share or a device on Windows, or none."""
    return not path or decode_once(path).replace("\\", "/").startswith("//")


def _with_readings(url: Url, page: can_ada.URL, fragment: str | None) -> Url | UnreadableUrl:
    """Give the URL with all that its path may be taken for."""
    if fragment and url.path.endswith("&"):  # `..&#47;x` is `../x` to who decodes HTML first
        return url._replace(is_ambiguous=True)
    if url.scheme == "file" and ".." in decode_once(f"{url.query}{fragment or ''}"):
        return url._replace(is_ambiguous=True)  # names to who only takes off the scheme
    if is_simple(url.path) and (url.scheme != "file" or "|" not in url.path):  # `C|` is `C:` to WHATWG
        return url if len(url.query) <= _LONGEST_QUERY else url._replace(is_ambiguous=True)
    if _ENCODED_CONTROL.search(url.path):
        return UnreadableUrl("has an encoded control character in its path")
    path = read_path(url.path, page.pathname)
    is_ambiguous = path.is_ambiguous or len(url.query) > _LONGEST_QUERY
    others = path.other_readings
    if ("{" in url.path or "[" in url.path) and not is_ambiguous:
        expanded = expand_globs(f"{url.path}{url.query}{fragment or ''}")
        made = [read_path(raw, raw) for raw in map(_only_path, expanded or ())]
        is_ambiguous = expanded is None or any(each.is_ambiguous for each in made)
        others += tuple(reading for each in made for reading in (each.text, *each.other_readings))
    return url._replace(path=path.text, other_paths=others, is_ambiguous=is_ambiguous)


def _only_path(tail: str) -> str:
    return _QUERY_OR_FRAGMENT.split(tail, maxsplit=1)[0]


def _parse(text: str) -> can_ada.URL | None:
    try:
        return can_ada.parse(text)
    except (ValueError, TypeError):  # the latter for lone surrogates
        return None


def _reduce_host(written: str, found: str) -> str | None:
    """Give the one form of a host; None when WHATWG found another than the one that is written."""
    lower = written.lower()
    if found.startswith("["):
        return _reduce_ipv6(lower, found)
    is_same = lower == found if written.isascii() else _is_canonical_idn(lower, found)
    if not is_same or ("xn--" in found and not _is_punycode(found)):
        return None
    return found.removesuffix(".")


def _reduce_ipv6(written: str, found: str) -> str | None:
    with suppress(ValueError):
        address = IPv6Address(found[1:-1])
        if written == found or IPv6Address(written[1:-1]) == address:
            mapped = address.ipv4_mapped
            return found if mapped is None else str(mapped)
    return None


def _is_canonical_idn(written: str, found: str) -> bool:
    """Whether a Unicode host is spelled as its punycode decodes, and IDNA 2003 finds that punycode too.

    Full-width letters, look-alike dots and invisible characters are other spellings; `faß.de` is
    `fass.de` to the IDNA 2003 of Python's sockets; and numbers in any script may be an address.
    """
    try:
        return (
            _LIKE_DELIMITER.search(written) is None
            and not written.rpartition(".")[2].isdecimal()
            and not written.isascii()
            and _decode_punycode(found) == written
            and written.encode("idna") == found.encode()
        )
    except ValueError:
        return False


def _is_punycode(host: str) -> bool:
    """Whether each `xn--` label is what its Unicode form encodes to."""
    return can_ada.idna_encode(_decode_punycode(host)) == host.encode()


def _decode_punycode(host: str) -> str:
    return can_ada.idna_decode(host.encode())  # type: ignore[arg-type] # its stub is wrong: it takes bytes


def _explain_host(found: str) -> UnreadableUrl:
    if found.startswith("[") or found.replace(".", "").isdigit():
        return UnreadableUrl("has an address for a host, in a spelling that readers differ on", "url_bare_ip")
    return UnreadableUrl("has a host that readers differ on")


def _complaints(text: str) -> Iterator[str]:
    """Give what is wrong with a text that the grammar does not cover, the first thing first."""
    if not _SCHEME.match(text):
        yield "is not a URL that begins with its scheme"
    authority = _AUTHORITY.match(text)
    if "\\" in text:
        yield "holds a backslash"
    if "@" in (authority[1] if authority else ""):
        yield "holds a user name"
    if re.search(r"[\s\x00-\x1f\x7f-\x9f]", text):
        yield "holds a blank or a control character"
    yield "has a host or a port that cannot be"
