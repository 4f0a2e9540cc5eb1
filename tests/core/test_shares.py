from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentfence.core.shares import Shares

NOW = 1_700_000_000.0
DAY = 86_400.0


def table(most: int = 4, most_of_one: int = 2) -> Shares[str, int]:
    return Shares(most, most_of_one, DAY)


def keep(shares: Shares[str, int], owner: str, *keys: str) -> None:
    for key in keys:
        shares.keep(key, len(key), owner, NOW)


def known(shares: Shares[str, int], *keys: str) -> list[str]:
    return [key for key in keys if shares.find(key, NOW) is not None]


def test_owner_over_its_share_loses_its_own_least_used() -> None:
    shares = table()
    keep(shares, "victim", "v")
    keep(shares, "flooder", "a", "b")
    shares.find("a", NOW)
    keep(shares, "flooder", "c")

    assert known(shares, "v", "a", "b", "c") == ["v", "a", "c"]


def test_full_table_takes_from_whoever_has_most() -> None:
    shares = table(most=4, most_of_one=3)
    keep(shares, "victim", "v")
    keep(shares, "flooder", "a", "b", "c")
    keep(shares, "another", "x")

    assert known(shares, "v", "a", "b", "c", "x") == ["v", "b", "c", "x"]


def test_unused_entry_expires_and_each_use_counts() -> None:
    shares = table()
    keep(shares, "one", "a")

    assert shares.find("a", NOW + DAY) == 1
    assert shares.find("a", NOW + 2 * DAY) == 1
    assert shares.find("a", NOW + 3 * DAY + 1) is None
    assert len(shares) == 0


def test_kept_again_is_the_new_owners() -> None:
    shares = table()
    keep(shares, "one", "a")
    shares.keep("a", 7, "other", NOW)
    keep(shares, "one", "b", "c")

    assert shares.find("a", NOW) == 7
    shares.forget("a")
    shares.forget("a")
    assert known(shares, "a", "b", "c") == ["b", "c"]


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.sampled_from("abcdefgh")), max_size=60))
def test_table_is_never_over_its_bounds(steps: list[tuple[str, str]]) -> None:
    shares = table(most=5, most_of_one=3)
    owners: dict[str, str] = {}
    for owner, key in steps:
        keep(shares, owner, key)
        owners[key] = owner
        kept = known(shares, *owners)
        assert len(shares) == len(kept) <= 5
        assert all(sum(owners[k] == o for k in kept) <= 3 for o in "pqrs")
        assert key in kept
