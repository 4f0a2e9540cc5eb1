"""Roots of imported files; the table of imports covers the rest."""

from __future__ import annotations

from agentfence.core.policy.nodes import plain_table, position_of
from agentfence.core.policy.reader import read_document
from agentfence.core.policy.rebasing import rebased


def test_rebased_root_keeps_its_place():
    document = read_document("a.yaml", b"tools:\n  a: {constraints: {paths: {roots: [docs]}}}\n")
    moved = rebased(document, "sub")

    path = ("tools", "a", "constraints", "paths", "roots", 0)
    assert str(position_of(moved, path).place) == "a.yaml:2:37"


def test_without_prefix_nothing_moves():
    document = read_document("a.yaml", b"tools: {a: {constraints: {paths: {roots: [docs]}}}}")

    assert document is rebased(document, "")
    assert plain_table(document) == plain_table(rebased(document, ""))


def test_documents_of_odd_shape_are_left_alone():
    for text in (
        b"a: 1",
        b"tools: {a: allow, b: {constraints: {paths: 1}}, c: {constraints: {paths: [1, {roots: 1}]}}}",
    ):
        document = read_document("a.yaml", text)
        assert plain_table(document) == plain_table(rebased(document, "sub"))
