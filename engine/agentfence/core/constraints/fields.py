r"""Selectors: which arguments a constraint reads, and what it finds there.

    a         the argument `a`
    a.b       `b` in the object `a`, and the argument that is really named `a.b`
    "a.b"     only the argument named `a.b`
    a[*].b    `b` in each element of the list `a`
    **        every string at any depth

Servers are lenient in what they take, so selectors are:

- A list stands for its elements wherever it comes, also without `[*]`; and where `[*]` meets no
  list, the value itself is taken. A server that accepts "one or many" cannot be played.
- An object on the way to a field also stands for its members that are named by numbers: PHP, qs and
  Lua have one kind of thing for lists and objects, and read `{"0": {"path": x}}` as a list.
- Where the way to a field leads through something that is neither object nor list, that thing is
  found instead, marked as misplaced: FastMCP, for one, would parse a string there as JSON.
- A key that some parser takes for a constrained one (`Path`, `\uff50ath`, `path\0x`, `path[]`,
  `path.0`, `filePath` for `file_path`) is a twin, and a call with a twin is refused. Go and .NET bind
  keys case-blind, C stops at NUL, the JSON of Protocol Buffers and models of pydantic have two names
  for one field, and where a server passes its arguments on as a query or a form, PHP, Rails and qs
  read the index forms as lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from agentfence.core.constraints.folding import fold_name
from agentfence.core.constraints.interface import Failure, SpecError
from agentfence.core.late_regex import late_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

    from agentfence.core.constraints.interface import Arguments, Json

_MOST_NAMED: Final = 5
"""Fields that one reason names."""
EVERYTHING = "**"
"""The selector of every string at any depth."""

_MOST_NAMES = 8  # a dotted text of n names has 2^(n-1) readings
_STEP = late_regex(
    r'(?P<name>"(?:[^"\\]|\\.)+"|[^."\[\]*\s][^."\[\]*]*)(?P<stars>(?:\[\*\])*)(?:\.(?=.)|\Z)', re.DOTALL
)
_REMEMBERED_KEYS, _LONGEST_REMEMBERED = 1024, 64
_MOST_FOLDED = 1 << 18
"""Letters, in keys of other scripts than ASCII, in one call; more than that has no tool."""
_INDEX = late_regex(r"\[[^\[\]]*\]|\.[0-9]+(?=\.|\Z)")


class Found(NamedTuple):
    """A value that a selector led to."""

    path: str
    """The selector, with an index for each list it went through, as `files[2].path`."""
    value: Json
    misplaced: bool = False
    """True when the value stands where an object should be."""


class FoundText(NamedTuple):
    """A text that a constraint has to judge."""

    path: str
    text: str


@frozen
class Selector:
    """One parsed entry of `fields`."""

    text: str
    """As written in the policy."""
    readings: tuple[tuple[str, ...], ...]
    """The keys to follow, in every way to read the dots; empty for `**`."""
    plain: str | None = None
    """The argument's name where the selector is no more than one."""

    @property
    def top_level(self) -> str:
        """The argument that the selector begins at; `**` for all."""
        return self.readings[0][0] if self.readings else EVERYTHING

    @property
    def top_levels(self) -> tuple[str, ...]:
        """Every argument that some reading begins at; `**` for all."""
        return tuple(dict.fromkeys(keys[0] for keys in self.readings)) or (EVERYTHING,)

    def select(self, arguments: Arguments) -> list[Found]:
        """Give every value found; null and absent ones are none, lists are given as their elements.

        Null as an element is found: it is no text, and what a server makes of it is its own.
        """
        if not self.readings:
            return [Found(EVERYTHING, value) for value in _leaves(arguments)]
        found: list[Found] = []
        for keys in self.readings:
            value = arguments.get(keys[0])
            if value is not None:
                _follow(value, keys, self.text, found)
        return found

    def select_whole(self, arguments: Arguments) -> list[Found]:
        """Give every value found, with the lists that the selector ends at left whole."""
        if self.plain is not None and self.plain == self.text:  # by far the usual case
            value = arguments.get(self.plain)
            return [] if value is None else [Found(self.text, value)]
        if not self.readings or self.text.endswith("[*]"):
            return self.select(arguments)
        found: list[Found] = []
        for keys in self.readings:
            value = arguments.get(keys[0])
            if value is not None:
                _follow(value, keys, self.text, found, whole=True)
        return found


