"""URL patterns: `scheme://host[:port][/path]`, compiled.

    https://h            the root of h, at the scheme's port
    https://h/**         all of h
    https://*.h/a/*      one or more labels below h; `/a/` and one segment
    https://**           any host, any port, any path; `https://*/**` any host at the scheme's port
    http://localhost:*/  any port
    *://h/**             http and https
    note:///x, urn:x:*   other schemes, by their name

The path of a pattern is matched against the URL's path and query together; where there is a query,
the path alone must be covered too, so that `/*.json` is not met by `/secret?.json`. In an allow list
a `?` is a question mark where all that follows is `*` or `**`, or where a name and `=` follow.

In a deny list a missing scheme, port or path means any, `*://` any scheme, `**/path` that path at
any depth; and a pattern holds if it covers the URL in any reading: folded, decoded, without
parameters, with or without its last slash, by the IPv4 address inside an IPv6 one, by a local name
that spells the address, and by any name or address of the machine itself.
"""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import TYPE_CHECKING
from unicodedata import normalize

from agentfence.core.constraints.globs import Glob, compile_glob, literal_pattern
from agentfence.core.constraints.url_aliases import Aliases, aliases_of
from agentfence.core.constraints.url_globs import expand_globs
from agentfence.core.constraints.url_hosts import HostClass, host_class, read_address
from agentfence.core.constraints.url_paths import (
    MOST_DECODINGS,
    decode_meaningless,
    decode_once,
    has_dot_segment,
    is_quick_to_fold,
)
from agentfence.core.constraints.url_reading import DEFAULT_PORTS, UnreadableUrl, Url, read_url
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATTERN = re.compile(
    r"(?:(?P<scheme>\*|[A-Za-z][A-Za-z0-9+.-]*)://)?(?P<host>\[[^\]]*\]|[^/?:\[\]]*)"
    r"(?P<port>:(?:[0-9]+|\*))?(?P<path>[/?].*)?",
    re.DOTALL,
)
_OPAQUE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?!//|[0-9]+(?:[/?]|$))(?P<path>.+)", re.DOTALL)
_QUESTION = re.compile(r"\\?\?|\\.|\[[!^]?\]?[^\]]*\]", re.DOTALL)
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
_QUERY = late_regex(r"\*{1,2}\Z|[^/?=]*=")
_NETWORK = late_regex(r"([^/]+://)?\[?([0-9A-Fa-f.:]+)\]?/([0-9]+)")
_BARE_IPV6 = late_regex(r"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]*:[0-9A-Fa-f.:]*")
_SEVERAL_SCHEMES = late_regex(r"[A-Za-z]+\?://")
_WEB_SCHEMES = frozenset({"http", "https"})


@frozen
class HostPattern:
    """One host, the hosts below one, or any."""

    name: str | None = None
    """The one host, reduced; empty for URLs that leave it empty."""
    suffix: str | None = None
    """`.h` for `*.h`; without name and suffix any host fits."""

    def matches(self, host: str) -> bool:
        """Whether a reduced host fits."""
        if self.name is not None:
            return host == self.name
        return self.suffix is None or (host.endswith(self.suffix) and len(host) > len(self.suffix))


@frozen
class _PathPattern:
    plain: tuple[Glob, ...]
    """The pattern, whole and, in an allow list, cut at each of its question marks."""
    decoded: tuple[Glob, ...]
    """The same, decoded, with and without parameters: for further readings of a path."""
    distinct: tuple[Glob, ...]
    """All of these, each once."""
    parted: tuple[tuple[Glob, Glob], ...]
    """In a deny list, what stands before and behind each question mark; a query has no segments."""

    def allows(self, url: Url) -> bool:
        return (
            not url.is_ambiguous
            and self.plain[0].matches(url.path + decode_meaningless(url.query))
            and (not url.query or any(glob.matches(url.path) for glob in self.plain))
            and all(any(glob.matches(other) for glob in self.decoded) for other in url.other_paths)
        )

    def denies(self, url: Url) -> bool:
        queries = _query_readings(url)
        if url.is_ambiguous or queries is None or not all(map(is_quick_to_fold, queries)):
            return True
        if any(glob.matches(reading) for reading in _all_readings(url, queries) for glob in self.distinct):
            return True
        return bool(self.parted) and any(
            before.matches(path) and behind.matches(query)
            for path, query in _slashed_queries(url, queries)
            for before, behind in self.parted
        )


