"""Dates and times as policies, tests and recorded calls write them."""

from __future__ import annotations

from datetime import UTC, datetime

from agentfence.core.late_regex import late_regex

_DATE = late_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_TIME = late_regex(  # RFC 3339 §5.6
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[-+][0-9]{2}:[0-9]{2})\Z"
)
TIME_ADVICE = "write `2027-12-31` or `2027-12-31T18:00:00Z`"


def parse_time(text: str) -> float:
    """Give seconds since 1970 for a date (its 00:00 UTC) or an RFC 3339 time with its offset.

    Raises:
        ValueError: It is neither; the text says what was expected.

    """
    try:
        if _DATE.match(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
        if _TIME.match(text):
            return datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError):
        pass  # a month 13, an hour 25: said below
    raise ValueError(f"expected a date or an RFC 3339 time with its offset, got `{text}`")
