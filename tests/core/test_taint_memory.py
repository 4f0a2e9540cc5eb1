"""What is remembered for taint: all of it is found, the oldest goes first, and the memory stays small."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfence.core import taint_memory
from agentfence.core.taint_memory import TaintMemory

LENGTH = 4
SHINGLES = st.lists(st.text(max_size=5).map(hash), min_size=1, max_size=50)


@settings(deadline=None)
@given(st.lists(SHINGLES, max_size=5), SHINGLES)
def test_what_was_remembered_is_found_and_nothing_else(remembered: list[list[int]], others: list[int]):
    memory = TaintMemory()
    for number, shingles in enumerate(remembered):
        memory.remember(f"tool {number}", shingles)

    last = {shingle: f"tool {number}" for number, shingles in enumerate(remembered) for shingle in shingles}
    assert {s: memory.source_of([s], LENGTH) for s in last} == last
    assert [s for s in others if s not in last and memory.source_of([s], LENGTH)] == []


def test_shingles_that_share_a_place_are_kept_apart():
    """As many as fit, all at one place: the worst that could happen."""
    memory = TaintMemory()
    shingles = [*range(1, 2_000)]
    memory.remember("tool", shingles)

    assert all(memory.source_of([shingle], LENGTH) for shingle in shingles)
    assert memory.source_of([2_000], LENGTH) is None


def test_oldest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentfence.core.taint_memory._FOREIGN_SIZES", (16, 64))
    memory = TaintMemory()
    shingles = [hash(str(number)) for number in range(500)]
    forgot = [memory.remember("tool", [shingle]) for shingle in shingles]
    known = [memory.source_of([shingle], LENGTH) is not None for shingle in shingles]

    first = 8  # what fits into the smallest table, for which there is room for good
    assert known[:first] == [True] * first
    assert known[first:] == sorted(known[first:])
    assert (known[first], known[-1]) == (False, True)
    assert True in forgot


FLOODS = {
    "a tool": ["web/fetch"],
    "many tools of one server": [f"web/tool{number}" for number in range(50)],
    "more tools than can be told apart": [f"web/tool{number}" for number in range(600)],
    "another tool of the same server": ["private/list"],
    "a tool of a server without a name": ["fetch"],
}


@pytest.mark.parametrize("flood", FLOODS)
def test_source_that_brings_very_much_pushes_out_its_own(flood: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentfence.core.taint_memory._FOREIGN_SIZES", (16, 64, 4096))
    memory, sources = TaintMemory(), FLOODS[flood]
    memory.remember("first", [hash(("first", number)) for number in range(100)])
    secret = [hash(("secret", number)) for number in range(100)]
    memory.remember("private/read_file", secret)
    for number in range(100):
        memory.remember(sources[number % len(sources)], [hash((number, at)) for at in range(300)])

    assert {memory.source_of([shingle], LENGTH) for shingle in secret} == {"private/read_file"}
    assert memory.source_of([hash((0, 0))], LENGTH) is None
    assert memory.source_of([hash((99, 0))], LENGTH) is not None


def test_of_what_is_more_than_is_kept_some_is_left_everywhere(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentfence.core.taint_memory._FOREIGN_SIZES", (4096,))
    memory, secret = TaintMemory(), [hash(("secret", number)) for number in range(1_000)]
    memory.remember("private/read_file", secret)
    for number in range(100):
        memory.remember("web/fetch", [hash((number, at)) for at in range(300)])

    left = [memory.source_of([shingle], LENGTH) is not None for shingle in secret]
    assert 400 <= sum(left) <= 512
    assert all(any(left[start : start + 50]) for start in range(0, 1_000, 50))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(1, 200)), min_size=10, max_size=60))
def test_what_is_kept_stays_bounded_and_is_found(brought: list[tuple[str, int]]):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentfence.core.taint_memory._FOREIGN_SIZES", (16, 256))
        memory = TaintMemory()
        for number, (source, count) in enumerate(brought):
            shingles = [hash((number, at)) for at in range(count)]
            memory.remember(source, shingles)

            assert memory.source_of(shingles[-1:], LENGTH) == source
            assert memory.places <= 16 + 2 * 256
            assert all(
                sum(map(bool, table._fingerprints)) <= table.size // 2 for table in memory._foreign._tables
            )


def test_what_came_back_again_is_as_new(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentfence.core.taint_memory._FOREIGN_SIZES", (64,))
    memory, kept = TaintMemory(), [hash("kept")]
    for number in range(1_000):
        memory.remember("tool", kept)
        memory.remember("tool", [hash(str(number))])

    assert memory.source_of(kept, LENGTH) == "tool"


def test_memory_that_is_full_takes_less_than_20_mib(monkeypatch: pytest.MonkeyPatch):
    """Measured with all tables a 32nd of their size, which is quick."""
    for name in ("_FOREIGN_SIZES", "_OWN_SIZES"):
        monkeypatch.setattr(taint_memory, name, tuple(size // 32 for size in getattr(taint_memory, name)))
    shingles = [[hash(f"{start} {number}") for number in range(1_000)] for start in range(100)]
    memory = TaintMemory()
    tracemalloc.start()
    for number, some in enumerate(shingles):
        memory.remember(f"tool {number}", some)
        memory.own(some)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert 10 << 20 < 32 * size < 20 << 20


def test_sources_beyond_what_can_be_told_apart_have_one_name():
    memory = TaintMemory()
    for number in range(300):
        memory.remember(f"tool {number}", [number])

    assert memory.source_of([1], LENGTH) == "tool 1"
    assert memory.source_of([299], LENGTH) == "several tools"


def test_what_waits_is_found_as_if_it_had_not_waited() -> None:
    memory, pieces = TaintMemory(), [[hash((number, at)) for at in range(100)] for number in range(5)]
    memory.remember_later("large", iter(pieces))
    memory.remember("small", [7 << 32, *pieces[0][:1]])
    assert memory.is_behind
    assert not memory.is_empty

    memory.catch_up(150)

    assert memory.is_behind
    assert [memory.source_of([piece[-1]], LENGTH) for piece in pieces] == ["large"] * 5
    assert not memory.is_behind
    assert memory.source_of(pieces[0][:1], LENGTH) == "small"
    assert memory.source_of([7 << 32], LENGTH) == "small"


def test_few_results_wait() -> None:
    memory = TaintMemory()
    for number in range(20):
        memory.remember_later("tool", iter(([number << 33 | 1],)))

        assert len(memory._waiting) <= taint_memory._MOST_WAITING


def test_what_is_forgotten_for_a_result_that_waited_is_told_with_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("agentfence.core.taint_memory._FOREIGN_SIZES", (16,))
    memory = TaintMemory()

    told = [memory.remember_later("tool", iter(([hash(str(number)) for number in range(100)],)))]
    memory.catch_up()
    told += [memory.remember("tool", [1]), memory.remember("tool", [1])]

    assert told == [False, True, False]


def test_a_result_that_cannot_be_remembered_is_not_taken_for_none() -> None:
    def broken():
        yield [1]
        raise MemoryError

    memory = TaintMemory()
    memory.remember_later("tool", broken())

    with pytest.raises(MemoryError):
        memory.catch_up()
    assert memory.has_failed


def test_what_an_agent_that_is_forgotten_has_waiting_goes_too() -> None:
    memory = TaintMemory()
    memory.remember_later("tool", iter(([1],)))

    memory.forget()

    assert not memory.is_behind
    assert memory.source_of([1], LENGTH) is None
