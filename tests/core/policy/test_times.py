"""Dates and times: both forms, and nothing else."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core.policy.times import parse_time


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01", 0),
        ("2027-12-31", 1830211200),
        ("2027-12-31T00:00:00Z", 1830211200),
        ("2027-12-31 01:00:00.25+01:00", 1830211200.25),
    ],
)
def test_date_begins_at_midnight_utc_and_a_time_has_its_offset(text, seconds):
    assert parse_time(text) == seconds


@pytest.mark.parametrize("text", ["", "today", "2027-13-01", "2027-12-31T00:00:00", "0000-01-01", "20271231"])
def test_anything_else_is_refused_with_what_was_expected(text):
    with pytest.raises(ValueError, match="expected a date or an RFC 3339 time"):
        parse_time(text)


@settings(max_examples=200)
@given(st.text("0123456789-+:.TtZz ", max_size=30))
def test_any_text_is_a_time_or_a_value_error(text):
    with suppress(ValueError):
        assert isinstance(parse_time(text), float)
