"""Documents for property tests, made from the table that says what a policy may contain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from agentfence.core.policy.shapes import (
    AnyTable,
    Anything,
    Choice,
    Constant,
    Either,
    Flag,
    Keys,
    ListOf,
    Names,
    Number,
    Reserved,
    Text,
    Whole,
)

if TYPE_CHECKING:
    from agentfence.core.policy.shapes import Shape

TEXTS = st.sampled_from(
    ["a", "read_*", "a/b", "**", "[", "https://a.example/**", "file:///a", "x-own", "", "default", "é", "a\n"]
)
ODD = st.sampled_from(
    [None, True, 0, -1, 5, 2**60, "", "x", "allow", [], {}, [1], {"a": 1}, {"x-a": []}, [[]]]
)


def documents(shape: Shape, oddness: int = 1) -> st.SearchStrategy[object]:
    """Give documents that fit the shape, but for one value in five with `oddness` 1, none with 0."""
    made = _Documents(oddness)
    return made.of(shape)


class _Documents:
    def __init__(self, oddness: int) -> None:
        self._oddness = oddness
        self._known: dict[int, st.SearchStrategy[object]] = {}

    def of(self, shape: Shape) -> st.SearchStrategy[object]:
        if id(shape) not in self._known:
            fitting = self._fitting(shape)
            self._known[id(shape)] = st.one_of([fitting] * 4 + [ODD] * self._oddness)
        return self._known[id(shape)]

    def _fitting(self, shape: Shape) -> st.SearchStrategy[object]:
        match shape:
            case Choice(words):
                return st.sampled_from(words)
            case Constant(value):
                return st.just(value)
            case Flag():
                return st.booleans()
            case Whole(least):
                return st.integers(least, 20)
            case Number():
                return st.integers(0, 20) | st.just(0.5)
            case Text():
                return TEXTS
            case Anything() | Reserved():
                return ODD
            case AnyTable():
                return st.dictionaries(TEXTS, ODD, max_size=2)
            case ListOf(item):
                return st.lists(self.of(item), min_size=1, max_size=2)
            case Either(shapes):
                return st.one_of([self._fitting(one) for one in shapes])
            case Names(value):
                return st.dictionaries(TEXTS, self.of(value), max_size=2)
            case Keys():
                return self._mapping(shape)

    def _mapping(self, shape: Keys) -> st.SearchStrategy[object]:
        keys = {key: meant for key, meant in shape.keys.items() if not isinstance(meant.shape, Reserved)}
        required = {key: self.of(meant.shape) for key, meant in keys.items() if meant.is_required}
        optional = {key: self.of(meant.shape) for key, meant in keys.items() if not meant.is_required}
        if self._oddness:
            optional |= {"x-own": ODD, "unknown": ODD, "when": ODD}
        few = st.sets(st.sampled_from([*optional]), max_size=3) if optional else st.just(set())
        return few.flatmap(
            lambda chosen: st.fixed_dictionaries(required | {key: optional[key] for key in sorted(chosen)})
        )
