"""One spelling for texts that some reader takes for the same."""

from __future__ import annotations

import sys
from unicodedata import combining

import pytest

from agentfence.core.constraints import folding
from agentfence.core.constraints.folding import fold_text


@pytest.mark.parametrize(
    "text",
    [
        "secrets",
        "SECRETS",
        "\uff33\uff25\uff23\uff32\uff25\uff34\uff33",
        "sec\u200brets",
        "se\u00adcrets",
        "\u017fecrets",
        "s\ufe0fecrets",
    ],
)
def test_readings_of_one_name_fold_alike(text: str) -> None:
    assert fold_text(text) == "secrets"


@pytest.mark.parametrize(
    ("one", "other"), [("\u00e9", "e\u0301"), ("\u1e9b\u0323", "\u1e69"), ("\u212b", "\u00e5"), ("ß", "SS")]
)
def test_composed_and_decomposed_fold_alike(one: str, other: str) -> None:
    assert fold_text(one) == fold_text(other)


@pytest.mark.parametrize("text", ["a/b.c", "naïve", "日本語", "e\u0301" * 100, "x" + "\u0301" * 30])
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold_text(fold_text(text)) == fold_text(text)


def test_marks_that_no_writing_needs_are_left_out() -> None:
    assert fold_text("a" + "\u0323\u0301" * 100_000) == fold_text("a" + "\u0323\u0301" * 15)


def test_every_mark_may_be_part_of_a_run() -> None:
    marks = [
        mark
        for mark in map(chr, range(sys.maxunicode + 1))
        if combining(mark) or folding._IGNORABLE.match(mark)
    ]

    assert len(marks) > 1_000
    assert all(folding._LONG_RUN.fullmatch(mark * 31) for mark in marks)
