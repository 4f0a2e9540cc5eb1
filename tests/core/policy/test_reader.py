"""Reading YAML: a table, the bounds, and any text at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from policies_in_memory import problems_in

from agentfence.core.errors import PolicyError
from agentfence.core.policy.nodes import Items, Scalar, Table, plain
from agentfence.core.policy.reader import MAX_ALIASED_NODES, MAX_BYTES, MAX_DEPTH, read_document

CASES = yaml.safe_load((Path(__file__).parents[2] / "cases" / "policy" / "reader.yaml").read_text())
FRAGMENTS = [
    "a",
    "b: ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    ",",
    ": ",
    "? ",
    "&x ",
    "*x",
    "<<: ",
    "!!str ",
    "'",
    '"',
    "|\n",
]
FRAGMENTS += [
    "\n",
    "  ",
    "\t",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "#",
    "1",
    "\\u",
    "\ufeff",
    "\x85",
    "\u2028",
    "é",
]


def problems_of(text: str | bytes) -> list[str]:
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(PolicyError) as caught:
        read_document("p.yaml", content)
    return [f"{one.place.line}:{one.place.column} {one.code}" for one in caught.value.problems]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_reader_gives_the_value_or_the_problems(case):
    if "problems" in case:
        assert case["problems"] == problems_of(case["text"])
    else:
        value = plain(read_document("p.yaml", case["text"].encode()))
        assert json.dumps(case["value"], sort_keys=True) == json.dumps(value, sort_keys=True)


def test_every_value_and_key_knows_its_place():
    node = read_document("p.yaml", b"one: 1\ntwo:\n  - a\n  - {b: 'c d'}\n")

    assert isinstance(node, Table)
    assert str(node.entries["two"].key.place) == "p.yaml:2:1"
    two = node.entries["two"].value
    assert isinstance(two, Items)
    assert str(two.position.place) == "p.yaml:3:3"
    inner = two.items[1]
    assert isinstance(inner, Table)
    leaf = inner.entries["b"].value
    assert isinstance(leaf, Scalar)
    assert (str(leaf.position.place), leaf.position.width) == ("p.yaml:4:9", 5)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_problem_shows_its_line_whatever_ends_lines(end):
    with pytest.raises(PolicyError) as caught:
        read_document("p.yaml", f"a: 1{end}b: 2{end}a: 3{end}".encode())

    problem = caught.value.problems[0]
    assert (problem.place.line, problem.place.column, problem.source_line) == (3, 1, "a: 3")


def test_depth_is_bounded():
    assert plain(read_document("p.yaml", b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)) is not None
    assert problems_of(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)) == ["1:65 too_deep"]
    assert problems_of(b"- " * 3000) == ["1:129 too_deep"]
    assert problems_of(b"{" * 100_000)


def test_depth_counts_through_aliases():
    half = MAX_DEPTH // 2
    text = f"- &a {'[' * half}{']' * half}\n- {'[' * half}*a{']' * half}\n"

    assert [f"2:{half + 3} too_deep"] == problems_of(text)


def test_size_is_bounded():
    full = b"# " + b"x" * (MAX_BYTES - 2)

    assert plain(read_document("p.yaml", full)) == {}
    assert problems_of(full + b"x") == ["1:1 file_too_large"]


def test_aliases_cannot_grow_without_bound():
    few = f"a: &a [{', '.join('1' * 99)}]\nb: [{', '.join(['*a'] * 100)}]"
    lol = "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
        f"{key}: &{key} [{', '.join([f'*{chr(ord(key) - 1)}'] * 9)}]\n" for key in "bcdefghijklmnopqrst"
    )

    assert read_document("p.yaml", few.encode())
    assert MAX_ALIASED_NODES == 100 * 100
    assert problems_of(few[:-1] + ", *a]") == ["2:405 too_many_aliases"]
    assert problems_of(lol)[0].endswith("too_many_aliases")


def test_text_that_is_not_utf8_is_refused_where_it_begins():
    assert problems_of(b"a: b\nc: \xff") == ["2:4 not_utf8"]
    assert problems_of("a: b".encode("utf-16")) == ["1:1 not_utf8"]


def test_long_numbers_are_refused():
    assert problems_of("a: " + "9" * 5000) == ["1:4 number_too_large"]


def test_unquoted_stars_get_the_advice_to_quote_them():
    for text in ("*: ask", "a: *b", "- *.x", "a: @b", "a: `b`"):
        with pytest.raises(PolicyError) as caught:
            read_document("p.yaml", text.encode())
        assert "needs quotes" in (caught.value.problems[0].help or "")


@given(st.one_of(st.text(), st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)))
@example("a: \ud7ff\U0010ffff")
@example("? ? ? a")
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_document_or_a_policy_error(text):
    found = problems_in(lambda: plain(read_document("p.yaml", text.encode())))

    assert all(problem.place.line >= 1 and problem.place.column >= 1 for problem in found)


@given(st.binary())
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_a_document_or_a_policy_error(content):
    problems_in(lambda: read_document("p.yaml", content))


@given(
    st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(), st.lists, max_leaves=5)
)
@settings(max_examples=100, deadline=None)
def test_json_reads_as_itself(value):
    content = json.dumps({"value": value}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if problems_in(lambda: read_document("p.json", content)):
        assert not json.dumps(value, ensure_ascii=False).isprintable()
    else:
        assert plain(read_document("p.json", content)) == {"value": value}


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a: {b: c\nd: e\n", "what is not closed begins in line 1"),
        ("a: {b: 'c}\n", "what is not closed begins in line 1"),
        ("a:\n  b: c\n   d: e\n", "look at how the lines are indented; a text that holds `: ` needs quotes"),
        ("a: b: c\n", "look at how the lines are indented; a text that holds `: ` needs quotes"),
        ("a:\n\tb: c\n", "indent with blanks, not with tabs"),
    ],
)
def test_text_that_is_no_yaml_gets_advice(text, advice):
    with pytest.raises(PolicyError) as caught:
        read_document("p.yaml", text.encode())

    assert advice == caught.value.problems[0].help
