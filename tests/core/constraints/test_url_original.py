from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_original import compile_original_allow, compile_original_deny
from agentfence.core.constraints.url_reading import Url, read_url


def allows(pattern: str, text: str) -> bool:
    compiled = compile_original_allow(pattern)
    return compiled is not None and compiled.matches(text)


def denies(pattern: str, text: str) -> bool:
    url = read_url(text)
    assert isinstance(url, Url)
    return any(compiled.matches_url(url) for compiled in compile_original_deny(pattern))


@pytest.mark.parametrize("pattern", ["", ".", "./", "**", "./**"])
def test_pattern_of_everything_allows_the_web_and_nothing_else(pattern: str) -> None:
    assert allows(pattern, "https://h.example:8443/x")
    assert allows(pattern, "http://h.example/")
    assert not allows(pattern, "foo://h.example/")
    assert denies(pattern, "foo://h.example/")


@pytest.mark.parametrize(
    ("pattern", "allowed", "refused"),
    [
        ("**.example.com/**", "https://a.example.com/x", "https://evil.example/a.example.com/x"),
        ("**/docs/**", "https://h.example/docs/x", "https://h.example/x?/docs/y"),
        ("https://**.example.com/**", "https://a.b.example.com/", "https://evil.example/x.example.com/"),
        ("http*://h.example/**", "http://h.example/x", "httpx://h.example/x"),
        ("https://h.example**", "https://h.example/x", "https://h.example.evil.example/x"),
    ],
)
def test_raw_text_pattern_allows_the_hosts_that_it_names(pattern: str, allowed: str, refused: str) -> None:
    assert allows(pattern, allowed)
    assert not allows(pattern, refused)


@pytest.mark.parametrize(
    "pattern", ["*", "h.example/**", "https://a*.example/**", "https://[x", "**a.example/**"]
)
def test_pattern_that_names_no_host_allows_nothing(pattern: str) -> None:
    assert compile_original_allow(pattern) is None


def test_denied_url_is_named_by_the_pattern_as_written() -> None:
    patterns = compile_original_deny("https://h.example**")

    assert {"https://h.example**"} == {pattern.text for pattern in patterns}
    assert len(patterns) == 2


@pytest.mark.parametrize(
    ("pattern", "denied"),
    [
        ("https://h.example/a[1]/**", "https://h.example/a[1]/x"),
        ("https://h.example/a[1]/**", "https://h.example/a1/x"),
        ("https://h.example/a?b", "https://h.example/a?b"),
        ("**/x[", "https://h.example/a/x["),
        ("**evil**", "https://not-evil-at-all.example/"),
    ],
)
def test_raw_text_is_denied_in_both_of_the_original_readings(pattern: str, denied: str) -> None:
    assert denies(pattern, denied)


@pytest.mark.parametrize("mark", ["?", "#", ""])
def test_endless_letters_are_denied_without_comparing_them(mark: str) -> None:
    assert denies("**/x", f"https://h.example/{mark}" + "\u0301\u0323" * 50_000)


@settings(max_examples=200)
@given(st.text(alphabet="*?[]\\./:h#@a%", max_size=12))
def test_any_old_pattern_loads(pattern: str) -> None:
    url = read_url("https://h.a/a?h#a")
    assert isinstance(url, Url)

    compile_original_allow(pattern)
    for compiled in compile_original_deny(pattern):
        assert compiled.matches_url(url) in (True, False)