class Selectors(Sequence[Selector]):
    """The selectors of one constraint, and the twins of all their keys."""

    __slots__ = ("_names", "all", "top_levels")

    def __init__(self, selectors: Iterable[Selector]) -> None:
        self.all = tuple(selectors)
        """The same as a tuple, which is quicker to go through."""
        self._names = _Names([keys for selector in self for keys in selector.readings])
        self.top_levels: tuple[str, ...] = tuple(
            dict.fromkeys(name for selector in self for name in selector.top_levels)
        )
        """The argument names that these selectors read; `**` for all."""

    @overload
    def __getitem__(self, index: int) -> Selector: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Selector, ...]: ...
    def __getitem__(self, index: int | slice) -> Selector | tuple[Selector, ...]:
        return self.all[index]

    def __iter__(self) -> Iterator[Selector]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def find_twin(self, arguments: Arguments) -> str | None:
        """Give the constrained key that some key in the arguments could be taken for."""
        return self._names.find_twin(arguments)


def parse_selector(text: str) -> Selector:
    """Give the selector that a text of the policy means.

    Raises:
        ValueError: the text is no selector; the message says what one is.

    """
    if text == EVERYTHING:
        return Selector(text, ())
    names: list[str] = []
    joints: list[bool] = []  # whether a name may be one key with the next
    position = 0
    while position < len(text) or not names:
        step = _STEP.match(text, position)
        if step is None or len(names) == _MOST_NAMES:
            raise ValueError(f'expected a field like `a`, `a.b`, `a[*].b`, `"a.b"` or `**`, got `{text}`')
        name = step["name"]
        quoted = name.startswith('"')
        names.append(json.loads(name, strict=False) if quoted else name)
        if quoted and joints:
            joints[-1] = False
        joints.append(not quoted and not step["stars"])
        position = step.end()
    return Selector(text, tuple(_readings(names, joints)), names[0] if len(names) == 1 else None)


def literal_selector(name: str) -> Selector:
    """Give the selector of the argument with exactly this name, as the Go AgentFence has them."""
    return Selector(name, ((name,),), name)


def parse_selectors(texts: Iterable[str]) -> Selectors:
    """Give the selectors of several texts.

    Raises:
        ValueError: one of the texts is no selector.

    """
    return Selectors(parse_selector(text) for text in texts)


def build_fields(spec: Mapping[str, Any], default: Sequence[str], key: str = "fields") -> Selectors:
    """Give the selectors under `key` in a constraint's block, or those of the default names.

    Raises:
        SpecError: there is no entry, or one is no selector.

    """
    texts = spec.get(key, default)
    if not texts:
        raise SpecError((key,), f"`{key}` is empty, expected at least one field")
    selectors: list[Selector] = []
    for index, text in enumerate(texts):
        try:
            selectors.append(parse_selector(text))
        except ValueError as error:
            raise SpecError((key, index), str(error)) from None
    return Selectors(selectors)


def has_twin(arguments: Arguments, selectors: Selectors) -> str | None:
    """Give the constrained key that has a twin in the arguments; None when there is none."""
    return selectors.find_twin(arguments)


def collect_text(selectors: Selectors, arguments: Arguments, missing_code: str) -> list[FoundText] | Failure:
    """Give every text that the selectors find; a failure when there is none, or something else is there.

    Empty texts are given too: only the constraint knows what they mean.
    """
    twin = selectors.find_twin(arguments)
    if twin is not None:
        return twin_failure(twin, missing_code)
    texts: list[FoundText] = []
    for selector in selectors.all:
        if selector.plain is not None and isinstance(value := arguments.get(selector.plain), str):
            texts.append(FoundText(selector.text, value))  # by far the usual case
            continue
        for found in selector.select(arguments):
            if isinstance(found.value, str) and not found.misplaced:
                texts.append(FoundText(found.path, found.value))
            else:
                reason = f"argument `{found.path}` is not a text or a list of texts"
                return Failure(missing_code, reason, selector.text)
    if not texts:
        names = " or ".join(f"`{selector.text}`" for selector in selectors)
        return Failure(missing_code, f"missing required argument {names}", selectors[0].text)
    return texts


def uncovered(code: str, fields: Collection[str], reason: str) -> Failure | None:
    """Give the failure of a call in which nothing is forbidden, but these fields lack an allowance.

    All are named: who lets a call pass for one of them did not say so of another. `reason` completes
    `argument … is`.
    """
    if not fields:
        return None
    names = list(dict.fromkeys(fields))
    shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
    text = f"argument {shown} is {reason}" if len(names) == 1 else f"arguments {shown}{more} are {reason}"
    return Failure(code, text, names[0], allow_list=True)


def twin_failure(name: str, code: str) -> Failure:
    """Give the failure of a call that holds a twin of the key `name`."""
    return Failure(code, f"another spelling of argument `{name}` is present, and servers may read it", name)


