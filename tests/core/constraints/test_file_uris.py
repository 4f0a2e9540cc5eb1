"""`file:` URIs: the table, and bad patterns."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.file_uris import compile_file_uri_pattern, is_file_uri, linked_uris
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
    anything = compile_file_uri_pattern("file:///**", CONTEXT)
    assert [uri for uri in unsafe if not is_file_uri(uri) or anything.matches(uri)] == []


@pytest.mark.parametrize(
    ("uri", "names"),
    [
        ("file:///work/a", []),
        ("file:///work/out/x", [("file:///etc/x",)]),
        ("file:///work/o%75t/x", [("file:///etc/x",)]),
        ("file:///work/in/a%20b", [("file:///work/src/a%20b", "file:///work/src/a%20b")]),
        ("file:///work/out/../x", [("file:///x",)]),
        ("file:///tmp/a", [("file:///private/tmp/a", "file:///tmp/a")]),
        ("file:///work/%2e%2e/x", []),
        ("file://host/work/out/x", []),
        ("note:a", []),
        ("file:///C:/work/a", []),
        ("file:///C:/work/out", [("file:///d:/x",)]),
        ("file:///work/odd", [("file:///",)]),
    ],
)
def test_links_lead_to_all_names_of_a_place(uri, names):
    links = {"/work/out/x": "/etc/x", "/work/out/../x": "/x", "/work/in/a b": "/work/src/a b"}
    links |= {"/tmp": "/private/tmp", "/tmp/a": "/private/tmp/a", "/work/odd": "relative"}
    links |= {"c:/work/a": "C:\\work\\a", "c:/work/out": "D:\\x"}

    assert names == linked_uris(uri, ["/work", "", "/tmp"], lambda path: links.get(path, path))


def test_pattern_knows_the_folder_that_it_begins_with():
    folders = {
        "file:///work/a/**": "/work/a",
        "file:///work/a*/b": "/work",
        "file:///**": "",
        "file:///a": "",
    }
    folders |= {"file:docs/x.md": "/policies/docs", "file:///work/[ab]/c": "/work", "file:///C:/x/**": ""}

    assert folders == {text: compile_file_uri_pattern(text, CONTEXT).folder for text in folders}


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
def test_any_text_gives_a_verdict_and_unsafe_ones_are_denied(uri):
    allow = compile_file_uri_pattern("file:///**", CONTEXT)
    deny = compile_file_uri_pattern("file:///**", CONTEXT, deny=True)

    assert is_file_uri(uri) == deny.matches(uri)
    assert deny.matches(uri) or not allow.matches(uri)
