"""Agents share the room for what they remember, and whoever takes the most loses first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentfence.core.taint_pool import _MOST_BEHIND, TaintPool

if TYPE_CHECKING:
    from agentfence.core.taint_memory import TaintMemory

LENGTH = 12
FIRST_TABLE = 1 << 12


def knows(memory: TaintMemory, shingle: int) -> bool:
    return memory.source_of([shingle], LENGTH) is not None


def test_the_memory_that_did_not_grow_for_longest_is_forgotten() -> None:
    pool = TaintPool(2 * FIRST_TABLE)
    first, second, third = (pool.memory_for("ann") for _ in range(3))
    for memory in (first, second, third):
        memory.remember("web/fetch", [7])

    assert [knows(memory, 7) for memory in (first, second, third)] == [False, True, True]
    assert first.is_empty


def test_whoever_comes_under_many_names_pushes_out_its_own() -> None:
    pool = TaintPool(4 * FIRST_TABLE)
    quiet = pool.memory_for("ann")
    quiet.remember("web/fetch", [7])
    loud = [pool.memory_for("eve") for _ in range(20)]
    for memory in loud:
        memory.remember("web/fetch", [8])

    assert knows(quiet, 7)
    assert [knows(memory, 8) for memory in loud] == [False] * 17 + [True] * 3


def test_own_words_count_and_are_forgotten_too() -> None:
    pool = TaintPool(3 * FIRST_TABLE)
    first, second = pool.memory_for("ann"), pool.memory_for("ann")
    first.own([9])
    first.remember("web/fetch", [7])
    second.own([9])
    second.remember("web/fetch", [7])

    assert first.places == 0
    assert knows(second, 7)


def test_a_memory_that_was_pushed_out_tells_so_once() -> None:
    pool = TaintPool(FIRST_TABLE)
    first, second = pool.memory_for("ann"), pool.memory_for("bob")

    assert not first.remember("web/fetch", [7])
    assert not second.remember("web/fetch", [7])
    assert first.remember("web/fetch", [7])
    assert not first.remember("web/fetch", [8])


def test_one_memory_that_is_larger_than_all_the_room_is_forgotten() -> None:
    memory = TaintPool(FIRST_TABLE - 1).memory_for("ann")
    memory.remember("web/fetch", [7])

    assert memory.is_empty


def test_a_memory_that_nobody_holds_takes_no_room() -> None:
    pool = TaintPool(FIRST_TABLE)
    pool.memory_for("ann").remember("web/fetch", [7])
    second = pool.memory_for("ann")
    second.remember("web/fetch", [7])

    assert knows(second, 7)


def test_few_agents_have_results_waiting() -> None:
    pool = TaintPool()
    memories = [pool.memory_for(f"agent {number}") for number in range(3 * _MOST_BEHIND)]
    for memory in memories:
        memory.remember_later("tool", iter(([7],)))

    assert [memory.is_behind for memory in memories] == [True] * _MOST_BEHIND + [False] * 2 * _MOST_BEHIND

    memories[0].catch_up()
    memories[-1].remember_later("tool", iter(([7],)))

    assert memories[-1].is_behind
