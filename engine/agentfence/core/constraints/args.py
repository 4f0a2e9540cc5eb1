"""Single arguments: presence, type, value, range, patterns.

- A listed field must be there unless `required: false`; null is the same as absent.
- `type`, `equals` and `in` compare as JSON does, the whole value at once: `5` is not `"5"`, `true` is
  not `1`, a list is not its element (write `tags[*]` for the elements).
- `allow`, `deny`, `regex` and `max_length` read numbers and booleans as text, as the Go AgentFence
  did, so that `5` and `"5"` match alike; `min` and `max` take numbers only. In a list every element
  counts; an object is none of these.
- `allow` is strict: `*` stays within what `/` parts, letters are themselves. `deny` is generous: `*`
  crosses everything, case and Unicode's spellings do not matter, nor do blanks around the text, what
  stands behind a NUL, or a list that is written as JSON text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentfence.core.constraints.effort import TOO_MUCH
from agentfence.core.constraints.fields import (
    Selectors,
    literal_selector,
    parse_selector,
    text_readings,
    twin_failure,
    uncovered,
)
from agentfence.core.constraints.globs import GlobSet, compile_glob, compile_globs
from agentfence.core.constraints.interface import Failure, SpecError
from agentfence.core.constraints.original_globs import original_spellings, original_value
from agentfence.core.constraints.regexes import compile_regex
from agentfence.core.values import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agentfence.core.constraints.fields import Found, Selector
    from agentfence.core.constraints.interface import Arguments, BuildContext, Circumstances, Json

_LARGEST_BITS = 4096
"""Integers beyond have no text that Python would make; JSON tokens of 256 digits stay far below."""
_LONGEST_FOR_REGEX = 1 << 20
_COST_OF_ELEMENT = 4
"""Microseconds."""
_LETTERS_COMPARED, _LETTERS_FOLDED = 256, 32
"""In a microsecond; what is not ASCII alone takes longer to fold."""
_READ_ELEMENTS = ("allow", "deny", "regex", "min", "max", "max_length")

type _Problem = tuple[str, str] | None
"""A reason code and what completes `argument … `."""


@frozen
class _Field:
    """What one field may hold."""

    selector: Selector
    required: bool
    type: str | None
    equals: tuple[Json, ...]
    """The one value that passes; empty for any."""
    listed: tuple[Json, ...]
    """The values of `in`; empty for any."""
    deny: GlobSet | None
    allow: GlobSet | None
    regex: Callable[[str], bool] | None
    minimum: float | None
    maximum: float | None
    max_length: int | None
    reads_elements: bool
    original: bool

    def find_violation(self, value: Json, circumstances: Circumstances) -> _Problem:
        """Give what is wrong with a value, allow lists apart."""
        if self.type is not None and not _has_type(value, self.type):
            return "arg_not_allowed", f"is not of type `{self.type}`"
        if self.equals and not _are_equal(value, self.equals[0]):
            return "arg_not_allowed", "is not the one allowed value"
        if not self.reads_elements:
            return None
        elements = _elements(value)
        if not elements and self.required:
            return "arg_missing", "holds nothing"
        for element in elements:
            problem = self._find_violation_in(element, circumstances)
            if problem is not None:
                return problem
        return None

    def is_listed(self, value: Json) -> bool:
        """Whether the allow lists cover a value without violations."""
        if self.listed and not any(_are_equal(value, listed) for listed in self.listed):
            return False
        if self.allow is None:
            return True
        return all(self.allow.find(self._spell(element)) is not None for element in _elements(value))

    def _spell(self, element: Json) -> str:
        text = _spell(element)
        return original_value(text) if self.original else text

    def _find_violation_in(self, element: Json, circumstances: Circumstances) -> _Problem:
        if isinstance(element, dict) or (isinstance(element, int) and element.bit_length() > _LARGEST_BITS):
            return "arg_not_allowed", "is an object or a huge number, which no limit covers"
        text = self._spell(element)
        if not circumstances.affords(_cost_of(text)):
            return "arg_not_allowed", TOO_MUCH
        if self.deny is not None:
            for reading in _readings(text):
                if reading is not text and not circumstances.affords(_cost_of(reading)):
                    return "arg_not_allowed", TOO_MUCH
                pattern = self.deny.find(reading)
                if pattern is not None:
                    return "arg_denied", f"is denied by pattern `{pattern}`"
        return self._find_breach(element, text)

    def _find_breach(self, element: Json, text: str) -> _Problem:
        if self.max_length is not None and len(text) > self.max_length:
            return "arg_not_allowed", f"is longer than {self.max_length} characters"
        if self.regex is not None and not (len(text) <= _LONGEST_FOR_REGEX and self.regex(text)):
            return "arg_not_allowed", "does not match the expression for it"
        if self.minimum is None and self.maximum is None:
            return None
        if isinstance(element, bool) or not isinstance(element, int | float):
            return "arg_not_allowed", "is not a number"
        if self.minimum is not None and not element >= self.minimum:
            return "arg_not_allowed", f"is less than {self.minimum}"
        if self.maximum is not None and not element <= self.maximum:
            return "arg_not_allowed", f"is more than {self.maximum}"
        return None


class Args:
    """One `args` block."""

    __slots__ = ("_fields", "_selectors")

    kind = "args"

    def __init__(self, fields: Sequence[_Field]) -> None:
        self._fields = tuple(fields)
        self._selectors = Selectors(field.selector for field in fields)

    def constrained_fields(self) -> tuple[str, ...]:
        """Give the top-level names that the block reads."""
        return self._selectors.top_levels

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first field that is missing or holds what it may not, allow lists last."""
        twin = self._selectors.find_twin(arguments)
        if twin is not None:
            return twin_failure(twin, "arg_missing")
        unlisted: list[str] = []
        for field in self._fields:
            found = field.selector.select_whole(arguments)
            if not found and field.required:
                name = field.selector.text
                return Failure("arg_missing", f"missing required argument `{name}`", name)
            for item in found:
                problem = _misplaced(item) or field.find_violation(item.value, circumstances)
                if problem is not None:
                    return Failure(problem[0], f"argument `{item.path}` {problem[1]}", field.selector.text)
                if not field.is_listed(item.value):
                    unlisted.append(item.path)
        return uncovered("arg_not_allowed", unlisted, "not in the allowed values")


