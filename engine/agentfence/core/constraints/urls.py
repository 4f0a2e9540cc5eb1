"""The `urls` constraint: where a call may send a server.

Each text that the fields find is read once (`url_reading`) and must have one reading, a permitted
class of host, no deny pattern and some allow pattern.

- What a server would find in the text that takes it for a list (`https://a/,https://b/`) must, too.
- A host that an allow pattern writes out needs no class, as long as that pattern covers the URL.
- Without an allow list the scheme must be http or https.
- In policies of the Go AgentFence addresses and `file:` stay refused whatever the lists say.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any

from agentfence.core.constraints.effort import TOO_MUCH
from agentfence.core.constraints.fields import build_fields, collect_text, uncovered
from agentfence.core.constraints.interface import Failure, SpecError
from agentfence.core.constraints.url_globs import expansion_cost
from agentfence.core.constraints.url_hosts import HostClass, host_class, read_address
from agentfence.core.constraints.url_original import compile_original_allow, compile_original_deny
from agentfence.core.constraints.url_patterns import HostPattern, compile_host_pattern, compile_url_pattern
from agentfence.core.constraints.url_reading import UnreadableUrl, read_url
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from agentfence.core.constraints.fields import Selectors
    from agentfence.core.constraints.interface import Arguments, BuildContext, Circumstances
    from agentfence.core.constraints.url_original import DenyPattern
    from agentfence.core.constraints.url_patterns import UrlPattern
    from agentfence.core.constraints.url_reading import Url

_CLASSES = {
    "named": (HostClass.NAMED,),
    "public": (HostClass.NAMED, HostClass.PUBLIC),
    "any": (HostClass.NAMED, HostClass.PUBLIC, HostClass.LOCAL),
}

# `https:evil.test` is a URL to browsers; `https:443` is a port in `?ports=http:80,https:443`.
_NEXT_URL = late_regex("[,;|](?=https?:(?![0-9]{1,5}(?:[,;|&#]|$))|(?:wss?|ftp|file):/)", re.IGNORECASE)

_LONGEST_ODD = 4_096
"""Characters of a path that is not plain; longer ones are not looked at."""
_MOST_ESCAPES = 20_000
"""Those of the longest query that is looked at, about."""


@frozen
class HostRule:
    """The hosts that need not be written out in `allow`."""

    classes: tuple[HostClass, ...]
    names: tuple[HostPattern, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()

    def admits(self, host: str) -> bool:
        """Whether a reduced host is one of them; a metadata service never is."""
        kind = host_class(host)
        if kind in self.classes:
            return True
        if kind is HostClass.METADATA:
            return False
        address = read_address(host)
        if address is not None:
            return any(address in network for network in self.networks)
        return any(name.matches(host) for name in self.names)

    def admits_below(self, suffix: str) -> bool:
        """Whether some host that ends in `suffix`, as `.h`, may be one of them."""
        listed = (name.name or name.suffix or "" for name in self.names)
        return self.admits(f"x{suffix}") or any(name.endswith(suffix) for name in listed)


@frozen
class UrlsConstraint:
    """One compiled `urls` block."""

    selectors: Selectors
    allow: tuple[UrlPattern, ...] | None
    deny: tuple[DenyPattern, ...]
    hosts: HostRule
    is_original: bool = False
    """True: no address and no `file:` passes, whatever the lists say."""
    is_active: bool = True

    @property
    def kind(self) -> str:
        """The key in the policy."""
        return "urls"

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the top-level arguments that may hold the URLs."""
        return self.selectors.top_levels

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first failure of the URLs that the fields find."""
        if not self.is_active:
            return None
        found = collect_text(self.selectors, arguments, "url_missing")
        if isinstance(found, Failure):
            return found
        not_allowed: list[str] = []
        for text in found:
            for part in _parts(text.text):
                if not circumstances.affords(_cost(part)):
                    return Failure("url_invalid", f"argument `{text.path}` {TOO_MUCH}", text.path)
                verdict = self._check_text(part, text.path)
                if isinstance(verdict, Failure):
                    return verdict
                if not verdict:
                    not_allowed.append(text.path)
        return uncovered("url_not_allowed", not_allowed, "covered by no allowed pattern")

    def _check_text(self, text: str, field: str) -> Failure | bool:
        """Say whether the allow list covers a URL; or what forbids it."""
        if not text:
            return Failure("url_missing", f"argument `{field}` is empty", field)
        url = read_url(text)
        if isinstance(url, UnreadableUrl):
            code = "url_file_scheme" if text.lstrip()[:5].lower() == "file:" else url.code
            return Failure(code, f"the URL in argument `{field}` {url.reason}", field)
        if url.scheme == "file" and not self._names_files():
            return Failure("url_file_scheme", f"argument `{field}` is a `file:` URL", field)
        return self._judge(url, field)

    def _judge(self, url: Url, field: str) -> Failure | bool:
        is_covered = is_written_out = False
        for allowed in self.allow or ():
            if allowed.matches_url(url):
                is_covered = True
                is_written_out = is_written_out or allowed.names_host(url.host)
        if url.host is not None and not self._may_reach(url.host, is_written_out=is_written_out):
            return _refuse_host(url.host, field)
        for denied in self.deny:
            if denied.matches_url(url):
                reason = f"the URL in argument `{field}` is denied by pattern `{denied.text}`"
                return Failure("url_denied", reason, field)
        if self.allow is None:
            return True if url.scheme in ("http", "https") else _refuse_scheme(field)
        return is_covered

    def _may_reach(self, host: str, *, is_written_out: bool) -> bool:
        if self.is_original and read_address(host) is not None:
            return False
        return is_written_out or self.hosts.admits(host)

    def _names_files(self) -> bool:
        return not self.is_original and any("file" in (pattern.schemes or ()) for pattern in self.allow or ())


def _parts(text: str) -> Iterator[str]:
    """Give the text and, for the few that list several URLs, each of these."""
    yield text
    if text.find(":", len("https:")) < 0:
        return
    start = 0
    for separator in _NEXT_URL.finditer(text):
        yield text[start : separator.start()]
        start = separator.end()
    if start:
        yield text[start:]


def _cost(text: str) -> int:
    """Give the microseconds that a text may cost."""
    cost = 8 + len(text) // 64 + expansion_cost(text)
    escapes, odd = text.count("%"), min(len(text), _LONGEST_ODD)
    if escapes:
        cost += 12 + 2 * min(escapes, _MOST_ESCAPES)
    if ";" in text:
        cost += odd // 4
    if text.find("//", len("https://")) >= 0:
        cost += odd // 2
    if not text.isascii():
        cost += 12 + odd + odd // 2
    return cost


def _refuse_host(host: str, field: str) -> Failure:
    code, what = ("url_bare_ip", "an address") if read_address(host) else ("url_not_allowed", "a host")
    why = "that the rule's `hosts` do not cover"
    if host_class(host) is HostClass.METADATA:
        why = "that may be a metadata service, and those must be written out in `allow`"
    return Failure(code, f"the URL in argument `{field}` has {what} {why}", field)


def _refuse_scheme(field: str) -> Failure:
    return Failure("url_not_allowed", f"the URL in argument `{field}` is neither http nor https", field)


def build(spec: Mapping[str, Any], context: BuildContext) -> UrlsConstraint:
    """Give the constraint of one `urls` block.

    Raises:
        SpecError: a field, a pattern or a host cannot be compiled.

    """
    if context.original:
        return _build_original(spec)
    hosts = _compile_hosts(spec.get("hosts", "named"))
    allow = _compile_patterns(spec, "allow", deny=False)
    for index, pattern in enumerate(allow or ()):
        _refuse_idle(pattern, hosts, index)
    return UrlsConstraint(
        build_fields(spec, ("url",)), allow, _compile_patterns(spec, "deny", deny=True) or (), hosts
    )


def _build_original(spec: Mapping[str, Any]) -> UrlsConstraint:
    allow = [compile_original_allow(text) for text in spec.get("allow") or ()]
    deny = [pattern for text in spec.get("deny") or () for pattern in compile_original_deny(text)]
    return UrlsConstraint(
        build_fields({}, ("url",)),
        tuple(filter(None, allow)) if allow else None,
        tuple(deny),
        HostRule(_CLASSES["named"]),
        is_original=True,
        is_active=bool(spec.get("allow") or spec.get("deny")),
    )


def _compile_patterns(spec: Mapping[str, Any], key: str, *, deny: bool) -> tuple[UrlPattern, ...] | None:
    if key not in spec:
        return None
    patterns: list[UrlPattern] = []
    for index, text in enumerate(spec[key]):
        try:
            patterns.append(compile_url_pattern(text, deny=deny))
        except ValueError as error:
            raise SpecError((key, index), str(error)) from None
    return tuple(patterns)


def _compile_hosts(spec: str | Sequence[str]) -> HostRule:
    if isinstance(spec, str):
        if spec not in _CLASSES:
            raise SpecError(("hosts",), f"expected `named`, `public`, `any` or a list, got `{spec}`")
        return HostRule(_CLASSES[spec])
    names: list[HostPattern] = []
    networks: list[IPv4Network | IPv6Network] = []
    for index, text in enumerate(spec):
        try:
            if "/" in text or ":" in text or read_address(text):
                networks.append(_compile_network(text))
            else:
                names.append(compile_host_pattern(text))
        except ValueError as error:
            raise SpecError(("hosts", index), str(error)) from None
    return HostRule((), tuple(names), tuple(networks))


def _compile_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(re.sub(r"[\[\]]", "", text))
    except ValueError as error:
        if "host bits" in str(error):
            raise ValueError(f"`{text}` is no network: {error}") from None
        raise ValueError(
            f"`{text}` is no network: `hosts` has names, addresses and networks, without scheme and port"
        ) from None


def _refuse_idle(pattern: UrlPattern, hosts: HostRule, index: int) -> None:
    """Refuse a pattern below a host of which `hosts` admits none."""
    suffix = pattern.host.suffix if pattern.host else None
    if suffix and not hosts.admits_below(suffix):
        raise SpecError(
            ("allow", index),
            f"`{pattern.text}` matches nothing: `hosts` covers no host below `{suffix[1:]}`",
            f"list `*{suffix}` under `hosts`, or set `hosts: any`",
        )