@frozen
class UrlPattern:
    """A compiled pattern of an allow list or of a deny list."""

    text: str
    """As written in the policy."""
    is_deny: bool
    schemes: frozenset[str] | None
    """None: any."""
    host: HostPattern | None
    """None for URLs without an authority, as `urn:x`."""
    port: int | None
    """0: the scheme's own; None: any."""
    path: _PathPattern | None
    """None: any path and query."""
    aliases: Aliases | None = None
    """In a deny list, what is the same as the one host."""

    def matches(self, text: str) -> bool:
        """Whether the pattern covers the URL in a text.

        What cannot be read is covered by no allow pattern, and by each deny pattern of its scheme.
        An allow pattern covers a metadata service only when it names it.
        """
        url = read_url(text)
        if isinstance(url, UnreadableUrl):
            return self.is_deny and self._may_name_scheme_of(text)
        return self.matches_url(url) and (
            self.is_deny or self.names_host(url.host) or host_class(url.host or "") is not HostClass.METADATA
        )

    def matches_url(self, url: Url) -> bool:
        """Whether the pattern covers a URL that was read."""
        if self.schemes is not None and url.scheme not in self.schemes:
            return False
        if self.port is not None and url.port != (self.port or DEFAULT_PORTS.get(url.scheme)):
            return False
        if self.is_deny:
            return self._denies_host(url.host) and (self.path is None or self.path.denies(url))
        return self._allows_host(url.host) and (self.path is None or self.path.allows(url))

    def names_host(self, host: str | None) -> bool:
        """Whether this one host is written out, or none where there is none."""
        return host is None if self.host is None else self.host.name == host

    def _allows_host(self, host: str | None) -> bool:
        if host is None or self.host is None:
            return host is None and self.host is None
        return self.host.matches(host)

    def _denies_host(self, host: str | None) -> bool:
        if host is None or self.host is None:
            # Without an authority, as in `note:/x`, is the same as with an empty one to most readers.
            return self.host in (None, HostPattern(), HostPattern(name=""))
        return self.host.matches(host) or (self.aliases is not None and self.aliases.cover(host))

    def _may_name_scheme_of(self, text: str) -> bool:
        scheme, colon, _ = re.sub(r"[\s\x00-\x1f\x7f]", "", text).partition(":")
        if self.schemes is None or not colon or not is_quick_to_fold(scheme):
            return True
        return normalize("NFKC", scheme).casefold() in self.schemes


def compile_url_pattern(text: str, *, deny: bool) -> UrlPattern:
    """Give the pattern of an allow list, or with `deny` of a deny list.

    Raises:
        ValueError: the pattern is malformed or can match nothing; the text says how.

    """
    _refuse_misunderstood(text)
    opaque = _OPAQUE.fullmatch(text)
    if opaque and opaque["scheme"].lower() not in DEFAULT_PORTS:
        return _compile_opaque(text, opaque["scheme"].lower(), opaque["path"], deny=deny)
    parts = _PATTERN.fullmatch(text)
    if parts is None:
        raise ValueError(f"`{text}` is no URL pattern: expected `scheme://host[:port][/path]`")
    host = parts["host"]
    if not host and parts["scheme"] is None:
        raise ValueError(f"`{text}` names no host: `**{text}` is that path on any")
    host_pattern = compile_host_pattern(host, parts["scheme"])
    return UrlPattern(
        text,
        deny,
        _compile_scheme(text, parts["scheme"], deny=deny),
        host_pattern,
        _compile_port(parts["port"], is_any=deny or host == "**"),
        _compile_path(_written_path(host, parts["path"], deny=deny), deny=deny),
        aliases_of(host_pattern.name) if deny and host_pattern.name else None,
    )


def compile_host_pattern(text: str, scheme: str | None = None) -> HostPattern:
    """Give the pattern of a host: `h`, `*.h`, `*` or `**`.

    Raises:
        ValueError: the host cannot be, or is not the form that URLs are reduced to.

    """
    if text in ("*", "**"):
        return HostPattern()
    below = text.startswith("*.")
    name = text.removeprefix("*.")
    if not name and scheme and scheme.lower() not in {*DEFAULT_PORTS, "*"}:
        return HostPattern(name)
    if any(mark in name for mark in "*/?#"):
        raise ValueError(f"host `{text}` cannot be: expected `h`, `*.h` for the hosts below h, or `*`")
    url = read_url(f"{'http' if scheme in (None, '*') else scheme}://{name}/")
    if isinstance(url, UnreadableUrl) or url.host is None:
        raise ValueError(f"host `{text}` cannot be, or readers differ on it: try punycode or a plain address")
    if below and read_address(url.host):
        raise ValueError(f"host `{text}` is below an address")
    return HostPattern(suffix=f".{url.host}") if below else HostPattern(name=url.host)


def _compile_opaque(text: str, scheme: str, path: str, *, deny: bool) -> UrlPattern:
    if deny and path == "*":
        raise ValueError(f"`{text}` may be a host or a scheme: write `{scheme}` or `{scheme}:**`")
    port = None if deny else 0
    return UrlPattern(text, deny, frozenset({scheme}), None, port, _compile_path(path, deny=deny))


def _compile_scheme(text: str, scheme: str | None, *, deny: bool) -> frozenset[str] | None:
    if scheme is None and not deny:
        raise ValueError(f"`{text}` has no scheme: write `https://{text}`")
    if scheme in (None, "*"):
        return None if deny else _WEB_SCHEMES
    return frozenset({scheme.lower()})


