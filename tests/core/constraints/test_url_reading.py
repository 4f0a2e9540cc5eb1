from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from urllib.parse import urlsplit

import can_ada
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_reading import DEFAULT_PORTS, UnreadableUrl, Url, _reduce_host, read_url

CASES = Path(__file__).parents[2] / "cases" / "urls"
# RFC 3986 appendix B, and the authority's parts of section 3.2.
RFC_3986 = re.compile(r"(([^:/?#]+):)?(//([^/?#]*))?([^?#]*)(\?([^#]*))?(#(.*))?", re.DOTALL)
RFC_3986_AUTHORITY = re.compile(r"(?:.*@)?(\[[^\]]*\]|[^:]*)(?::([0-9]*))?", re.DOTALL)

PIECES = st.sampled_from(
    [
        *("http", "https", "ftp", "file", "foo", "://", ":", "/", "//", "\\", "@", "#", "?", ".", "..", ";"),
        *("%2e", "%2f", "%5c", "%00", "%25", "%40", "api.example.com", "localhost", "127.0.0.1", "0x7f"),
        *("1", "[::1]", "[::ffff:127.0.0.1]", "[", "]", ":80", ":443", ":8080", "xn--", "xn--bcher-kva"),
        *("bücher", "ß", "。", "．", "／", "＠", "\t", "\n", " ", "\0", "\u00ad", "\u200b", "\u200d", "ſ"),
        *("\u212a", "İ", "é", "①", "e\u0301", "-", "_", "~", "a", "A", "😀", "\ud800", "٣", "ẞ", "%C3%A9"),
        *("|", "{", "<", '"', "'", "*", "&"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=2), max_size=9).map("".join)
URLS = TEXTS | TEXTS.map(lambda tail: f"https://{tail}") | TEXTS.map(lambda tail: f"https://a.example{tail}")


def read_by_urllib(text: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(text)
    return parts.scheme, parts.hostname, parts.port


def read_by_whatwg(text: str) -> tuple[str, str | None, int | None]:
    page = can_ada.parse(text)
    return page.protocol.removesuffix(":"), page.hostname, int(page.port) if page.port else None


def read_by_rfc_3986(text: str) -> tuple[str, str | None, int | None]:
    parts = RFC_3986.fullmatch(text)
    assert parts
    authority = RFC_3986_AUTHORITY.fullmatch(parts[4] or "")
    assert authority
    return parts[2].lower(), authority[1], int(authority[2]) if authority[2] else None


def reduced(host: str | None) -> str:
    """The host that a client of this parser would connect to."""
    assert host
    name = host.strip("[]").lower()
    if ":" in name:
        address = ip_address(name)
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped) if mapped else f"[{address}]"
    return name.encode("idna").decode().removesuffix(".")


@pytest.mark.parametrize("read", [read_by_urllib, read_by_whatwg, read_by_rfc_3986])
@settings(max_examples=200)
@given(text=URLS)
@example(text="https://evil.example\\@api.example.com/")
@example(text="https://api.example.com@evil.example/")
@example(text="https://faß.de/")
@example(text="https://[::FFFF:127.0.0.1]:8080?x")
@example(text="https://a.example.:443#x@y")
@example(text="https:api.example.com")
@example(text="https://127.1/")
@example(text="https://bücher.example/ü?ü#ü")
def test_every_parser_finds_the_same_scheme_host_and_port_in_a_readable_url(read, text: str) -> None:
    url = read_url(text)
    if isinstance(url, UnreadableUrl) or url.scheme not in DEFAULT_PORTS:
        return

    scheme, host, port = read(text)

    assert url.scheme == scheme
    assert url.host == reduced(host)
    assert url.port == (port or DEFAULT_PORTS[scheme])


@settings(max_examples=200)
@given(TEXTS | st.text())
def test_any_text_is_read_or_refused_without_quoting_it(text: str) -> None:
    url = read_url(text)

    if isinstance(url, UnreadableUrl):
        assert url.code in ("url_invalid", "url_bare_ip")
        assert text not in url.reason or len(text) < 12
    else:
        assert url.text == text


def accepted_urls() -> list[str]:
    texts = [
        case["url"]
        for file in sorted(CASES.glob("*.yaml"))
        for case in yaml.safe_load(file.read_text(encoding="utf-8")).get("cases", ())
        if case["expect"] == "allow"
    ]
    return [text for text in texts if isinstance(text, str)]


@pytest.mark.parametrize("text", accepted_urls())
def test_whatwg_spelling_of_an_accepted_url_reads_alike(text: str) -> None:
    """What a client sends after parsing is judged as what the agent wrote."""
    url = read_url(text)
    again = read_url(can_ada.parse(text).href)

    assert isinstance(url, Url)
    assert isinstance(again, Url)
    assert (url.scheme, url.host, url.port) == (again.scheme, again.host, again.port)
    assert url.path == again.path


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("https://API.Example.COM./x", "api.example.com"),
        ("https://bücher.example/", "xn--bcher-kva.example"),
        ("https://BÜCHER.example./", "xn--bcher-kva.example"),
        ("https://[::FFFF:7F00:1]/", "127.0.0.1"),
        ("https://[0:0::0:1]/", "[::1]"),
        ("note:///x", ""),
        ("urn:x", None),
        ("foo://Owner./x", "owner"),
    ],
)
def test_host_has_one_form(text: str, host: str | None) -> None:
    url = read_url(text)

    assert isinstance(url, Url)
    assert host == url.host


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("api.example.com", "is not a URL that begins with its scheme"),
        ("https://a\\b/", "holds a backslash"),
        ("https://u@h/", "holds a user name"),
        ("https://h/a b", "holds a blank or a control character"),
        ("https://h:99999/", "has a host or a port that cannot be"),
        ("https://h/%00", "has an encoded control character in its path"),
        ("https://h#@x", "has two readings"),
        ("file:x", "has two readings"),
        ("https://ａ.example/", "has a host that readers differ on"),
        ("https://127.1/", "has an address for a host, in a spelling that readers differ on"),
    ],
)
def test_refusal_says_why(text: str, reason: str) -> None:
    url = read_url(text)

    assert isinstance(url, UnreadableUrl)
    assert reason == url.reason


@pytest.mark.parametrize(
    ("written", "found"),
    [("[::2]", "[::1]"), ("[::g]", "[::1]"), ("a.example", "b.example"), ("é.example", "b.example")],
)
def test_host_on_which_parsers_disagree_has_no_form(written: str, found: str) -> None:
    assert _reduce_host(written, found) is None
