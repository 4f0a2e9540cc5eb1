"""All arguments against a JSON Schema, draft 2020-12.

- `$ref` leads within the schema only; nothing is ever fetched.
- `pattern` and `patternProperties` are RE2, `uniqueItems` takes time in proportion: the values come
  from the agent.
- A key that some server would take for one that the schema names is refused, as elsewhere.
- A failure names the place by the schema's own keys, never by a key or a value from the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError

from agentfence.core.constraints.fields import Selector, Selectors, twin_failure
from agentfence.core.constraints.interface import Failure, SpecError
from agentfence.core.constraints.regexes import compile_regex
from agentfence.core.constraints.schema_keywords import Steps, TooManyStepsError, make_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jsonschema.protocols import Validator

    from agentfence.core.constraints.interface import Arguments, BuildContext, Circumstances

    type _Place = tuple[str | int, ...]
    type _Schemas = Mapping[tuple[str, ...], tuple[_Place, Mapping[str, Any]]]
    """Every schema in the block with its place, by that place in text."""

_SHORT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
_DEEPEST_KEYS = 8
_MOST_STEPS = 300_000
"""Of one check: each keyword that meets a value, and each entry of that keyword. How deep and how long
arguments are is the agent's choice, and a schema may look at each of them twice, and so on below."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_UNSUPPORTED = ("$dynamicRef", "$dynamicAnchor", "$anchor", "$id")
_OTHER_KEYWORDS = (
    *("$schema", "$defs", "definitions", "$comment", "title", "description", "default", "examples"),
    *("deprecated", "readOnly", "writeOnly", "then", "else", "minContains", "maxContains", "format"),
    *("contentMediaType", "contentEncoding", "contentSchema"),
)
_LOCAL = re.compile(r"#(?:/.*)?\Z", re.DOTALL)
_IN_TABLES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IN_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_DIRECTLY = (
    *("items", "contains", "not", "if", "then", "else", "additionalProperties", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)


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


def compile_schema(spec: Mapping[str, Any]) -> ArgumentsSchema:
    """Give what holds arguments to a schema, which may be a stranger's: its work is bounded.

    Raises:
        SpecError: it is no schema of the draft, leads elsewhere, never comes to an end, or takes more
            steps than it may.

    """
    try:
        Draft202012Validator.check_schema(spec, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        said = error.context[0] if error.context else error  # of several forms the first, as the usual one
        raise SpecError(tuple(error.absolute_path), f"not a JSON Schema: {said.message}") from None
    schemas = {tuple(map(str, place)): (place, schema) for place, schema in _walk(spec)}
    known = {*Draft202012Validator.VALIDATORS, *_OTHER_KEYWORDS}
    regexes: dict[str, Callable[[str], bool]] = {}
    for place, schema in schemas.values():
        _check_keywords(place, schema, known)
        if "$ref" in schema and _target(schema["$ref"]) not in schemas:
            message = f"expected a schema in this block like `#/$defs/NAME`, got `{schema['$ref']}`"
            raise SpecError((*place, "$ref"), message)
        regexes |= _compile_regexes(place, schema)
    steps = Steps(_MOST_STEPS)
    validator = make_validator(spec, regexes, steps)
    try:
        validator.is_valid({})
        paths = tuple(dict.fromkeys(_key_paths(spec, schemas, Steps(_MOST_STEPS))))
    except RecursionError:
        raise SpecError((), "the schema refers to itself without end") from None
    except TooManyStepsError:
        raise SpecError((), "the schema takes too long to check") from None
    named = frozenset(name for _, schema in schemas.values() for name in schema.get("properties", ()))
    return ArgumentsSchema(validator, Selectors([Selector("schema", paths)] if paths else ()), named, steps)


def _walk(schema: Any, place: _Place = ()) -> Iterator[tuple[_Place, Mapping[str, Any]]]:
    """Give every schema inside a schema, with its place."""
    if not isinstance(schema, dict):
        return
    yield place, schema
    for keyword in _IN_TABLES:
        for name, inner in schema.get(keyword, {}).items():
            yield from _walk(inner, (*place, keyword, name))
    for keyword in _IN_LISTS:
        for index, inner in enumerate(schema.get(keyword, ())):
            yield from _walk(inner, (*place, keyword, index))
    for keyword in _DIRECTLY:
        yield from _walk(schema.get(keyword), (*place, keyword))


def _meant_keyword(keyword: str, known: set[str]) -> str | None:
    from difflib import get_close_matches  # only bad schemas need it

    close = get_close_matches(keyword, known - {*_UNSUPPORTED, keyword}, 1, 0.7)
    return f"did you mean `{close[0]}`?" if close else None


def _check_keywords(place: _Place, schema: Mapping[str, Any], known: set[str]) -> None:
    if schema.get("$schema", _DIALECT).removesuffix("#") != _DIALECT:
        raise SpecError((*place, "$schema"), f"expected the dialect `{_DIALECT}`, got `{schema['$schema']}`")
    for keyword in schema:
        if keyword in _UNSUPPORTED or not (keyword in known or keyword.startswith("x-")):
            message = f"`{keyword}` is not a keyword here, so it would hold nothing back"
            raise SpecError((*place, keyword), message, _meant_keyword(keyword, known))
    if "patternProperties" in schema and "unevaluatedProperties" in schema:  # the library would use `re`
        message = "`unevaluatedProperties` does not go with `patternProperties`"
        raise SpecError((*place, "unevaluatedProperties"), message)


def _target(reference: str) -> tuple[str, ...] | None:
    """Give the place that a local reference names (RFC 6901)."""
    if not _LOCAL.match(reference):
        return None
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in reference.split("/")[1:])


def _compile_regexes(place: _Place, schema: Mapping[str, Any]) -> dict[str, Callable[[str], bool]]:
    expressions: dict[str, _Place] = {
        expression: ("patternProperties", expression) for expression in schema.get("patternProperties", ())
    }
    if "pattern" in schema:
        expressions[schema["pattern"]] = ("pattern",)
    regexes: dict[str, Callable[[str], bool]] = {}
    for expression, keyword in expressions.items():
        try:
            regexes[expression] = compile_regex(expression, whole=False)
        except ValueError as error:
            raise SpecError((*place, *keyword), str(error)) from None
    return regexes


def _key_paths(
    schema: Any,
    schemas: _Schemas,
    steps: Steps,
    above: tuple[str, ...] = (),
    followed: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, ...]]:
    """Give the keys that lead to each property, each reference followed once on a way."""
    steps.take()
    if not isinstance(schema, dict) or len(above) >= _DEEPEST_KEYS:
        return
    inner = [schema.get(keyword) for keyword in ("items", "then", "else")]
    inner += [one for keyword in _IN_LISTS for one in schema.get(keyword, ())]
    reference = schema.get("$ref")
    if reference is not None and reference not in followed:
        followed |= {reference}
        inner.append(schemas[_target(reference) or ()][1])
    for one in inner:
        yield from _key_paths(one, schemas, steps, above, followed)
    for name, one in schema.get("properties", {}).items():
        yield (*above, name)
        yield from _key_paths(one, schemas, steps, (*above, name), followed)


def _reason(error: ValidationError) -> str:
    if error.validator is None:
        return "something stands where nothing may"
    if error.validator == "additionalProperties":
        return "the schema does not name it"
    if error.validator == "required" and isinstance(error.instance, dict):
        names: list[str] = [*error.schema["required"]] if isinstance(error.schema, dict) else []
        return f"`{next(name for name in names if name not in error.instance)}` is missing"
    return f"`{error.validator}` fails"
