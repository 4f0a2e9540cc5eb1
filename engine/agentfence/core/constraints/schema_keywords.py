"""The JSON Schema keywords that must stand hostile values and hostile schemas: what they cost is counted.

The library's own use `re`, compare every pair of a list, write the value into every error, build a
validator for every member, and divide doubles. What it is left with is to go from schema to schema.
"""

from __future__ import annotations

from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from jsonschema import Draft202012Validator, ValidationError, validators
from referencing import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jsonschema.protocols import Validator

    from agentfence.core.constraints.interface import Json
    from agentfence.core.constraints.regexes import Regex

    type Errors = Iterator[ValidationError]
    type Keyword = Callable[[Validator, Any, Json, Mapping[str, Any]], Errors]


_WEIGHT_OF_A_STEP: Final = 1_250


_COSTS: Final[Mapping[str, tuple[int, int]]] = MappingProxyType(
    {"$ref": (7, 0), "not": (3, 0), "if": (2, 0), "anyOf": (1, 3), "oneOf": (1, 3), "enum": (1, 0)}
)
"""Steps of a keyword, and of each of its entries, where these are not 1 and 1."""


class TooManyStepsError(ValueError):
    """Looking at a value took more steps than it may."""


class Steps:
    """Counts steps down to none; each is about a microsecond."""

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
    regexes: Mapping[str, Regex],
    steps: Steps,
    targets: Mapping[str, Any],
) -> Validator:
    """Give the validator of a schema; `regexes` has all its expressions, `targets` all its references.

    A value that takes more `steps` than are left raises `TooManyStepsError`.
    """
    keywords = {**Draft202012Validator.VALIDATORS, **_Keywords(regexes, steps, targets).all()}
    counted = {name: _counted(name, keyword, steps) for name, keyword in keywords.items()}
    extended = validators.extend(Draft202012Validator, counted)  # type: ignore[no-untyped-call]  # the stubs leave it out
    return cast("Validator", extended(schema, registry=Registry()))


def _counted(name: str, keyword: Any, steps: Steps) -> Any:
    """Give the keyword, counting each time that a schema with it meets a value."""
    once, each = _COSTS.get(name, (1, 1))

    def count(validator: Any, wanted: Any, instance: Json, schema: Any) -> Errors:
        steps.take(once + each * len(wanted) if isinstance(wanted, dict | list) else once)
        yield from keyword(validator, wanted, instance, schema) or ()

    return count


# --- what a value is by itself -----------------------------------------------------------------


def _is_type(value: Json, name: str) -> bool:
    match value:
        case bool():
            return name == "boolean"
        case int():
            return name in ("integer", "number")
        case float():
            return name == "number" or (name == "integer" and value.is_integer())
        case str():
            return name == "string"
        case list():
            return name == "array"
        case dict():
            return name == "object"
        case _:
            return name == "null"


def _is_multiple(value: Json, factor: float) -> bool:
    """Go by what is written: in doubles 0.3 is no multiple of 0.1."""
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    return Decimal(str(value)) % Decimal(str(factor)) == 0


_NUMBER, _TEXT, _LIST, _OBJECT, _ANY = "number", "string", "array", "object", ""

_ASSERTIONS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = MappingProxyType(
    {
        "type": (
            _ANY,
            lambda value, names: any(
                _is_type(value, name) for name in ([names] if isinstance(names, str) else names)
            ),
        ),
        "minimum": (_NUMBER, lambda value, least: value >= least),
        "maximum": (_NUMBER, lambda value, most: value <= most),
        "exclusiveMinimum": (_NUMBER, lambda value, bound: value > bound),
        "exclusiveMaximum": (_NUMBER, lambda value, bound: value < bound),
        "multipleOf": (_NUMBER, _is_multiple),
        "minLength": (_TEXT, lambda text, least: len(text) >= least),
        "maxLength": (_TEXT, lambda text, most: len(text) <= most),
        "minItems": (_LIST, lambda items, least: len(items) >= least),
        "maxItems": (_LIST, lambda items, most: len(items) <= most),
        "minProperties": (_OBJECT, lambda members, least: len(members) >= least),
        "maxProperties": (_OBJECT, lambda members, most: len(members) <= most),
        "required": (_OBJECT, lambda members, names: all(name in members for name in names)),
        "dependentRequired": (
            _OBJECT,
            lambda members, table: all(
                name in members for key, names in table.items() if key in members for name in names
            ),
        ),
    }
)
"""For each keyword the type of values that it is about, and whether one holds."""


def _asserting(keyword: str, about: str, holds: Callable[[Any, Any], bool]) -> Keyword:
    def check(_validator: Validator, wanted: Any, instance: Json, _schema: Mapping[str, Any]) -> Errors:
        if (not about or _is_type(instance, about)) and not holds(instance, wanted):
            yield ValidationError(keyword)

    return check


