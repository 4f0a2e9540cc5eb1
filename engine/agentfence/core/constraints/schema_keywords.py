"""The JSON Schema keywords that must stand hostile values, in linear time and with a small factor.

The library's own use `re`, compare every pair of a list, build a validator for every member, and divide
doubles.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jsonschema.protocols import Validator

    from agentfence.core.constraints.interface import Json

    type Errors = Iterator[ValidationError]


class TooManyStepsError(ValueError):
    """Looking at a value took more steps than it may."""


class Steps:
    """Counts steps down to none."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.begin(most)

    def begin(self, most: int) -> None:
        """Begin to count anew."""
        self.left = most

    def take(self, count: int = 1) -> None:
        """Take some steps.

        Raises:
            TooManyStepsError: So many are not left.

        """
        self.left -= count
        if self.left < 0:
            raise TooManyStepsError


def make_validator(
    schema: Mapping[str, Any],
    regexes: Mapping[str, Callable[[str], bool]],
    steps: Steps,
) -> Validator:
    """Give the validator of a schema; `regexes` has all its expressions, and nothing is ever fetched.

    A value that takes more `steps` than are left raises `TooManyStepsError`.
    """
    own = _Keywords(regexes)
    keywords: dict[str, Any] = {
        "pattern": own.pattern,
        "patternProperties": own.pattern_properties,
        "additionalProperties": own.additional_properties,
        "items": _items,
        "multipleOf": _multiple_of,
        "uniqueItems": _unique_items,
    }
    all_keywords = {**Draft202012Validator.VALIDATORS, **keywords}
    keywords = {name: _counted(keyword, steps) for name, keyword in all_keywords.items()}
    extended = validators.extend(Draft202012Validator, keywords)  # type: ignore[no-untyped-call]  # the stubs leave it out
    return cast("Validator", extended(schema, registry=Registry()))


def _counted(keyword: Any, steps: Steps) -> Any:
    """Give the keyword, counting each time that a schema with it meets a value."""

    def count(validator: Any, wanted: Any, instance: Json, schema: Any) -> Errors:
        steps.take(1 + len(wanted) if isinstance(wanted, dict | list) else 1)
        yield from keyword(validator, wanted, instance, schema) or ()

    return count


class _Keywords:
    def __init__(self, regexes: Mapping[str, Callable[[str], bool]]) -> None:
        self._regexes = regexes

    def pattern(self, _validator: Any, expression: str, instance: Json, _schema: Any) -> Errors:
        if isinstance(instance, str) and not self._regexes[expression](instance):
            yield ValidationError("pattern")

    def pattern_properties(
        self, validator: Any, table: Mapping[str, Any], instance: Json, _schema: Any
    ) -> Errors:
        if isinstance(instance, dict):
            for expression, inner in table.items():
                names = filter(self._regexes[expression], instance)
                yield from _descend(validator, inner, ((name, instance[name]) for name in names))

    def additional_properties(
        self, validator: Any, inner: Any, instance: Json, schema: Mapping[str, Any]
    ) -> Errors:
        if not isinstance(instance, dict):
            return
        known = schema.get("properties", ())
        matchers = [self._regexes[expression] for expression in schema.get("patternProperties", ())]
        extra = [
            (name, value)
            for name, value in instance.items()
            if name not in known and not any(matches(name) for matches in matchers)
        ]
        if inner is False and extra:
            yield ValidationError("additionalProperties", path=(extra[0][0],))
        else:
            yield from _descend(validator, inner, extra)


def _items(validator: Any, inner: Any, instance: Json, schema: Mapping[str, Any]) -> Errors:
    if isinstance(instance, list):
        beginning = len(schema.get("prefixItems", ()))
        yield from _descend(validator, inner, enumerate(instance[beginning:], beginning))


def _descend(validator: Any, inner: Any, members: Iterable[tuple[str | int, Json]]) -> Errors:
    """Give what is wrong in members that share a schema; the library's way makes a validator for each."""
    below = validator.evolve(schema=inner)
    for step, member in members:
        for error in below.iter_errors(member):
            error.path.appendleft(step)
            yield error


def _multiple_of(_validator: Any, factor: float, instance: Json, _schema: Any) -> Errors:
    """Go by what is written: in doubles 0.3 is no multiple of 0.1."""
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    if isinstance(instance, int) and isinstance(factor, int):
        rest: int | Decimal = instance % factor
    else:
        rest = Decimal(str(instance)) % Decimal(str(factor))
    if rest:
        yield ValidationError("multipleOf")


def _unique_items(_validator: Any, wanted: Any, instance: Json, _schema: Any) -> Errors:
    if wanted and isinstance(instance, list) and len(set(map(_freeze, instance))) < len(instance):
        yield ValidationError("uniqueItems")


def _freeze(value: Json) -> object:
    """Give something hashable that is equal exactly for equal JSON."""
    match value:
        case bool():
            return ("boolean", value)
        case list():
            return ("array", *map(_freeze, value))
        case dict():
            return frozenset((key, _freeze(member)) for key, member in value.items())
        case _:
            return value