def _compile_port(port: str | None, *, is_any: bool) -> int | None:
    if port is None:
        return None if is_any else 0
    if port == ":*":
        return None
    if not 0 < int(port[1:]) < 65536:
        raise ValueError(f"port `{port[1:]}` cannot be: expected 1 to 65535, or `*`")
    return int(port[1:])


def _written_path(host: str, path: str | None, *, deny: bool) -> str:
    if path is None:
        return "/**" if deny or host == "**" else "/"
    path = path if path.startswith("/") else f"/{path}"
    return f"**{path}" if deny and host == "**" else path


def _compile_path(text: str, *, deny: bool) -> _PathPattern | None:
    if text in ("/**", "**"):
        return None
    if "#" in text or has_dot_segment(text):
        raise ValueError(f"path `{text}` matches nothing: fragments and dot segments never come")
    plain = decode_meaningless(text) if deny else with_query_mark(decode_meaningless(text))
    marks = () if deny else (mark for mark in _QUESTION.finditer(plain) if "?" in mark[0])
    cuts = [plain[: mark.start()] for mark in marks]
    decoded = [_decode_pattern(path) for path in (plain, *cuts)]
    bare = [re.sub(r";[^/?]*", "", path) for path in decoded]
    globs = {path: compile_glob(path, fold=deny) for path in (plain, *cuts, *decoded, *bare)}
    return _PathPattern(
        tuple(globs[path] for path in (plain, *cuts)),
        tuple(globs[path] for path in dict.fromkeys([*decoded, *bare])),
        tuple(globs.values()),
        tuple(part for path in globs for part in _part(path)) if deny else (),
    )


def with_query_mark(path: str) -> str:
    """Escape the question mark that begins a query, lest `/public?**` covers `/public-key/x`."""
    for mark in _QUESTION.finditer(path):
        behind = path[mark.end() :]
        if mark[0] == "?" and _QUERY.match(behind):
            return f"{path[: mark.start()]}\\?{behind}"
    return path


def _part(path: str) -> Iterator[tuple[Glob, Glob]]:
    for mark in _QUESTION.finditer(path):
        before, behind = path[: mark.start()], path[mark.end() :]
        if "?" in mark[0] and mark[0][1:2] not in ("!", "^") and behind:
            yield compile_glob(before, fold=True), compile_glob(behind, separator=None, fold=True)


def _decode_pattern(text: str) -> str:
    return normalize("NFKC", _ESCAPES.sub(lambda escapes: literal_pattern(decode_once(escapes[0])), text))


def _all_readings(url: Url, queries: set[str]) -> Iterator[str]:
    for path in _path_readings(url):
        yield path
        yield from (path + query for query in queries)


def _path_readings(url: Url) -> Iterator[str]:
    for path in (url.path, *url.other_paths):
        yield from _with_and_without_slash(path)


def _with_and_without_slash(path: str) -> tuple[str, str]:
    bare = path.rstrip("/")
    return bare, f"{bare}/"


def _query_readings(url: Url) -> set[str] | None:
    """Give what a query may be; None when that is too much to look at."""
    queries = {url.query} if url.query else set()
    if "{" in url.text or "[" in url.text:
        expanded = expand_globs(url.text)
        if expanded is None:
            return None
        made = (text.partition("#")[0].partition("?")[2] for text in expanded)
        queries |= {f"?{query}" for query in made if query}
    return queries.union(*map(_decodings, queries)) if "%" in url.text else queries


def _decodings(query: str) -> Iterator[str]:
    yield decode_meaningless(query)
    for _ in range(MOST_DECODINGS):
        if "%" not in query:
            break
        yield (query := decode_once(query))


def _slashed_queries(url: Url, queries: set[str]) -> Iterator[tuple[str, str]]:
    """Give each path with a query that holds a slash, also where the question mark was an escape."""
    for query in queries:
        if "/" in query:
            yield from ((path, query[1:]) for path in _path_readings(url))
    for other in url.other_paths:
        path, _, query = other.partition("?")
        if "/" in query:
            yield from ((reading, query) for reading in _with_and_without_slash(path))


def _refuse_misunderstood(text: str) -> None:
    """Refuse what would silently mean something else than it says."""
    if _BARE_IPV6.fullmatch(text):
        raise ValueError(f"`{text}` would be a scheme and a path: an address is written `[{text}]`")
    if _SEVERAL_SCHEMES.match(text):
        raise ValueError(f"`{text}` is no URL pattern: `*://` is both http and https")
    network = _NETWORK.fullmatch(text)
    if network is None:
        return
    try:
        ip_network(f"{network[2]}/{network[3]}", strict=bool(network[1]))  # `http://10.0.0.5/8` may be a page
    except ValueError:
        return
    raise ValueError(f"`{text}` would be a host and a path: ranges of addresses belong into `hosts`")
