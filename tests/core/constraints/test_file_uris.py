"""`file:` URIs: the table, and bad patterns."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.file_uris import check_file_uri, compile_file_uri_pattern, is_file_uri
from agentfence.core.constraints.interface import BuildContext

BLOCKS = yaml.safe_load((Path(__file__).parents[2] / "cases" / "file_uris" / "matches.yaml").read_text())
CONTEXT = BuildContext(folder="/policies")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block["pattern"])
def test_pattern_covers_exactly_what_the_table_says(block):
    allow = compile_file_uri_pattern(block["pattern"], CONTEXT)
    deny = compile_file_uri_pattern(block["pattern"], CONTEXT, deny=True)
    denied, unsafe = block.get("deny", []), block.get("unsafe", [])

    assert [uri for uri in block["hits"] if not allow.matches(uri) or not deny.matches(uri)] == []
    assert [uri for uri in [*block["misses"], *denied, *unsafe] if allow.matches(uri)] == []
    assert [uri for uri in [*denied, *unsafe] if not deny.matches(uri)] == []
    assert [uri for uri in [*block["hits"], *denied] if check_file_uri(uri) is not None] == []
    assert [uri for uri in unsafe if not is_file_uri(uri) or check_file_uri(uri) is None] == []


def test_unsafe_uri_fails_without_showing_it():
    failure = check_file_uri("file:///work/%2e%2e/secret-name")

    assert failure.code == "path_unsafe"
    assert "secret-name" not in failure.reason


@pytest.mark.parametrize(
    "pattern", ["", "file:", "file://", "file://host/x", "https://x/**", "file:///a/%2e%2e/**", "file:///["]
)
def test_malformed_pattern_is_an_error(pattern):
    with pytest.raises(ValueError):
        compile_file_uri_pattern(pattern, CONTEXT)


def test_pattern_begins_at_a_windows_folder():
    pattern = compile_file_uri_pattern("file:docs/**", BuildContext(folder="D:\\policies"))

    assert pattern.matches("file:///d:/policies/docs/x")


@settings(max_examples=200, deadline=None)
@given(st.text("file:/.%2e5c\\ab\n", max_size=20))
def test_any_text_gives_a_verdict_and_unsafe_ones_are_allowed_by_none(uri):
    pattern = compile_file_uri_pattern("file:///**", CONTEXT)

    assert not (pattern.matches(uri) and check_file_uri(uri) is not None)
