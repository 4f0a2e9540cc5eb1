"""URLs made from patterns: the pattern itself says that they fit."""

from __future__ import annotations

import pytest

from agentfence.core.constraints.url_patterns import compile_url_pattern
from agentfence.core.policy.lint.url_samples import url_samples


@pytest.mark.parametrize(
    "pattern",
    [
        "https://api.example.com/**",
        "https://*.example.org/a/*",
        "https://**",
        "https://*/**",
        "http://localhost:*/x",
        "*://h.example/**",
        "https://h.example",
        "https://h.example:8443/v1?x=*",
        "https://[2001:db8::1]/**",
        "note:///work/*",
        "urn:x:*",
        "file:///a/**",
    ],
)
def test_some_url_fits_its_pattern(pattern):
    matches = compile_url_pattern(pattern, deny=False).matches

    assert any(map(matches, url_samples(pattern)))


@pytest.mark.parametrize("pattern", ["h.example", "**/private/**", "http://**"])
def test_some_url_fits_its_pattern_of_a_deny_list(pattern):
    assert any(map(compile_url_pattern(pattern, deny=True).matches, url_samples(pattern)))