def text_readings(text: str) -> tuple[str, ...]:
    """Give what servers may read in a text: itself and, when it is a JSON list, each text in that list.

    FastMCP parses a string as JSON where the tool's parameter is not a plain string, so that
    `["/etc/passwd"]` is one odd relative path to us and `/etc/passwd` to the tool.
    """
    if "[" not in text or not text.lstrip().startswith("["):
        return (text,)
    try:
        elements = json.loads(text)
    except (ValueError, RecursionError):
        return (text,)
    return (text, *_leaves(elements))


def _readings(names: Sequence[str], joints: Sequence[bool]) -> Iterator[tuple[str, ...]]:
    """Give each way to read the names as keys, the nested one first."""
    if not names:
        yield ()
        return
    for count in range(1, len(names) + 1):
        if count > 1 and not joints[count - 2]:
            return
        for rest in _readings(names[count:], joints[count:]):
            yield (".".join(names[:count]), *rest)


_TEXT: Final = {str}


def _follow(
    value: Json, keys: tuple[str, ...], path: str, found: list[Found], *, whole: bool = False
) -> None:
    """Add what lies behind `keys[1:]` in a value that is not null, in order and without recursion."""
    waiting: list[tuple[Json, int, str]] = [(value, 1, path)]
    while waiting:
        value, depth, path = waiting.pop()
        is_end = depth == len(keys)
        match value:
            case None:
                pass
            case list() if is_end and not whole and set(map(type, value)) == _TEXT:  # by far the usual list
                found += [Found(f"{path}[{index}]", text) for index, text in enumerate(value)]
            case list() if not (whole and is_end):
                elements = [(element, depth, f"{path}[{index}]") for index, element in enumerate(value)]
                waiting += reversed(elements)
                found += (Found(where, None) for element, _, where in elements if element is None)
            case dict() if not is_end:
                members = [(value[key], depth, f"{path}[{key}]") for key in _indexes_of(value)]
                waiting += reversed(members)
                waiting.append((value.get(keys[depth]), depth + 1, path))
            case _:
                found.append(Found(path, value, misplaced=not is_end))


def _indexes_of(value: Mapping[str, Json]) -> list[str]:
    """Give the keys of an object that would be places in a list of objects."""
    return [key for key in value if key.isdecimal() and isinstance(value[key], dict | list)]


def _leaves(value: Json | Arguments) -> Iterator[str]:
    waiting: list[Json | Arguments] = [value]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case list(elements):
                waiting.extend(reversed(elements))
            case dict(members):
                waiting.extend(reversed(members.values()))
            case _:
                pass


class _Names:
    """The constrained keys of one level of objects, and below each those of the next."""

    __slots__ = ("below", "folded", "harmless", "is_deep")

    def __init__(self, paths: Collection[tuple[str, ...]]) -> None:
        names: dict[str, list[tuple[str, ...]]] = {}
        for keys in paths:
            names.setdefault(keys[0], []).append(keys[1:])
        self.below = {name: _Names([*filter(None, below)]) for name, below in names.items()}
        joined = dict.fromkeys(".".join(keys) for keys in paths)
        self.folded = {_fold_key(name): name for name in (*joined, *names)}
        self.is_deep = any(level.folded for level in self.below.values())
        self.harmless = set(self.below)

    def find_twin(self, arguments: Arguments) -> str | None:
        if not self.folded or (not self.is_deep and arguments.keys() <= self.harmless):
            return None
        letters_left = _MOST_FOLDED
        waiting: list[tuple[_Names, Json | Arguments]] = [(self, arguments)]
        while waiting:
            names, value = waiting.pop()
            if isinstance(value, list):
                waiting.extend((names, element) for element in value)
            elif isinstance(value, Mapping):
                if value is not arguments:
                    waiting.extend((names, value[key]) for key in _indexes_of(value))
                for key, member in value.items():
                    if not key.isascii() and (letters_left := letters_left - len(key)) < 0:
                        return next(iter(names.folded.values()))
                    if (twin := names.twin_of(key)) is not None:
                        return twin
                    if (level := names.below.get(key)) is not None and level.folded:
                        waiting.append((level, member))
        return None

    def twin_of(self, key: str) -> str | None:
        if key in self.harmless:
            return None
        twin = self.folded.get(_fold_key(key))
        # The agent chooses keys, so what is remembered of them stays small.
        if twin is None and len(key) <= _LONGEST_REMEMBERED and len(self.harmless) < _REMEMBERED_KEYS:
            self.harmless.add(key)
        return twin


def _fold_key(key: str) -> str:
    if not (key.isascii() and key.isidentifier()):
        key = fold_name(_INDEX.sub("", key.partition("\0")[0]))
    return key[:1].lower() + key[1:].lower().replace("_", "")  # `_id` and `id` are two