def build(spec: Mapping[str, Any], context: BuildContext) -> Args:
    """Give the constraint of an `args` block, whose keys are fields.

    Raises:
        SpecError: a field, pattern or expression cannot be used, or no value could ever pass.

    """
    names = sorted(spec) if context.original else spec
    return Args([_build_field(name, spec[name], context) for name in names])


def _build_field(name: str, limits: Mapping[str, Any], context: BuildContext) -> _Field:
    minimum, maximum = limits.get("min"), limits.get("max")
    if minimum is not None and maximum is not None and not minimum <= maximum:
        raise SpecError((name, "max"), f"`max` {maximum} is not at least `min` {minimum}, so no value passes")
    return _Field(
        selector=_build_selector(name, context),
        required=limits.get("required", True),
        type=limits.get("type"),
        equals=(limits["equals"],) if "equals" in limits else (),
        listed=tuple(limits.get("in") or ()),
        deny=_build_patterns(name, "deny", limits, context),
        allow=_build_patterns(name, "allow", limits, context),
        regex=_build_regex(name, limits),
        minimum=minimum,
        maximum=maximum,
        max_length=limits.get("max_length"),
        reads_elements=not limits.keys().isdisjoint(_READ_ELEMENTS),
        original=context.original,
    )


def _build_selector(name: str, context: BuildContext) -> Selector:
    if context.original:  # there a dot is a letter
        return literal_selector(name)
    try:
        return parse_selector(name)
    except ValueError as error:
        raise SpecError((name,), str(error)) from None


def _build_patterns(name: str, key: str, limits: Mapping[str, Any], context: BuildContext) -> GlobSet | None:
    entries: list[tuple[str, str]] = []
    for index, text in enumerate(limits.get(key) or ()):
        try:
            for pattern in original_spellings(text) if context.original else (text,):
                compile_glob(pattern)
                entries.append((text, pattern))
        except ValueError as error:
            raise SpecError((name, key, index), str(error)) from None
    if not entries:
        return None
    return compile_globs(entries, separator=None, fold=True) if key == "deny" else compile_globs(entries)


def _build_regex(name: str, limits: Mapping[str, Any]) -> Callable[[str], bool] | None:
    if "regex" not in limits:
        return None
    try:
        return compile_regex(limits["regex"], whole=True)
    except ValueError as error:
        raise SpecError((name, "regex"), str(error)) from None


def _misplaced(found: Found) -> _Problem:
    return ("arg_missing", "stands where an object should be") if found.misplaced else None


def _has_type(value: Json, name: str) -> bool:
    match value:
        case bool():
            return name == "boolean"
        case int():
            return name in ("integer", "number")
        case float():
            return name == "number"
        case str():
            return name == "string"
        case list():
            return name == "array"
        case _:
            return name == "object"


def _are_equal(value: Json, expected: Json) -> bool:
    """Whether two values are the same JSON; numbers by value, and never a boolean."""
    match expected:
        case bool() | None:
            return value is expected
        case int() | float():
            return isinstance(value, int | float) and not isinstance(value, bool) and value == expected
        case str():
            return isinstance(value, str) and value == expected
        case list():
            return (
                isinstance(value, list)
                and len(value) == len(expected)
                and all(map(_are_equal, value, expected))
            )
        case _:
            return (
                isinstance(value, dict)
                and value.keys() == expected.keys()
                and all(_are_equal(value[key], member) for key, member in expected.items())
            )


def _elements(value: Json) -> list[Json]:
    if not isinstance(value, list):
        return [value]
    elements: list[Json] = []
    waiting: list[Json] = [value]
    while waiting:
        element = waiting.pop()
        if isinstance(element, list):
            waiting.extend(reversed(element))
        elif element is not None:
            elements.append(element)
    return elements


def _spell(element: Json) -> str:
    """Give a scalar as text: a whole number without a point, as most servers would print it."""
    match element:
        case str():
            return element
        case bool():
            return "true" if element else "false"
        case float() if element.is_integer() and abs(element) < 1e21:
            return str(int(element))
        case _:
            return str(element)


def _cost_of(text: str) -> int:
    letters = _LETTERS_COMPARED if text.isascii() else _LETTERS_FOLDED
    if "[" not in text or not text.lstrip().startswith("["):
        return _COST_OF_ELEMENT + len(text) // letters
    return _COST_OF_ELEMENT + len(text) // letters + text.count(",") // 2  # it may be read as a list


def _readings(text: str) -> tuple[str, ...]:
    """Give what a server may take a text for: itself, trimmed, up to a NUL, or the list that it spells."""
    trimmed = text.partition("\0")[0].strip()
    readings = text_readings(text)
    return readings if trimmed == text else (*readings, trimmed)
