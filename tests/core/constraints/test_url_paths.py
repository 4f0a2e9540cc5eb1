from __future__ import annotations

from urllib.parse import unquote

import can_ada
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_paths import UrlPath, is_simple, read_path

PIECES = st.sampled_from(
    [
        *(
            "a",
            "B",
            "/",
            "//",
            ".",
            "..",
            "...",
            ";",
            ";x=1",
            "%2e",
            "%2E",
            "%2f",
            "%5c",
            "%255c",
            "%25",
            "%252e",
        ),
        *("%3f", "%20", "%c0%ae", "%e9", "%C3%A9", "é", "．", "／", "‥", "%u002e", "%", "%zz", "~", "%7e"),
        *("+", "|", "[x]", "&sol;", "&period;", "&amp;", "%26", "∕"),
    ]
)
PATHS = st.lists(PIECES, max_size=8).map(lambda pieces: "/" + "".join(pieces))


def read(raw: str) -> UrlPath:
    return read_path(raw, can_ada.parse(f"https://h{raw}").pathname)


def climbs(path: str) -> bool:
    """Whether a server that joins slashes and takes off parameters leaves the first folder of a path."""
    depth = 0
    for segment in path.replace("\\", "/").split("/"):
        name = segment.split(";")[0].strip()
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 1 and name == "..":
            return True
    return False


@pytest.mark.parametrize(
    ("raw", "text", "others"),
    [
        ("/a%20b", "/a b", ()),
        ("/%7Euser/%C3%A9", "/~user/é", ()),
        ("/a%2fb", "/a%2Fb", ("/a/b",)),
        ("/a//b;c=d/e", "/a//b;c=d/e", ("/a/b/e",)),
        ("/a%2520b", "/a%2520b", ("/a%20b", "/a b")),
        ("/a%3fb", "/a%3Fb", ("/a?b", "/a")),
        ("/DOMAIN%5Cuser", "/DOMAIN%5Cuser", (r"/DOMAIN\user", "/DOMAIN/user")),
        ("/a&amp;b", "/a&amp;b", ("/a&b", "/a&amp")),
        ("/½", "/½", ("/1⁄2",)),
        ("/a./b%20/c...", "/a./b /c...", ("/a/b/c",)),
        ("/%e9%C3%A9%ff", "/%E9é%FF", ("/ééÿ",)),
        ("/caf%e9", "/caf%E9", ("/café",)),
        ("/ﬁle", "/ﬁle", ("/file",)),
        ("/a/../b", "/b", ()),
        ("/.well-known/x", "/.well-known/x", ()),
    ],
)
def test_path_has_a_text_and_its_other_readings(raw: str, text: str, others: tuple[str, ...]) -> None:
    assert UrlPath(text, others) == read(raw)


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "/a/%2e%2e/b",
            "/a/..%2fb",
            "/a//../b",
            "/a/..;/b",
            "/%c0%ae/b",
            "/%u002e",
            "/%",
            "/a%25%30%30",
            "/a/..%5cb",
        ),
        *("/．．/b", "/a/%2525252525252e", "/a/..%20/b", "/a%3f/../b", "/" + "é" * 5000),
        *("/.%252e%20.", "/.%252e%20．", "/a/.%25252e%20./b", "/a/.%252e;x%20.", "/ .."),
        *("/a/..%255cb", "/a/..∕b", "/a/x∖..⁄b", "/a/..¥b", "/a/..%E2%80%8B/b", "/a/&period;.&sol;b"),
        *("/a/..&bsol;b", "/a/&percnt;2e./b", "/a/&period;%26period;/b"),
    ],
)
def test_path_that_may_lead_anywhere_is_ambiguous(raw: str) -> None:
    assert read(raw).is_ambiguous


@settings(max_examples=200)
@given(PATHS)
def test_no_reading_of_an_unambiguous_path_climbs(raw: str) -> None:
    path = read(raw)
    if path.is_ambiguous:
        return

    for reading in (path.text, *path.other_readings):
        assert not climbs(reading)
        assert not climbs(unquote(reading))
        assert not climbs(unquote(unquote(reading)))


@settings(max_examples=200)
@given(PATHS.filter(is_simple))
def test_simple_path_is_its_own_only_reading(raw: str) -> None:
    assert UrlPath(raw) == read(raw)
