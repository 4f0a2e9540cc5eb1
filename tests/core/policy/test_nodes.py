"""The tree of a document: paths, positions, edits."""

from __future__ import annotations

import pytest

from agentfence.core.policy.nodes import Table, made, path_text, plain, plain_table, position_of
from agentfence.core.policy.reader import read_document

TREE = read_document("p.yaml", b"a:\n  b: [x, {c: d}]\n")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ((), "1:1"),
        (("a",), "2:3"),
        (("a", "b", 0), "2:7"),
        (("a", "b", 1, "c"), "2:14"),
        (("a", "b", 1, "nope", "further"), "2:10"),
        (("a", "b", 9), "2:6"),
        (("a", "b", "x"), "2:6"),
        ((0,), "1:1"),
        (("a", "b", 0, "c"), "2:7"),
    ],
)
def test_position_of_a_path_is_the_nearest_there_is(path, place):
    position = position_of(TREE, path)

    assert place == f"{position.line}:{position.column}"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("tools", "write_file", "decision"), "tools.write_file.decision"),
        (("tools", "a/*", "fields", 0), 'tools["a/*"].fields[0]'),
        (("a b",), '["a b"]'),
    ],
)
def test_path_is_written_as_people_write_it(path, text):
    assert text == path_text(path)


def test_edits_leave_the_tree_alone():
    assert isinstance(TREE, Table)
    before = plain(TREE)
    edited = TREE.having("z", made(1, TREE.position)).without("a")

    assert plain_table(edited) == {"z": 1}
    assert before == plain(TREE)


def test_what_is_not_there_is_empty():
    assert isinstance(TREE, Table)
    assert (TREE.get("no"), TREE.items("a"), plain_table(TREE.table("no"))) == (None, (), {})
