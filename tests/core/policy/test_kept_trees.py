"""Trees of policies, kept as JSON and restored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.errors import PolicyError
from agentfence.core.policy.kept_trees import keep, restore
from agentfence.core.policy.reader import read_document

if TYPE_CHECKING:
    from agentfence.core.policy.nodes import Node, Source

POLICIES = sorted(Path(__file__).parents[3].joinpath("policies").glob("*.yaml"))
DOCUMENTS = [
    "",
    "a: [1, -1.5, 1e3, true, false, null, ~, '', \"x\", 'true', 12345678901234567890123]\n",
    "a: &x {b: [c, {d: e}]}\nf: *x\ng: {<<: *x, h: i}\n",
    "'': [[], {}]\né: \"\\u00e9\\U0001F600\"\n",
    "- a\n-\n- |\n  long\n  text\n",
]
PIECES = [*"abc:{}[],&*#'\"\n -", ": ", "- ", "true", "1.0", "~", "&a ", "*a", "<<: "]


def kept(node: Node, source: Source) -> Node:
    return restore(json.loads(json.dumps(keep(node))), source)


def assert_restored_whole(content: bytes) -> None:
    node = read_document("p.yaml", content)
    source = node.position.source

    assert kept(node, source) == node
    assert repr(kept(node, source)) == repr(node)  # `1` is no `True`, and no `1.0`


@pytest.mark.parametrize("path", POLICIES, ids=lambda path: path.stem)
def test_policies_are_restored_whole(path: Path) -> None:
    assert_restored_whole(path.read_bytes())


@pytest.mark.parametrize("text", DOCUMENTS)
def test_every_kind_of_value_is_restored(text: str) -> None:
    assert_restored_whole(text.encode())


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
@settings(max_examples=300, deadline=None)
def test_whatever_can_be_read_is_restored(text: str) -> None:
    try:
        read_document("p.yaml", text.encode())
    except PolicyError:
        return
    assert_restored_whole(text.encode())
