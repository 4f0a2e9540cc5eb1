from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.constraints.url_globs import expand_globs, expansion_cost

PIECES = st.sampled_from(["a", "/", ".", ",", "{", "}", "[", "]", "-", "1", "20", ":", "?", "#", "%", "é"])


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("/a", ["/a"]),
        ("/{..}/x", ["/../x"]),
        ("/{a,b}/{c}", ["/a/c", "/b/c"]),
        ("/{}x", ["/x"]),
        ("/{a,}", ["/a", "/"]),
        ("/[a-c]", ["/a", "/b", "/c"]),
        ("/[Z-\\]", ["/Z", "/[", "/\\"]),
        ("/[8-11]", ["/8", "/9", "/10", "/11"]),
        ("/[08-10:2]", ["/08", "/09", "/10"]),
        ("/{a#,b}", ["/a#", "/b"]),
        # What curl complains of, other clients send as it is.
        ("/{a", ["/{a"]),
        ("/a}", ["/a}"]),
        ("/[c-a]", ["/[c-a]"]),
        ("/[9-8]", ["/[9-8]"]),
        ("/[A-z]", ["/[A-z]"]),
        ("/[id]/[a-z0-9]", ["/[id]/[a-z0-9]"]),
        ("/{a{b}c}", ["/{abc}"]),
    ],
)
def test_curl_makes_these_of_a_text(text: str, made: list[str]) -> None:
    assert made == expand_globs(text)


@pytest.mark.parametrize(
    "text", ["{a,b}" * 6, "/[1-33]", "/[1-999999999999999999]", "{" + "," * 40 + "}", "{a,b}" + "x" * 10_000]
)
def test_more_than_anyone_writes_is_not_made(text: str) -> None:
    assert expand_globs(text) is None


def test_expanding_costs_by_what_is_made() -> None:
    costs = list(
        map(expansion_cost, ("/a,b?filter[name]=x", "/{a}", "/{a,b}", "/[1-3]", "{" + "," * 99 + "}"))
    )

    assert costs[0] < 10
    assert costs == sorted(costs)


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_text_without_braces_and_brackets_stays_as_it_is(text: str) -> None:
    made = expand_globs(text)

    assert made == [text] or expansion_cost(text) > 0
    assert made is None or 0 < len(made) <= 32