# --- what is below a value, or said of it by other schemas --------------------------------------


class _Keywords:
    def __init__(self, regexes: Mapping[str, Regex], steps: Steps, targets: Mapping[str, Any]) -> None:
        self._regexes = regexes
        self._take = steps.take
        self._targets = targets
        self._frozen: dict[int, object] = {}

    def all(self) -> Mapping[str, Keyword]:
        """Give every keyword that is not the library's."""
        return {
            **{keyword: _asserting(keyword, *row) for keyword, row in _ASSERTIONS.items()},
            "const": self.const,
            "enum": self.enum,
            "uniqueItems": self.unique_items,
            "pattern": self.pattern,
            "patternProperties": self.pattern_properties,
            "additionalProperties": self.additional_properties,
            "propertyNames": self.property_names,
            "items": self.items,
            "contains": self.contains,
            "unevaluatedItems": self.unevaluated_items,
            "unevaluatedProperties": self.unevaluated_properties,
            "anyOf": _any_of,
            "oneOf": _one_of,
            "not": _not,
        }

    def const(self, _validator: Validator, wanted: Json, instance: Json, _schema: Any) -> Errors:
        if id(wanted) not in self._frozen:
            self._frozen[id(wanted)] = self._freeze(wanted)
        if self._freeze(instance) != self._frozen[id(wanted)]:
            yield ValidationError("const")

    def enum(self, _validator: Validator, wanted: list[Json], instance: Json, _schema: Any) -> Errors:
        if id(wanted) not in self._frozen:
            self._frozen[id(wanted)] = frozenset(map(self._freeze, wanted))
        if self._freeze(instance) not in cast("frozenset[object]", self._frozen[id(wanted)]):
            yield ValidationError("enum")

    def unique_items(self, _validator: Validator, wanted: bool, instance: Json, _schema: Any) -> Errors:  # noqa: FBT001 - the library's
        if wanted and isinstance(instance, list):
            self._take(len(instance) // 2)
            if len(set(map(self._freeze, instance))) < len(instance):
                yield ValidationError("uniqueItems")

    def pattern(self, _validator: Validator, expression: str, instance: Json, _schema: Any) -> Errors:
        if isinstance(instance, str) and not self._matches(expression, instance):
            yield ValidationError("pattern")

    def pattern_properties(
        self, validator: Validator, table: Mapping[str, Any], instance: Json, _schema: Any
    ) -> Errors:
        if isinstance(instance, dict):
            for expression, inner in table.items():
                names = [name for name in instance if self._matches(expression, name)]
                yield from self._descend(validator, inner, [(name, instance[name]) for name in names])

    def additional_properties(
        self, validator: Validator, inner: Any, instance: Json, schema: Mapping[str, Any]
    ) -> Errors:
        if not isinstance(instance, dict) or _holds_nothing(inner):
            return
        self._take(len(instance) // 8)
        known = schema.get("properties", ())
        expressions = schema.get("patternProperties", ())
        extra = [
            (name, value)
            for name, value in instance.items()
            if name not in known and not any(self._matches(expression, name) for expression in expressions)
        ]
        if inner is False and extra:
            yield ValidationError("additionalProperties", path=(extra[0][0],))
        else:
            yield from self._descend(validator, inner, extra)

    def property_names(self, validator: Validator, inner: Any, instance: Json, _schema: Any) -> Errors:
        if isinstance(instance, dict) and not _holds_nothing(inner):
            for error in self._descend(validator, inner, [(name, name) for name in instance]):
                error.path.clear()
                yield error

    def items(self, validator: Validator, inner: Any, instance: Json, schema: Mapping[str, Any]) -> Errors:
        if isinstance(instance, list) and not _holds_nothing(inner):
            beginning = len(schema.get("prefixItems", ()))
            yield from self._descend(validator, inner, [*enumerate(instance[beginning:], beginning)])

    def contains(self, validator: Validator, inner: Any, instance: Json, schema: Mapping[str, Any]) -> Errors:
        if isinstance(instance, list):
            count = len(self._containing(validator, inner, instance))
            if not schema.get("minContains", 1) <= count <= schema.get("maxContains", count):
                yield ValidationError("contains")

    def _containing(self, validator: Validator, inner: Any, instance: list[Json]) -> list[int]:
        self._take(len(instance))
        below = validator.evolve(schema=inner)
        return [index for index, element in enumerate(instance) if below.is_valid(element)]

    def unevaluated_items(
        self, validator: Validator, inner: Any, instance: Json, schema: Mapping[str, Any]
    ) -> Errors:
        if isinstance(instance, list):
            seen = self._evaluated(validator, instance, schema, is_inside=False)
            left = [(index, element) for index, element in enumerate(instance) if index not in seen]
            yield from self._descend(validator, inner, left)

    def unevaluated_properties(
        self, validator: Validator, inner: Any, instance: Json, schema: Mapping[str, Any]
    ) -> Errors:
        if isinstance(instance, dict):
            seen = self._evaluated(validator, instance, schema, is_inside=False)
            left = [(name, value) for name, value in instance.items() if name not in seen]
            if inner is False and left:
                yield ValidationError("unevaluatedProperties", path=(left[0][0],))
            else:
                yield from self._descend(validator, inner, left)

    def _evaluated(
        self,
        validator: Validator,
        instance: list[Json] | dict[str, Json],
        schema: Any,
        *,
        is_inside: bool = True,
    ) -> set[str | int]:
        """Give the members that a schema says something of, with those that are in force beside it."""
        if not isinstance(schema, dict):
            return set()
        self._take(1 + len(instance))
        whole = "items" if isinstance(instance, list) else "additionalProperties"
        rest = "unevaluatedItems" if isinstance(instance, list) else "unevaluatedProperties"
        if whole in schema or (is_inside and rest in schema):
            return set(range(len(instance)) if isinstance(instance, list) else instance)
        seen: set[str | int] = set()
        if isinstance(instance, list):
            seen.update(range(len(schema.get("prefixItems", ()))))
            if "contains" in schema:
                seen.update(self._containing(validator, schema["contains"], instance))
        else:
            seen.update(schema.get("properties", {}).keys() & instance.keys())
            for expression in schema.get("patternProperties", ()):
                seen.update(name for name in instance if self._matches(expression, name))
        for beside in self._beside(validator, instance, schema):
            seen |= self._evaluated(validator, instance, beside)
        return seen

    def _beside(self, validator: Validator, instance: Json, schema: Mapping[str, Any]) -> Iterator[Any]:
        """Give the schemas that hold for the value where this one does."""
        if "$ref" in schema:
            yield self._targets[schema["$ref"]]
        yield from schema.get("allOf", ())
        for keyword in ("anyOf", "oneOf"):
            yield from (one for one in schema.get(keyword, ()) if _fits(validator, one, instance))
        if "if" in schema:
            fits = _fits(validator, schema["if"], instance)
            yield from (schema["if"], schema.get("then")) if fits else (schema.get("else"),)
        if isinstance(instance, dict):
            yield from (one for name, one in schema.get("dependentSchemas", {}).items() if name in instance)

    def _matches(self, expression: str, text: str) -> bool:
        regex = self._regexes[expression]
        self._take(1 + len(text) * regex.weight // _WEIGHT_OF_A_STEP)
        return regex.matches(text)

    def _descend(self, validator: Validator, inner: Any, members: Sequence[tuple[str | int, Json]]) -> Errors:
        """Give what is wrong in members that share a schema; the library's way makes a validator for each."""
        if _holds_nothing(inner):
            return
        self._take(len(members) // 4)
        below = validator.evolve(schema=inner)
        for step, member in members:
            for error in below.iter_errors(member):
                error.path.appendleft(step)
                yield error

    def _freeze(self, value: Json) -> object:
        return freeze(value, self._take)


def freeze(value: Json, take: Callable[[int], None]) -> object:
    """Give something hashable that is equal exactly for equal JSON; `take` is told of its size.

    Numbers as text: Python's hashes of numbers are known, and many can be written that have the same.
    """
    match value:
        case bool() | None:
            return value
        case str():
            return ("text", value)
        case list():
            take(1 + len(value) // 2)
            return ("array", *(freeze(element, take) for element in value))
        case dict():
            take(1 + len(value))
            return frozenset((key, freeze(member, take)) for key, member in value.items())
        case float() if not value.is_integer():
            return repr(value)
        case _:
            return str(int(value))


def _holds_nothing(schema: Any) -> bool:
    return schema is True or (isinstance(schema, dict) and schema.keys().isdisjoint(_HOLDING))


_HOLDING: Final = Draft202012Validator.VALIDATORS.keys()


def _fits(validator: Validator, schema: Any, instance: Json) -> bool:
    return next(validator.descend(instance, schema), None) is None  # type: ignore[attr-defined]  # not in the protocol


def _any_of(validator: Validator, schemas: list[Any], instance: Json, _schema: Any) -> Errors:
    if not any(_fits(validator, one, instance) for one in schemas):
        yield ValidationError("anyOf")


def _one_of(validator: Validator, schemas: list[Any], instance: Json, _schema: Any) -> Errors:
    fitting = (one for one in schemas if _fits(validator, one, instance))
    if next(fitting, _NONE) is _NONE or next(fitting, _NONE) is not _NONE:
        yield ValidationError("oneOf")


def _not(validator: Validator, inner: Any, instance: Json, _schema: Any) -> Errors:
    if _fits(validator, inner, instance):
        yield ValidationError("not")


_NONE: Final = object()
