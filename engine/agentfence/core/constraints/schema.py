"""All arguments against a JSON Schema, draft 2020-12.

- `$ref` leads within the schema only; nothing is ever fetched.
- `pattern` and `patternProperties` are RE2, `uniqueItems` takes time in proportion: the values come
  from the agent.
- A key that some server would take for one that the schema names is refused, as elsewhere.
- A failure names the place by the schema's own keys, never by a key or a value from the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from agentfence.core.constraints.fields import Selector, Selectors, twin_failure
from agentfence.core.constraints.interface import Failure, SpecError
from agentfence.core.constraints.regexes import MOST_MEMORY, read_regex
from agentfence.core.constraints.schema_keywords import Steps, TooManyStepsError, make_validator
from agentfence.core.constraints.schema_shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

    from agentfence.core.constraints.interface import Arguments, BuildContext, Circumstances
    from agentfence.core.constraints.regexes import Regex

    type _Place = tuple[str | int, ...]
    type _Schemas = Sequence[tuple[_Place, Mapping[str, Any]]]
    """Every schema in the block, with its place."""

_SHORT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_DEEPEST_KEYS = 8
_MOST_STEPS = 300_000
"""Of one check: each keyword that meets a value, and each entry of that keyword. How deep and how long
arguments are is the agent's choice, and a schema may look at each of them twice, and so on below."""
_STEPS_OF_A_STRANGER: Final = 25_000
"""Of finding out whether its schema comes to an end, and which keys it names."""
_LONGEST_SHOWN = 60
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MEMORY_OF_A_STRANGER: Final = MOST_MEMORY // 2
"""Bytes for all expressions of a schema that the policy's author did not write. To compile them takes time
in proportion, to match them room."""
_LONGEST_OF_A_STRANGER: Final = 32_768
_WEIGHT_OF_OURS: Final = 5
"""Of an expression that was not written to be slow: the automaton takes one step a character."""
_LOCAL = re.compile(r"#(?:/.*)?\Z", re.DOTALL)
_INDEX = re.compile("0|[1-9][0-9]{0,5}")
_IN_TABLES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_DIRECTLY = (
    *("items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_OF_THE_SAME_KEYS = ("items", "contains", "unevaluatedItems", "not", "if", "then", "else")
_NAMING_KEYS = ("properties", "required", "dependentRequired", "dependentSchemas")


class ArgumentsSchema:
    """One `schema` block."""

    __slots__ = ("_named", "_selectors", "_steps", "_validator")

    kind = "schema"

    def __init__(
        self, validator: Validator, selectors: Selectors, named: frozenset[str], steps: Steps
    ) -> None:
        self._validator = validator
        self._steps = steps
        self._selectors = selectors
        self._named = named

    def constrained_fields(self) -> tuple[str, ...]:
        """Give `**`: a schema is about all arguments."""
        return ("**",)

    def check(self, arguments: Arguments, circumstances: Circumstances) -> Failure | None:
        """Give the first place where the arguments do not fit."""
        twin = self._selectors.find_twin(arguments)
        if twin is not None:
            return twin_failure(twin, "schema_mismatch")
        effort = circumstances.effort
        most = _MOST_STEPS if effort is None else max(0, min(effort.left, _MOST_STEPS))
        self._steps.begin(most)
        try:
            error = next(iter(self._validator.iter_errors(arguments)), None)
        except (
            RecursionError,
            ArithmeticError,
            ValueError,
        ):  # nested, too costly, too large numbers
            return Failure("schema_mismatch", "the arguments are too deep or too large for their schema")
        finally:
            circumstances.affords(most - self._steps.left)
        return None if error is None else self._describe(error)

    def _describe(self, error: ValidationError) -> Failure:
        place = "".join(self._step(step) for step in error.absolute_path).removeprefix(".")
        subject = f"argument `{place}` does" if place else "the arguments do"
        return Failure("schema_mismatch", f"{subject} not fit the schema: {_reason(error)}", place or None)

    def _step(self, step: str | int) -> str:
        if isinstance(step, int):
            return f"[{step}]"
        is_harmless = step in self._named or _SHORT_NAME.fullmatch(step) is not None
        return f".{step}" if is_harmless else ".*"  # the agent chose this key


def build(spec: Mapping[str, Any], context: BuildContext) -> ArgumentsSchema:  # noqa: ARG001 - every kind's
    """Give the constraint of a `schema` block.

    Raises:
        SpecError: the block is no schema of the draft, leads elsewhere, or never comes to an end.

    """
    return compile_schema(spec)


def compile_schema(spec: Mapping[str, Any], *, is_strangers: bool = False) -> ArgumentsSchema:
    """Give what holds arguments to a schema; of a stranger's nothing is trusted, and expressions are bounded.

    Raises:
        SpecError: it is no schema of the draft, leads elsewhere, never comes to an end, or takes more
            steps than it may.

    """
    schemas = tuple(_walk(spec))
    targets = _find_targets(spec, schemas)
    regexes = _compile_regexes(schemas, is_strangers=is_strangers)
    most = _STEPS_OF_A_STRANGER if is_strangers else _MOST_STEPS
    steps = Steps(most)
    validator = make_validator(spec, regexes, steps, targets)
    try:
        validator.is_valid({})
        paths = tuple(dict.fromkeys(_key_paths(spec, targets, Steps(most))))
    except RecursionError:
        raise SpecError((), "the schema refers to itself without end") from None
    except TooManyStepsError:
        raise SpecError((), "the schema takes too long to check") from None
    named = frozenset(name for _, schema in schemas for name in schema.get("properties", ()))
    return ArgumentsSchema(validator, Selectors([Selector("schema", paths)] if paths else ()), named, steps)


def _walk(schema: Any, place: _Place = ()) -> Iterator[tuple[_Place, Mapping[str, Any]]]:
    """Give every schema inside a schema, with its place; raises `SpecError` for what is none."""
    if not isinstance(schema, dict):
        return
    _check_keywords(place, schema)
    yield place, schema
    for keyword in _IN_TABLES:
        for name, inner in schema.get(keyword, {}).items():
            yield from _walk(inner, (*place, keyword, name))
    for keyword in _IN_LISTS:
        for index, inner in enumerate(schema.get(keyword, ())):
            yield from _walk(inner, (*place, keyword, index))
    for keyword in _DIRECTLY:
        yield from _walk(schema.get(keyword), (*place, keyword))


def _check_keywords(place: _Place, schema: Mapping[str, Any]) -> None:
    for keyword, value in schema.items():
        shape = SHAPES.get(keyword)
        if shape is None:
            if not keyword.startswith("x-"):
                message = f"`{keyword}` is not a keyword here, so it would hold nothing back"
                raise SpecError((*place, keyword), message, _meant_keyword(keyword))
        elif not shape.holds(value):
            message = f"not a JSON Schema: `{keyword}` takes {shape.expected}, got `{_beginning(value)}`"
            raise SpecError((*place, keyword), message)
    if schema.get("$schema", _DIALECT).removesuffix("#") != _DIALECT:
        raise SpecError((*place, "$schema"), f"expected the dialect `{_DIALECT}`, got `{schema['$schema']}`")


def _beginning(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _meant_keyword(keyword: str) -> str | None:
    from difflib import get_close_matches  # only bad schemas need it

    close = get_close_matches(keyword, SHAPES, 1, 0.7)
    return f"did you mean `{close[0]}`?" if close else None


def _find_targets(spec: Mapping[str, Any], schemas: _Schemas) -> dict[str, Any]:
    """Give the schema that each reference leads to."""
    known = {id(schema) for _, schema in schemas}
    targets: dict[str, Any] = {}
    for place, schema in schemas:
        if "$ref" in schema:
            reference = schema["$ref"]
            targets[reference] = _target(spec, reference)
            if id(targets[reference]) not in known:
                message = f"expected a schema in this block like `#/$defs/NAME`, got `{reference}`"
                raise SpecError((*place, "$ref"), message)
    return targets


def _target(spec: Mapping[str, Any], reference: str) -> Any:
    """Give what a local reference names (RFC 6901)."""
    if not _LOCAL.match(reference):
        return None
    found: Any = spec
    for step in unquote(reference).split("/")[1:]:
        if isinstance(found, dict):
            found = found.get(step.replace("~1", "/").replace("~0", "~"))
        elif isinstance(found, list) and _INDEX.fullmatch(step) and int(step) < len(found):
            found = found[int(step)]
        else:
            return None
    return found


def _compile_regexes(schemas: _Schemas, *, is_strangers: bool) -> dict[str, Regex]:
    expressions: dict[str, _Place] = {}
    for place, schema in schemas:
        if "pattern" in schema:
            expressions[schema["pattern"]] = (*place, "pattern")
        for expression in schema.get("patternProperties", ()):
            expressions[expression] = (*place, "patternProperties", expression)
    if is_strangers and sum(map(_size_of, expressions)) > _LONGEST_OF_A_STRANGER:
        raise SpecError((), "the expressions of the schema are too long together")
    memory = _MEMORY_OF_A_STRANGER // max(1, len(expressions)) if is_strangers else MOST_MEMORY
    regexes: dict[str, Regex] = {}
    for expression, place in expressions.items():
        try:
            regex = read_regex(expression, whole=False, memory=memory)
        except ValueError as error:
            raise SpecError(place, str(error)) from None
        regexes[expression] = regex if is_strangers else regex._replace(weight=_WEIGHT_OF_OURS)
    return regexes


def _size_of(expression: str) -> int:
    r"""Give what reading an expression costs, in characters; `\p{L}` stands for hundreds of ranges."""
    return len(expression) + 128 * (expression.count(r"\p") + expression.count(r"\P"))


def _key_paths(
    schema: Any,
    targets: Mapping[str, Any],
    steps: Steps,
    above: tuple[str, ...] = (),
    followed: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, ...]]:
    """Give the keys that lead to each one that is named, each reference followed once on a way."""
    steps.take()
    if not isinstance(schema, dict) or len(above) >= _DEEPEST_KEYS:
        return
    inner = [schema[keyword] for keyword in _OF_THE_SAME_KEYS if keyword in schema]
    inner += [one for keyword in _IN_LISTS for one in schema.get(keyword, ())]
    inner += schema.get("dependentSchemas", {}).values()
    reference = schema.get("$ref")
    if reference is not None and reference not in followed:
        followed |= {reference}
        inner.append(targets[reference])
    for one in inner:
        yield from _key_paths(one, targets, steps, above, followed)
    for keyword in _NAMING_KEYS:
        for name in schema.get(keyword, ()):
            yield (*above, name)
    for name, one in schema.get("properties", {}).items():
        yield from _key_paths(one, targets, steps, (*above, name), followed)


def _reason(error: ValidationError) -> str:
    if error.validator is None:
        return "something stands where nothing may"
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        return "the schema does not name it"
    if error.validator == "required" and isinstance(error.instance, dict):
        names: list[str] = [*error.schema["required"]] if isinstance(error.schema, dict) else []
        return f"`{next(name for name in names if name not in error.instance)}` is missing"
    return f"`{error.validator}` fails"
